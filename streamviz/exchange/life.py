"""The life of a stream, as one table: which step may follow which, and how the stream ended."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from streamviz.core.errors import IllegalTransition
from streamviz.core.outcome import Outcome


class State(StrEnum):
    """Where a stream is."""

    ASKED = "its policies judge the request"
    OPENING = "the request goes upstream"
    ANSWERING = "upstream's answer comes"
    SETTLING = "upstream is not read any more; what is held waits for verdicts"
    ENDING = "the end of the answer is on its way to the client"
    CUT = "last words of our own are on their way to the client"
    OVER = "the client has all that it gets"
    CLOSED = "the record has all of it too"


class Event(StrEnum):
    """What happens to a stream."""

    BEGAN = "the client is sent the head of the response"
    FORWARDED = "the request is sent upstream"
    ANSWERED = "upstream answers"
    DRAINED = "upstream has ended, or is not read any more"
    COMPLETED = "nothing is wrong with the answer"
    HALTED = "a policy ended the answer"
    FAULTED = "upstream itself told the client that it failed"
    DENIED = "a policy denied the request, or a call of the run that answers it"
    FAILED = "upstream failed, or cannot be asked"
    BROKE = "streamviz failed, or cannot record any more"
    CANCELLED = "a person stopped it"
    REVOKED = "its key was revoked"
    STOPPED = "the server stops"
    SENT = "the client was given the end"
    LEFT = "the client left"
    DROPPED = "the server drops it, even if somebody still waits"
    CLOSED = "nothing more can be said of it"


class Step(NamedTuple):
    """The state that an event leads to and the outcome that it sets; None leaves either as it is."""

    to: State | None = None
    outcome: Outcome | None = None


_UNDER_WAY = (State.ASKED, State.OPENING, State.ANSWERING, State.SETTLING)
_UNDECIDED = (*_UNDER_WAY, State.ENDING)
_ENDING = (State.ENDING, State.CUT)
_OVER = (State.OVER, State.CLOSED)

_ROWS: Iterable[tuple[Event, tuple[State, ...], Step]] = (
    # The normal course.
    (Event.BEGAN, (*_UNDECIDED, State.CUT), Step()),
    (Event.FORWARDED, (State.ASKED,), Step(State.OPENING)),
    (Event.ANSWERED, (State.OPENING,), Step(State.ANSWERING)),
    (Event.DRAINED, (State.ANSWERING,), Step(State.SETTLING)),
    # The stream comes to its own end.
    (Event.COMPLETED, (State.SETTLING,), Step(State.ENDING, Outcome.COMPLETED)),
    (Event.HALTED, (State.SETTLING,), Step(State.ENDING, Outcome.HALTED)),
    (Event.FAULTED, (State.SETTLING,), Step(State.ENDING, Outcome.UPSTREAM_ERROR)),
    # The stream is cut short. The first cause is the reason, whatever happens while the client is sent its error.
    (Event.DENIED, _UNDER_WAY, Step(State.CUT, Outcome.HALTED)),
    (Event.FAILED, _UNDER_WAY, Step(State.CUT, Outcome.UPSTREAM_ERROR)),
    (Event.BROKE, _UNDECIDED, Step(State.CUT, Outcome.INTERRUPTED)),
    (Event.CANCELLED, _UNDECIDED, Step(State.CUT, Outcome.HALTED)),
    (Event.REVOKED, _UNDECIDED, Step(State.CUT, Outcome.HALTED)),
    (Event.STOPPED, _UNDECIDED, Step(State.CUT, Outcome.INTERRUPTED)),
    *((event, (State.CUT,), Step()) for event in (Event.BROKE, Event.CANCELLED, Event.REVOKED, Event.STOPPED)),
    # The stream is over.
    (Event.SENT, (State.ENDING, State.CUT), Step(State.OVER)),
    (Event.LEFT, _UNDECIDED, Step(State.OVER, Outcome.CLIENT_DISCONNECTED)),
    (Event.DROPPED, _UNDECIDED, Step(State.OVER, Outcome.INTERRUPTED)),
    *((event, (State.CUT,), Step(State.OVER)) for event in (Event.LEFT, Event.DROPPED)),
    *((event, (State.OVER,), Step()) for event in (Event.LEFT, Event.DROPPED)),
    (Event.CLOSED, (State.OVER,), Step(State.CLOSED)),
)

STEPS = {(state, event): step for event, states, step in _ROWS for state in states}


class Life:
    """Where one stream is, whether its client has the head of the response, and whether its request went upstream. Only
    `step` changes that."""

    def __init__(self) -> None:
        self.state = State.ASKED
        self.has_begun = False
        self.was_forwarded = False
        # Whether nothing but the stream's end may still be sent, and whether nothing at all may. Read at every socket
        # read, so they are plain attributes.
        self.is_ending = False
        self.is_over = False
        self._outcome: Outcome | None = None

    def __repr__(self) -> str:
        return f"<Life {self.state.name}{', begun' * self.has_begun}>"

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; None until it is over."""
        return self._outcome if self.is_over else None

    def allows(self, event: Event) -> bool:
        """Whether this may happen now."""
        return (self.state, event) in STEPS and not (event is Event.BEGAN and self.has_begun)

    def step(self, event: Event) -> bool:
        """Apply an event. Return False if it changed nothing. Raises IllegalTransition if it cannot happen now."""
        if not self.allows(event):
            raise IllegalTransition(f"{event.name} cannot happen to a stream that is {self.state.name}")
        self.was_forwarded |= event is Event.FORWARDED
        to, outcome = STEPS[self.state, event]
        self._outcome = outcome or self._outcome
        if event is Event.BEGAN:
            self.has_begun = True
            return True
        if to is None:
            return False
        self.state = to
        self.is_over = to in _OVER
        self.is_ending = self.is_over or to in _ENDING
        return True
