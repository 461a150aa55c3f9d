"""The time axis of charts: a few round times."""

from datetime import UTC, datetime

import pytest

from streamviz.dashboard.chart_markup import bars
from streamviz.dashboard.charts import Chart
from streamviz.dashboard.chosen_timespans import chosen
from streamviz.dashboard.time_axis import axis, place

NOW = datetime(2026, 9, 21, 12, 34, 56, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("1h", ["11:10", "11:20", "11:30", "11:40", "11:50", "12:00"]),
        ("24h", ["12:00", "16:00", "20:00", "00:00", "04:00", "08:00", "12:00"]),
    ],
)
def test_the_axis_has_round_times(name: str, shown: list[str]) -> None:
    at = datetime(2026, 7, 1, 12, 7, tzinfo=UTC)
    assert [mark.words for mark in axis(chosen({"range": name}, at, None))] == shown


def test_the_words_of_the_last_time_end_at_its_mark() -> None:
    span = chosen({"range": "24h"}, datetime(2026, 7, 1, 12, 50, tzinfo=UTC), None)
    assert [(mark.words, mark.is_late) for mark in axis(span)][-2:] == [("08:00", False), ("12:00", True)]
    drawn = bars(Chart([], ""), axis(span))
    assert drawn.count('text-anchor="end"') == 1
    assert drawn.count("<text") == drawn.count("axis-line")


def test_the_axis_has_a_few_times() -> None:
    for name in ("1h", "24h", "7d", "30d"):
        span = chosen({"range": name}, NOW, None)
        marks = axis(span)
        assert 3 <= len(marks) <= 7
        assert place(span.since, span) == "0.00%"
        assert place(span.until, span) == "100.00%"
