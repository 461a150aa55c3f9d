"""Rare properties are looked up first, common ones are checked for each stream: the pages are the same."""

import uuid
from datetime import timedelta

import pytest
from msgspec.structs import replace

from streamviz.records.queries import members
from streamviz.records.queries.errors import error_groups
from streamviz.records.queries.filters import Filters, Found
from streamviz.records.queries.members import streams_with
from streamviz.records.queries.pages import stream_page
from streamviz.records.queries.statistics import by_time
from tests.records.conftest import Query
from tests.records.history import NOW, make_policy, store, story, tool_stream
from tests.records.support import write

DAY = timedelta(days=1)
MINUTES = timedelta(minutes=10)


@pytest.fixture
def ids(query: Query) -> list[uuid.UUID]:
    guard = make_policy()
    return store(
        story(NOW, tool_stream(name="run_shell"), number=1, denied=guard, error="broken"),
        story(NOW - DAY * 3, tool_stream(name="run_shell"), number=2),
        story(NOW - DAY * 3, tool_stream(name="edit"), number=3, denied=guard),
    )


@pytest.mark.parametrize("few", [0, 1, 1_000])
def test_pages_and_figures_are_the_same(ids: list[uuid.UUID], monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(members, "FEW", few)
    shell, second, edit = ids
    for filters, expected in (
        (Filters(tools=("run_shell",)), {shell, second}),
        (Filters(tools=("run_shell", "edit"), since=NOW - DAY), {shell}),
        (Filters(tools=("nothing",)), set()),
        (Filters(policies=("guard",), until=NOW - DAY), {edit}),
        (Filters(policies=("guard",), tools=("run_shell",)), {shell}),
        (Filters(intervened=True), {shell, edit}),
        (Filters(intervened=False), {second}),
        (Filters(intervened=True, without=Filters(tools=("edit",))), {shell}),
    ):
        assert set(stream_page(filters, None, 50).ids) == expected
        assert sum(bucket.streams for bucket in by_time(filters, DAY).buckets) == len(expected)
        assert sum(group.streams for group in error_groups(filters).groups) == len(expected & {shell})


def test_only_what_is_few_is_looked_up_and_of_the_rest_when_the_last_was_requested(
    ids: list[uuid.UUID], query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell, second, edit = ids
    wanted = Filters(tools=("run_shell",), policies=("guard",), intervened=True)
    assert streams_with(wanted) == {
        "tools": Found([second, shell]),
        "policies": Found([edit, shell]),
        "intervened": Found([edit, shell]),
    }
    monkeypatch.setattr(members, "FEW", 1)
    last = NOW + MINUTES
    found = streams_with(wanted)
    assert (found["tools"], found["intervened"]) == (Found(None, last), Found(None, last))
    assert streams_with(Filters(tools=("edit",), models=("a",))) == {"tools": Found([edit])}
    monkeypatch.setattr(members, "FEW", 0)
    [(judged,)] = query("SELECT max(at) FROM records_verdict")
    assert streams_with(Filters(tools=("edit",), policies=("guard", "other"))) == {
        "tools": Found(None, NOW - DAY * 3 + MINUTES),
        "policies": Found(None, judged),
    }


@pytest.mark.parametrize("few", [0, 1_000])
def test_a_stream_whose_id_tells_no_time_is_found(
    ids: list[uuid.UUID], query: Query, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """Imported streams may have such ids."""
    monkeypatch.setattr(members, "FEW", few)
    stream_id = uuid.UUID("00000000-0000-4000-8000-000000000001")
    _, entries = story(NOW, tool_stream(name="edit"), number=9)
    write([replace(each, stream_id=stream_id) for each in entries])
    assert query("SELECT count(*) FROM records_session WHERE NOT is_dated") == [(1,)]
    wanted = Filters(tools=("edit",), since=NOW - DAY, until=NOW + DAY)
    assert stream_page(wanted, None, 9).ids == [stream_id]
