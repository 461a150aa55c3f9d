"""The table of a stream's life: what may follow what, and that every path comes to an end."""

import pytest

from streamviz.core.errors import IllegalTransition
from streamviz.core.outcome import Outcome
from streamviz.exchange.life import STEPS, Event, Life, State


def at(state: State) -> Life:
    """A life in this state."""
    life = Life()
    life.state = state
    return life


@pytest.mark.parametrize("event", Event)
@pytest.mark.parametrize("state", State)
def test_what_the_table_does_not_have_is_illegal(state: State, event: Event) -> None:
    life = at(state)
    if (state, event) in STEPS:
        to = STEPS[state, event].to
        life.step(event)
        assert life.state is (to or state)
    else:
        assert not life.allows(event)
        with pytest.raises(IllegalTransition, match=state.name):
            life.step(event)
        assert life.state is state


@pytest.mark.parametrize("state", [state for state in State if state not in (State.OVER, State.CLOSED)])
def test_a_client_may_leave_and_the_server_let_go_at_any_time(state: State) -> None:
    for event in (Event.LEFT, Event.DROPPED):
        life = at(state)
        assert life.step(event)
        assert life.is_over
        assert not life.step(event)


@pytest.mark.parametrize(
    ("event", "outcome"),
    [
        (Event.FAILED, Outcome.UPSTREAM_ERROR),
        (Event.BROKE, Outcome.INTERRUPTED),
        (Event.CANCELLED, Outcome.HALTED),
        (Event.REVOKED, Outcome.HALTED),
        (Event.STOPPED, Outcome.INTERRUPTED),
        (Event.DENIED, Outcome.HALTED),
    ],
)
def test_what_cuts_a_stream_short_first_is_its_outcome(event: Event, outcome: Outcome) -> None:
    life = Life()
    assert life.step(event)
    assert life.is_ending
    assert life.outcome is None
    for later in (Event.BROKE, Event.CANCELLED, Event.REVOKED, Event.STOPPED):
        assert not life.step(later)
    life.step(Event.LEFT)
    assert life.outcome is outcome


def test_the_head_goes_out_once() -> None:
    life = Life()
    assert not life.has_begun
    life.step(Event.BEGAN)
    assert life.has_begun
    with pytest.raises(IllegalTransition):
        life.step(Event.BEGAN)


def test_a_client_that_leaves_before_the_end_is_with_it_left() -> None:
    life = Life()
    for event in (Event.FORWARDED, Event.ANSWERED, Event.DRAINED, Event.COMPLETED, Event.LEFT):
        life.step(event)
    assert life.outcome is Outcome.CLIENT_DISCONNECTED
