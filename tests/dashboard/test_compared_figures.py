"""Stats: periods compared, latencies as a heat map, tools, tables as CSV; figures are recalculated here."""

import csv
from collections import Counter
from datetime import timedelta
from io import StringIO
from math import floor, log10
from uuid import UUID

import pytest
from django.utils import timezone

from streamviz.dashboard.chosen_timespans import chosen
from streamviz.dashboard.compared_figures import Compared, figure_of, headline, other_total
from streamviz.dashboard.stats_csv import csv_of
from streamviz.records.models import Block, Stream
from streamviz.records.queries.filters import Filters
from streamviz.records.queries.latencies import latencies
from streamviz.records.queries.statistics import by_time
from streamviz.records.queries.tool_figures import tools
from tests.dashboard.conftest import NOON, Cast, recorded
from tests.dashboard.test_stats import lately

BEFORE = Compared("before")


def test_a_large_change_is_written_like_other_numbers() -> None:
    assert figure_of("Tokens", 6_018.0, 100.0).change == "+5,918%"


def test_a_time_is_compared_with_the_time_before(cast: Cast) -> None:
    span = chosen({"since": "2026-09-21T12:00:00Z", "until": "2026-09-21T13:00:00Z"}, timezone.now(), None)
    for minutes, cost in ((10, 2), (20, 1), (-30, 1)):
        recorded(minutes=minutes, cost=cost, input_tokens=100, cache_read_tokens=50 if minutes > 0 else 0)
    recorded(minutes=30, outcome="upstream_error")
    recorded(minutes=31, outcome="halted")
    now = by_time(Filters(since=span.since, until=span.until), span.step).total
    assert now is not None
    found = {each.name: each for each in headline(now, other_total(span, BEFORE))}
    assert found["Streams"] == ("Streams", "4", "+300%", True, "1 before")
    assert found["Cost"] == ("Cost", "$3.00", "+200%", True, "$1.00 before")
    # Of four: what a policy halted did not fail.
    assert found["Failed"] == ("Failed", "25.0%", "+25.0 pt", True, "0.0% before")
    assert found["Halted"] == ("Halted", "1", "", False, "0 before")
    assert found["Cached"] == ("Cached", "50.0%", "+50.0 pt", True, "0.0% before")
    assert {each.was for each in headline(now, other_total(span, Compared("nothing")))} == {""}
    assert other_total(span, Compared("week")) is None


def test_what_estimated_tokens_come_to_is_marked_and_what_no_cache_told_unknown(cast: Cast) -> None:
    span = chosen({"since": "2026-09-21T12:00:00Z", "until": "2026-09-21T13:00:00Z"}, timezone.now(), None)
    tokens = {"input_tokens": 100, "output_tokens": 5, "cost": 1}
    recorded(minutes=10, is_estimated=True, **tokens)
    recorded(minutes=-10, cache_read_tokens=50, **tokens)
    now, before = by_time(Filters(since=span.since, until=span.until), span.step).total, other_total(span, BEFORE)
    assert now is not None
    shown = {each.name: (each.value, each.was) for each in headline(now, before)}
    assert shown["Tokens in"] == ("≈ 100", "100 before")
    assert shown["Cached"] == ("–", "50.0% before")
    assert shown["Tokens out"] == ("≈ 5", "5 before")
    assert shown["Cost"] == ("≈ $1.00", "$1.00 before")
    assert shown["Streams"] == ("1", "1 before")
    assert before is not None
    assert {each.was for each in headline(before, now)} >= {"≈ 100 before", "≈ 5 before", "≈ $1.00 before"}


def test_latencies_are_those_of_the_streams(cast: Cast) -> None:
    waits = [0.05, 0.2, 0.21, 3, 3, 40]
    for wait in waits:
        recorded(client_first_at=NOON + timedelta(seconds=wait))
    recorded("never answered")
    cells = latencies(Filters(), timedelta(hours=1), 1)
    assert {cell.band: cell.streams for cell in cells} == Counter(floor(3 * log10(wait * 1000)) for wait in waits)


def test_a_tool_costs_what_its_streams_do_each_once(cast: Cast) -> None:
    for names, cost in ((["bash", "bash", "read"], 2), (["bash"], 1)):
        stream = recorded(cost=cost, output_tokens=10)
        for ordinal, name in enumerate(names):
            Block.objects.create(
                stream=stream, ordinal=ordinal, kind="tool_call", name=name, first_seq=0, last_seq=0, started_at=NOON
            )
    assert tools(Filters(), 5) == [("bash", 3, 2, 20, 3.0), ("read", 1, 1, 10, 2.0)]


def test_of_very_many_streams_some_tell_what_tools_came_to(cast: Cast) -> None:
    for last_byte in (7, 8):  # a sample of one in 32 has ids that end in a byte below 8
        stream = recorded(id=UUID(int=last_byte), cost=2)
        Block.objects.create(
            stream=stream, ordinal=0, kind="tool_call", name="bash", first_seq=0, last_seq=0, started_at=NOON
        )
    assert tools(Filters(), 5, 32) == [("bash", 32, 32, None, 64.0)]


@pytest.mark.parametrize("begins", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
def test_no_cell_is_a_formula_in_any_spreadsheet(begins: str) -> None:
    [[cell]] = csv.reader(StringIO(csv_of([[f"{begins}cmd()"]]), newline=""))
    assert cell == f"'{begins}cmd()"


@pytest.mark.parametrize("delimiter", [";", "\t"])
@pytest.mark.parametrize("name", ["b{}=cmd()", "b{} =cmd()", 'b{}"=cmd()', "{}=cmd()"])
def test_no_cell_is_a_formula_where_commas_part_none(delimiter: str, name: str) -> None:
    written = csv_of([["a", name.format(delimiter)]])
    [cells] = csv.reader(StringIO(written, newline=""), delimiter=delimiter)
    assert [cell for cell in cells if cell.lstrip().startswith("=")] == []


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_no_cell_is_a_formula_where_a_value_has_several_lines(end: str) -> None:
    """After a comma, its quotes are not at the beginning of a field and so do not hold the lines together."""
    written = csv_of([["a", f"b{end}=cmd()"]])
    rows = list(csv.reader(StringIO(written, newline=""), delimiter=";"))
    assert [cells[0] for cells in rows[1:]] == ["'=cmd()\""]


def test_tables_are_had_as_csv_and_no_name_is_a_formula(cast: Cast) -> None:
    lately("one", requested_model="=cmd()", output_tokens=5, cost=0.5)
    lately("two", requested_model="plain")
    text = cast["bob"].get("/stats/?csv=group").content.decode()
    rows = {row["name"]: row for row in csv.DictReader(StringIO(text))}
    assert rows.keys() == {"'=cmd()", "plain"}
    assert (rows["'=cmd()"]["output_tokens"], float(rows["'=cmd()"]["cost"])) == ("5", 0.5)
    assert rows["plain"]["output_tokens"] == ""
    assert float(rows["plain"]["ttft_upstream_p50_ms"]) == 200
    for table in ("time", "policy", "tool"):
        assert cast["bob"].get(f"/stats/?by=tool&csv={table}").status_code == 200
    assert Stream.objects.count() == 2
    assert "data-from=" in cast["bob"].get("/stats/?by=tool").content.decode()
