"""The argument tree, from JSON whose end may be missing."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamviz.live.presentation.arguments import LIVE_CHARACTERS, ArgumentTree, tree_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def lines(tree: ArgumentTree) -> list[str]:
    """Each line of a tree, indented by depth, with a star if it is incomplete."""
    depth, shown = 0, []
    for node in tree.nodes:
        shown.append(f"{'  ' * depth}{node.key}: {node.note or node.text}{'*' if node.is_partial else ''}")
        depth += int(node.opens) - node.closes
    assert depth == 0
    return shown


def test_it_shows_what_has_arrived_and_marks_what_is_half_there() -> None:
    half = '{"path": "a.py", "hunks": [{"start": 88, "lines": ["x"]}, {"lines": ["+  min(2 ** at'
    tree = tree_of(half, is_arriving=True)
    assert lines(tree) == [
        'path: "a.py"',
        "hunks: list, 2 so far",
        "  0: object",
        "    start: 88",
        "    lines: list, 1 item",
        '      0: "x"',
        "  1: object",
        "    lines: list, 1 so far",
        '      0: "+  min(2 ** at*',
    ]


def test_it_takes_a_number_at_the_end_for_half_there() -> None:
    assert lines(tree_of('{"a": 12', is_arriving=True)) == ["a: 12*"]
    assert lines(tree_of('{"a": 12}', is_arriving=True)) == ["a: 12"]


def test_it_takes_a_closed_text_at_the_end_for_whole() -> None:
    assert lines(tree_of('{"a": "x"', is_arriving=True)) == ['a: "x"']


def test_it_marks_what_was_cut_off_for_good() -> None:
    assert lines(tree_of('{"a": "x', is_arriving=False)) == ['a: "x*']


def test_it_gives_the_text_where_it_is_not_json() -> None:
    tree = tree_of("rm -rf /", is_arriving=False)
    assert (tree.nodes, tree.tail, tree.note) == ([], "rm -rf /", "not JSON")


def test_it_says_that_there_are_no_arguments() -> None:
    assert tree_of("", is_arriving=False).note == "no arguments"
    assert tree_of("", is_arriving=True).note == ""


def test_it_shows_only_the_end_of_what_is_too_long_while_it_arrives() -> None:
    long = '{"content": "' + "x" * LIVE_CHARACTERS
    assert tree_of(long, is_arriving=True).nodes == []
    assert len(tree_of(long, is_arriving=True).tail) <= 4_000
    assert len(tree_of(long + '"}', is_arriving=False).nodes) == 1


def test_it_bounds_the_number_of_lines() -> None:
    tree = tree_of(json.dumps({"a": [{"b": list(range(50))}] * 100}), is_arriving=False)
    assert len(lines(tree)) < 1_300
    assert "more in the raw text" in lines(tree)[-1]


def test_it_survives_nesting_beyond_reason() -> None:
    assert tree_of("[" * 100_000, is_arriving=False).note == "not JSON"


@given(JSON, st.randoms(use_true_random=False))
def test_it_draws_every_beginning_of_every_json_text(value: object, rng: random.Random) -> None:
    text = json.dumps(value)
    lines(tree_of(text, is_arriving=False))
    lines(tree_of(text[: rng.randint(0, len(text))], is_arriving=True))


@pytest.mark.parametrize("inner", ["[],", "0,", '"a",'])
def test_of_very_many_values_there_is_no_tree(inner: str) -> None:
    tree = tree_of(f"[{inner * 200_000}[]]", is_arriving=False)
    assert (tree.nodes, tree.note) == ([], "too long to show as a tree")
    assert tree.tail.endswith("[]]")
