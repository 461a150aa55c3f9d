"""The state of a block, by one rule for running streams and for the record."""

import pytest

from streamviz.core.verdicts import Decision
from streamviz.live.presentation.block_states import Kept, by_block, deciding, state_of
from streamviz.live.presentation.block_views import VerdictView

FREE = Kept(False, False, False)
HELD = Kept(True, True, False)
LET_GO = Kept(True, False, False)
BEHIND = Kept(False, False, True)


def verdict(decision: Decision, mode: str = "enforce", number: int = 0, ordinal: int = 0) -> VerdictView:
    return VerdictView(number, ordinal, "run_shell", "rule", 3, mode, decision, "", "", 0, 40)


@pytest.mark.parametrize(
    ("kept", "verdict", "is_running", "is_complete", "state"),
    [
        (FREE, None, True, False, "arriving"),
        (FREE, None, True, True, "sent"),
        (FREE, None, False, True, "sent"),
        (BEHIND, None, True, True, "waiting"),
        (BEHIND, None, False, True, "never sent"),
        (BEHIND, None, False, False, "never sent"),
        (HELD, None, True, False, "held"),
        (HELD, None, False, False, "never sent"),
        (LET_GO, verdict(Decision.ALLOW), True, True, "sent"),
        (LET_GO, verdict(Decision.DENY), True, True, "never sent"),
        (HELD, verdict(Decision.DENY), False, True, "never sent"),
        (LET_GO, verdict(Decision.REPLACE), False, True, "replaced"),
        (LET_GO, verdict(Decision.DENY, "shadow"), False, True, "sent"),
        (FREE, verdict(Decision.DENY), False, True, "sent"),
    ],
)
def test_it_says_what_became_of_a_block(
    kept: Kept, verdict: VerdictView | None, is_running: bool, is_complete: bool, state: str
) -> None:
    assert state_of(kept, verdict, is_running=is_running, is_complete=is_complete) == state


def test_the_last_verdict_that_counts_decides() -> None:
    allow, shadow, deny = verdict(Decision.ALLOW), verdict(Decision.DENY, "shadow", 1), verdict(Decision.DENY, number=2)
    assert deciding([allow, shadow, deny]) is deny
    assert deciding([shadow, allow]) is shadow
    assert deciding([allow]) is allow
    assert deciding([]) is None


def test_verdicts_are_found_by_their_block() -> None:
    first, second = verdict(Decision.ALLOW, ordinal=1), verdict(Decision.DENY, ordinal=1)
    assert by_block([first, second]) == {1: [first, second]}


def test_a_verdict_in_shadow_says_what_it_would_do() -> None:
    assert verdict(Decision.DENY, "shadow").word == "would deny"
    assert verdict(Decision.DENY).word == "deny"
