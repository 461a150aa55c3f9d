"""Bars: they are in the right places, and small ones stay visible."""

from datetime import UTC, datetime

import pytest

from streamviz.dashboard import charts
from streamviz.dashboard.charts import Column, Piece, Range, Ranges, Spread

NOW = datetime(2026, 9, 21, 12, 34, 56, tzinfo=UTC)


def column(*values: tuple[str, float]) -> Column:
    return Column(NOW, "words", "/there/", values)


def test_values_stand_upon_one_another() -> None:
    chart = charts.stacked([column(("calm", 30), ("failed", 10)), None, column(("calm", 20), ("failed", 0))], str)
    first, second = chart.bars
    assert chart.top == "40"
    assert first.pieces == [Piece("calm", "25.00%", "75.00%"), Piece("failed", "0.00%", "25.00%")]
    assert second.pieces == [Piece("calm", "50.00%", "50.00%")]
    assert (first.x, first.width, second.x) == ("3.33%", "26.67%", "70.00%")
    assert (first.words, first.href) == ("words", "/there/")


def test_a_little_among_much_is_seen() -> None:
    [bar] = charts.stacked([column(("calm", 10_000), ("failed", 1))]).bars
    assert [each.height for each in bar.pieces] == ["99.99%", "2.00%"]


def test_a_chart_of_nothing_is_not_drawn() -> None:
    assert charts.stacked([None, column(("calm", 0))], str) == ([], "")
    assert charts.spreads([None, Spread(NOW, "", "", None, None)], str) == ([], "")


def test_a_spread_goes_from_the_median_to_the_95th() -> None:
    chart = charts.spreads([Spread(NOW, "a", "", 50.0, 100.0), Spread(NOW, "unknown", "", None, None)])
    [bar] = chart.bars
    assert bar.pieces == [Piece("spread", "0.00%", "50.00%"), Piece("median", "50.00%", "2.00%")]


def test_a_time_of_nothing_is_drawn_as_one_that_is_known() -> None:
    chart = charts.spreads([Spread(NOW, "a", "", 0.0, 0.0), Spread(NOW, "b", "", 0.0, 0.0)], str)
    assert [bar.pieces[1] for bar in chart.bars] == [Piece("median", "98.00%", "2.00%")] * 2
    assert chart.top == ""


def test_ranges_stand_on_a_log_scale_of_whole_powers_of_ten() -> None:
    column = Ranges(NOW, "", "", [Range("mine", 1_000, 10_000), Range("theirs", 500_000, 1_000_000)])
    chart = charts.ranges([column, None], str, 1_000)
    assert chart.top == "1000000, from 1000 on a log scale"
    [bar] = chart.bars
    assert [each for each in bar.pieces if each.css != "median"] == [
        Piece("mine", "66.67%", "31.33%"),
        Piece("theirs", "0.00%", "10.03%"),
    ]
    assert charts.ranges([None], str, 1_000) == ([], "")


def test_a_bar_far_above_the_others_does_not_flatten_them() -> None:
    chart = charts.stacked([column(("calm", each)) for each in (10, 20, 30, 40, 4_000)], str)
    assert [bar.pieces[0].height for bar in chart.bars] == ["20.00%", "40.00%", "60.00%", "80.00%", "100.00%"]
    assert ([bar.over for bar in chart.bars], chart.top) == (["", "", "", "", "4000"], "50.0")
    spread = charts.spreads([Spread(NOW, "", "", 5, each) for each in (10, 20, 30, 40, 4_000)], str)
    assert [bar.over for bar in spread.bars] == ["", "", "", "", "4000"]
    assert spread.bars[-1].pieces[0] == Piece("spread", "0.00%", "90.00%")


@pytest.mark.parametrize("values", [[10, 20, 4_000], [1, 10, 100, 1_000, 3_000], [0, 0, 0, 0, 7], [5] * 9])
def test_what_is_merely_uneven_is_drawn_as_it_is(values: list[int]) -> None:
    assert charts.height(values) == max(values)
