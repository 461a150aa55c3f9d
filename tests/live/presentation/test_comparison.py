"""Comparing two texts: what they share, and what only one has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from streamviz.core.differences import Differ
from streamviz.live.presentation.comparison import Figure, beside_each_other, figures_of, pieces_of
from tests.live.support import Running, view_of_running


def marked(a: str, b: str) -> tuple[str, str]:
    """Both texts, with what only one has in brackets."""
    first, second = (
        "".join(f"[{each.text}]" if each.is_own else each.text for each in side)
        for side in pieces_of(Differ().parts(a, b))
    )
    return first, second


@pytest.mark.parametrize(
    ("a", "b", "first", "second"),
    [
        ("leave it alone", "leave it alone", "leave it alone", "leave it alone"),
        ("leave it and go", "leave it. Go", "leave it[ and go]", "leave it[. Go]"),
        ("one two three", "six five four", "[one two three]", "[six five four]"),
        ('{"start": 9}', '{"start": 38}', '{"start": [9]}', '{"start": [38]}'),
        ("", "new", "", "[new]"),
        ("x " * 5_000, "y " * 5_000, "[" + ("x " * 5_000)[:-1] + "] ", "[" + ("y " * 5_000)[:-1] + "] "),
    ],
)
def test_only_what_differs_is_marked(a: str, b: str, first: str, second: str) -> None:
    assert marked(a, b) == (first, second)


@given(st.text("ab .\n", max_size=40), st.text("ab .\n", max_size=40))
def test_nothing_is_lost_and_what_is_shared_is_the_same(a: str, b: str) -> None:
    first, second = pieces_of(Differ().parts(a, b))
    assert ("".join(each.text for each in first), "".join(each.text for each in second)) == (a, b)
    shared = ["".join(each.text for each in side if not each.is_own) for side in (first, second)]
    assert shared[0] == shared[1]


@pytest.mark.parametrize(
    ("took", "figure"),
    [
        ((123_000, 140_000), Figure("Duration", "123 ms", "140 ms", "+17 ms", "+14%", is_bold=True)),
        ((100_000, 2_100_000), Figure("Duration", "100 ms", "2.10 s", "+2.00 s", "+2,000%", is_bold=True)),
        ((123_400, 123_000), Figure("Duration", "123 ms", "123 ms", "< 1 ms less", "−0%")),
    ],
)
async def test_a_short_difference_in_time_is_not_told_as_none(took: tuple[int, int], figure: Figure) -> None:
    views = [view_of_running((await Running().say("Hi")).stream) for _ in took]
    start = views[0].requested_at
    a, b = (replace(view, requested_at=start, ended_at=start + us) for view, us in zip(views, took, strict=True))
    assert [each for each in figures_of(a, b) if each.name == "Duration"] == [figure]


async def test_estimates_are_marked_and_so_is_what_follows_from_them() -> None:
    view = view_of_running((await Running().say("Hi")).stream)
    told = [view.tokens._replace(input=each, output=7, is_estimated=each == 12) for each in (10, 12)]
    a, b = (replace(view, tokens=tokens, cost=12.5) for tokens in told)
    figures = {each.name: each[1:4] for each in figures_of(a, b)}
    assert figures["Tokens in"] == ("10", "≈ 12", "≈ +2")
    assert figures["Tokens out"] == ("7", "≈ 7", "same")
    assert figures["Cost"] == ("$12.50", "≈ $12.50", "same")
    assert figures["Duration"][0] == figures["Duration"][1]


def test_words_of_many_texts_are_told_apart_as_long_as_that_costs_little() -> None:
    pair = "! ? " * 100, "? ? ! " * 66
    told = beside_each_other([pair] * 40, 1_000_000)
    assert [len(first) > 2 for first, _ in told] == sorted((len(first) > 2 for first, _ in told), reverse=True)
    assert len(told[0][0]) > 2
    assert ["".join(each.text for each in side) for side in told[-1]] == list(pair)
    assert [each.is_own for each in told[-1][0]] == [True, False]


def test_words_that_are_all_alike_count_for_more() -> None:
    """Each is compared with each, again and again: 20 pairs of such texts would take six seconds."""
    told = beside_each_other([("x," * 200, "x-" * 200)] * 20, 1_000_000)
    assert sum(len(first) > 2 for first, _ in told) == 1
    told = beside_each_other([(" ".join(map(str, range(200))), " ".join(map(str, range(100, 300))))] * 20, 1_000_000)
    assert all(len(first) > 1 for first, _ in told)
