"""Where sub-agents hang whose caller nobody knows."""

from uuid import UUID, uuid4

from streamviz.live.presentation.turn_tree import Line, Link, lines_of

TITLE, GOES_ON, FIRST, SECOND = (uuid4() for _ in range(4))
TURNS = [Link(FIRST), Link(SECOND, FIRST, "turn")]


def numbers(line: Line) -> list[tuple[str, UUID, UUID | None]]:
    return [(turn.number, turn.stream, turn.before) for turn in line.turns]


def test_what_an_agent_asked_before_its_first_turn_hangs_from_that() -> None:
    main, aside = lines_of([Link(TITLE, None, "subagent"), *TURNS, Link(GOES_ON, TITLE, "turn")])
    assert numbers(main) == [("1", FIRST, None), ("2", SECOND, FIRST)]
    assert numbers(aside) == [("1.1", TITLE, None), ("1.2", GOES_ON, TITLE)]
    assert aside.title == "sub-agent of 1"


def test_what_an_agent_asked_later_hangs_from_the_turn_before_it() -> None:
    main, aside = lines_of([*TURNS, Link(TITLE, None, "subagent")])
    assert numbers(main) == [("1", FIRST, None), ("2", SECOND, FIRST)]
    assert numbers(aside) == [("2.1", TITLE, None)]


def test_what_is_alone_is_the_main_line() -> None:
    [main] = lines_of([Link(TITLE, None, "subagent")])
    assert numbers(main) == [("1", TITLE, None)]
