"""Folding and ordering of steps."""

import pytest

from streamviz.simulator.steps import (
    ConnectionCut,
    Content,
    Cut,
    Finish,
    Part,
    Pause,
    Thinking,
    ToolEnd,
    ToolPiece,
    ToolStart,
    fold,
    one_call_at_a_time,
    timeline,
)

INTERLEAVED = (
    Content("a"),
    ToolStart(0, "x", delay=1),
    ToolStart(1, "y", delay=2),
    ToolPiece(0, "{", delay=3),
    ToolPiece(1, "[", delay=4),
    ToolPiece(0, "}"),
    ToolEnd(0),
    ToolPiece(1, "]"),
    ToolEnd(1),
    Content("b"),
)


def test_fold_joins_pieces_by_kind_and_call() -> None:
    parts = fold([Thinking("t"), Thinking("u"), *INTERLEAVED])
    assert parts == [
        Part("thinking", "tu"),
        Part("content", "a"),
        Part("tool", "{}", "x", 0),
        Part("tool", "[]", "y", 1),
        Part("content", "b"),
    ]


def test_one_call_at_a_time_keeps_what_is_said_and_when() -> None:
    ordered = one_call_at_a_time(INTERLEAVED)
    assert [step.call for step in ordered if isinstance(step, (ToolStart, ToolPiece, ToolEnd))] == [0] * 4 + [1] * 4
    assert [step.delay for step in ordered] == [step.delay for step in INTERLEAVED]
    assert fold(ordered) == fold(INTERLEAVED)


def test_timeline_adds_pauses_to_the_next_step() -> None:
    steps = [Pause(delay=2), Content("a", delay=1), Finish("stop")]
    assert [delay for delay, _ in timeline(steps)] == [3, 0]


def test_timeline_raises_at_a_cut() -> None:
    steps = timeline([Content("a"), Cut(), Content("b")])
    assert next(steps) == (0, Content("a"))
    with pytest.raises(ConnectionCut):
        next(steps)
