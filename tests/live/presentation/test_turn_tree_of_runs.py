"""The calls of a run are below its turn, and the conversation continues next to them."""

from uuid import uuid4

from streamviz.live.presentation.turn_tree import Link, lines_of

RUN, PLAN, TOOLS, ANSWER, NEXT = (uuid4() for _ in range(5))


def test_calls_of_a_run_are_a_line_of_their_own() -> None:
    steps = [Link(each, RUN, "step") for each in (PLAN, TOOLS, ANSWER)]
    main, calls = lines_of([Link(RUN), *steps, Link(NEXT, RUN, "turn")])
    assert [(turn.number, turn.stream, turn.before) for turn in main.turns] == [("1", RUN, None), ("2", NEXT, RUN)]
    assert [(turn.number, turn.stream, turn.before) for turn in calls.turns] == [
        ("1.1", PLAN, None),
        ("1.2", TOOLS, None),
        ("1.3", ANSWER, None),
    ]
    assert calls.title == "calls of 1"
