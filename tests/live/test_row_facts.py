"""What a row offers to the filter of the Live page."""

import pytest

from streamviz.live.filters import parse_filter
from streamviz.live.row_facts import unknown_values


@pytest.mark.parametrize("written", ["state:bogus", '-state:"needs me"', "state:held state:bogus", "state:bo*"])
def test_a_state_that_there_is_not_is_named_with_those_there_are(written: str) -> None:
    [said] = unknown_values(parse_filter(written))
    assert " must be one of needs you, held, stalled, running, completed, " in said


@pytest.mark.parametrize("written", ["verdict:xx", "verdict:would_deny"])
def test_a_verdict_that_there_is_not_is_named_with_those_there_are(written: str) -> None:
    assert unknown_values(parse_filter(written)) == [
        f"{written} must be one of allow, would allow, replace, would replace, deny, would deny, halt, would halt"
    ]


@pytest.mark.parametrize(
    "written", ["state:HELD", "state:st*", 'verdict:"would deny"', "state:finished", 'state:"client left"', "model:xx"]
)
def test_what_a_stream_can_have_is_no_problem(written: str) -> None:
    assert unknown_values(parse_filter(written)) == []
