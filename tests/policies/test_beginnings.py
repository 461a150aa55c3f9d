"""The pattern for all beginnings of matches: it finds, at the end of a text, whatever may still become a match."""

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from streamviz.policies.beginnings import Unreadable, beginnings

PATTERNS = [
    "secret", r"sk-[a-z0-9]{4,8}", r"\bab+c?\b", "(ab|acd)+e", r"(?i)pass(word|phrase): \S+", "a{3}b{2,}", "[^]a]b",
    r"(?P<x>a|b)c(?:d|e)?", r"\d{2}-\d{2}", "a.c", r"x\{y", "(?i:a)B", "a??b", r"[[:alpha:]]\z", r"\x61b", "é+ß",
]  # fmt: skip


def held_from(pattern: str, text: str) -> int:
    match = re2.search(f"(?:{beginnings(pattern)})\\z", text)
    return int(match.start()) if match else len(text)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_beginning_of_a_match_is_held(pattern: str) -> None:
    for whole in ("secret", "sk-abc1", "sk-abc12345", "abbc", "abacde", "PASSword: hunter2", "aaabbb", "xb", "acd",
                  "bce", "12-34", "abc", "x{y", "aB", "AB", "aab", "ab", "éßé", "ééß"):  # fmt: skip
        match = re2.search(pattern, whole)
        if match is None:
            continue
        for end in range(match.start() + 1, match.end()):
            assert held_from(pattern, whole[:end]) <= match.start(), whole[:end]


@pytest.mark.parametrize(
    ("pattern", "text", "held"),
    [("secret", "nothing of it", 0), ("secret", "some", 0), ("secret", "the sec", 3), (r"sk-\w{4}", "sk-ab", 5),
     (r"sk-\w{4}", "task", 2), ("a{3}", "baa", 2), (r"\bfoo", "xfo", 0)],
)  # fmt: skip
def test_it_holds_no_more_than_it_must(pattern: str, text: str, held: int) -> None:
    assert len(text) - held_from(pattern, text) == held


@pytest.mark.parametrize("pattern", [r"[a-z]{1,64}@(?:[a-z]{1,63}\.){1,8}[a-z]+", "(?:ab){3,90}c"])
def test_a_search_from_the_end_has_few_places_to_go_on_from(pattern: str) -> None:
    """So that a position costs about the same, however often its part of the pattern may be repeated."""
    fanout = re2.compile(f"(?:{beginnings(pattern)})\\z").reverseprogramfanout
    # The number of instructions by the power of two that limits their successors; only the first one has more.
    assert sum(fanout[6:]) <= 1


@pytest.mark.parametrize("count", ["{500}", "{1,500}", "{0,1000}", "{1000}", "{2,}"])
def test_what_is_repeated_often_is_read_too(count: str) -> None:
    assert held_from(f"sk-[ab]{count}c", "task-aaa") == len("ta")


@pytest.mark.parametrize("pattern", ["(?=a)b", "(?<!a)b", r"\Qa.b\E", "(a", "a)", "*a", "[", "a" * 5_000])
def test_what_it_cannot_read_it_says(pattern: str) -> None:
    with pytest.raises(Unreadable):
        beginnings(pattern)


ATOMS = st.sampled_from(["a", "b", "[ab]", "[^a]", ".", r"\b", "(?:a|bc)"])
COUNTS = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,3}", "+?"])


@st.composite
def patterns(draw: st.DrawFn) -> str:
    parts = draw(st.lists(st.tuples(ATOMS, COUNTS), min_size=1, max_size=4))
    return "".join(atom + ("" if atom == r"\b" else count) for atom, count in parts)


@given(st.lists(patterns(), min_size=1, max_size=3).map("|".join), st.text("abc ", max_size=12))
def test_it_never_lets_a_match_begin_before_what_it_holds(pattern: str, text: str) -> None:
    match = re2.search(pattern, text)
    if match is None or match.end() == match.start():
        return
    for end in range(match.start() + 1, match.end()):
        assert held_from(pattern, text[:end]) <= match.start()
