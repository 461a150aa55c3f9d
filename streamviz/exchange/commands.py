"""What an exchange wants done, in the order in which it is to be done."""

from collections.abc import Mapping

import msgspec

from streamviz.core.judgements import Question
from streamviz.core.outcome import Outcome
from streamviz.records.recorder import AnyEntry


class Record(msgspec.Struct, frozen=True, gc=False):
    """Have this kept before anything else is done."""

    entries: list[AnyEntry]


class Begin(msgspec.Struct, frozen=True, gc=False):
    """Send the head of the response."""

    status: int
    headers: Mapping[str, str]


class Send(msgspec.Struct, frozen=True, gc=False):
    """Give bytes to the client's socket, and wait while that is full. With the last of them the response ends, and is
    whole."""

    data: bytes
    is_last: bool = False


class End(msgspec.Struct, frozen=True, gc=False):
    """End the response: it is whole."""


class Respond(msgspec.Struct, frozen=True, gc=False):
    """Send a whole response."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class CutOff(msgspec.Struct, frozen=True, gc=False):
    """Leave the response without its end: the client would take what it has for an answer."""

    why: str


class Ask(msgspec.Struct, frozen=True):
    """Have a question answered."""

    question: Question


class Forget(msgspec.Struct, frozen=True, gc=False):
    """The answer to this question is no longer needed."""

    number: int


class CloseUpstream(msgspec.Struct, frozen=True, gc=False):
    """Nothing more is read of the answer: end the connection."""


class Finish(msgspec.Struct, frozen=True, gc=False):
    """The client has all that it gets."""

    outcome: Outcome


Command = Record | Begin | Send | End | Respond | CutOff | Ask | Forget | CloseUpstream | Finish
