"""What an exchange wants done, in the order in which it is to be done."""

from collections.abc import Mapping

import msgspec

from streamviz.core.judgements import Question
from streamviz.core.outcome import Outcome
from streamviz.records.recorder import AnyEntry


class Record(msgspec.Struct, frozen=True, gc=False):
    """Record this before anything else is done."""

    entries: list[AnyEntry]


class Begin(msgspec.Struct, frozen=True, gc=False):
    """Send the head of the response."""

    status: int
    headers: Mapping[str, str]


class Send(msgspec.Struct, frozen=True, gc=False):
    """Write bytes to the client's socket, and wait while its buffer is full; `is_last` completes the response."""

    data: bytes
    is_last: bool = False


class End(msgspec.Struct, frozen=True, gc=False):
    """End the response: it is complete."""


class Respond(msgspec.Struct, frozen=True, gc=False):
    """Send a whole response."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class CutOff(msgspec.Struct, frozen=True, gc=False):
    """Break off the response without its end: otherwise the client would take what it has for an answer."""

    why: str


class Ask(msgspec.Struct, frozen=True):
    """Have a question answered."""

    question: Question


class Forget(msgspec.Struct, frozen=True, gc=False):
    """Stop asking a question: its answer is no longer needed."""

    number: int


class CloseUpstream(msgspec.Struct, frozen=True, gc=False):
    """Close the connection to upstream: no more of its answer is read."""


class Finish(msgspec.Struct, frozen=True, gc=False):
    """The client has all that it gets."""

    outcome: Outcome


Command = Record | Begin | Send | End | Respond | CutOff | Ask | Forget | CloseUpstream | Finish
