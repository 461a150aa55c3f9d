"""Charts as HTML: their contents are escaped."""

from datetime import UTC, datetime

import pytest

from streamviz.dashboard.chart_markup import bars, small_bars
from streamviz.dashboard.charts import Chart, Column, stacked
from streamviz.dashboard.time_axis import Mark
from tests.live.support import parse

NOON = datetime(2026, 9, 21, 12, tzinfo=UTC)
HOSTILE = """"><script>alert(1)</script>'"""
CHART = stacked([Column(NOON, HOSTILE, f"/there/?q={HOSTILE}", [("calm", 3), ("failed", 1)]), None], lambda _: HOSTILE)


def test_a_bar_has_its_words_its_link_and_its_pieces() -> None:
    root = parse(bars(CHART, []))
    [link] = [each for each in root.walk() if each.tag == "a"]
    assert link.attributes["href"] == f"/there/?q={HOSTILE}"
    assert link.attributes["tabindex"] == "-1"
    assert [each.attributes["class"] for each in link.walk() if each.tag == "rect"] == [
        "bar-room",
        "bar-calm",
        "bar-failed",
    ]
    assert HOSTILE in link.text


def test_what_is_hostile_is_text() -> None:
    mark = Mark("5.00%", NOON, HOSTILE, HOSTILE)
    for drawn in (bars(CHART, [mark], [mark]), small_bars(CHART)):
        assert "<script" not in drawn
        assert "alert(1)" in drawn


def test_a_bar_that_is_cut_off_says_its_value_as_text() -> None:
    columns = [Column(NOON, "", "", [("calm", each)]) for each in (1, 1, 1, 1, 99)]
    drawn = bars(stacked(columns, lambda value: f"<b>{value:g}"), [])
    assert drawn.count('class="outlier-break"') == 1
    assert ">&lt;b&gt;99</text>" in drawn


@pytest.mark.parametrize(("at", "place"), [(0, "18.00%"), (4, "82.00%")], ids=["left", "right"])
def test_the_value_of_a_bar_that_is_cut_off_stands_beside_it(at: int, place: str) -> None:
    columns = [Column(NOON, "", "", [("calm", 99 if n == at else 1)]) for n in range(5)]
    drawn = parse(bars(stacked(columns, str), []))
    [value] = [each for each in drawn.walk() if each.attributes.get("class") == "outlier-text"]
    assert value.attributes["x"] == place


def test_nothing_has_an_axis_all_the_same() -> None:
    drawn = bars(Chart([], ""), [Mark("0.00%", NOON, "12:00")])
    assert "12:00</text>" in drawn
    assert "<a " not in drawn


def test_a_change_leads_to_its_policy() -> None:
    drawn = bars(Chart([], ""), [], [Mark("50.00%", NOON, "guard v2", "/policies/guard/")])
    [link] = [each for each in parse(drawn).walk() if each.tag == "a"]
    assert link.attributes["href"] == "/policies/guard/"
    # A script rewrites the time at the beginning of the title in the viewer's time zone.
    [title] = [each for each in link.walk() if each.tag == "title"]
    assert title.attributes["data-begins"] == str(round(NOON.timestamp() * 1000))
    assert title.text == "21 Sep 12:00:00: guard v2"
