"""What workers tell each other about streams, over the channel layer."""

import uuid
from array import array
from typing import Any, Protocol

import msgspec

from streamviz.core.json_value import JsonObject
from streamviz.core.verdicts import Decision
from streamviz.live.fleet_members import Member
from streamviz.live.presentation.views import StreamView
from streamviz.live.refusals import Refusal
from streamviz.live.row_sources import RowSource

LayerMessage = dict[str, Any]


class Layer(Protocol):
    """The part of a channel layer that is used here."""

    async def new_channel(self, prefix: str) -> str: ...

    async def group_add(self, group: str, channel: str) -> None: ...

    async def group_discard(self, group: str, channel: str) -> None: ...

    async def group_send(self, group: str, message: LayerMessage) -> None: ...

    async def send(self, channel: str, message: LayerMessage) -> None: ...

    async def receive(self, channel: str) -> LayerMessage: ...


class PeerMessage(msgspec.Struct, tag=True, frozen=True):
    """`sender` is the sending worker's own channel, on which it gets answers."""

    sender: str


class WallWanted(PeerMessage, frozen=True):
    """Somebody watches the Live page at the sender. `again`: all rows are wanted, not only changes."""

    again: bool


class Rows(PeerMessage, frozen=True):
    """The sender's rows that changed, and streams that are over and of which it has no more to say. If a number is
    missing, messages were lost; a message with `is_all` makes up for them."""

    number: int
    is_all: bool
    rows: list[RowSource]
    gone: list[uuid.UUID] = []


class Counted(PeerMessage, frozen=True):
    """How many of the sender's streams wait for a person, and how many updates it left out for slow browsers; its
    report on itself; and when a person was last asked something that is still open (µs since the epoch)."""

    asking: int
    dropped: int
    member: Member | None = None
    newest_ask: int = 0


class StreamWanted(PeerMessage, frozen=True):
    """Somebody watches this stream at the sender. `again`: a snapshot is wanted."""

    stream_id: uuid.UUID
    again: bool


class StreamUnknown(PeerMessage, frozen=True):
    """The sender, which runs every stream that the receiver can know, does not run this one."""

    stream_id: uuid.UUID


class Relayed(PeerMessage, frozen=True):
    """A message for everyone who watches a stream at the receiver, as in `subscriber.Message`."""

    stream_id: uuid.UUID
    number: int
    text: str
    is_text: bool
    close: int | None


class LookedFor(PeerMessage, frozen=True):
    """Somebody opens the page of this stream at the sender, which does not know it."""

    question: int
    stream_id: uuid.UUID


class Found(PeerMessage, frozen=True):
    """The stream as it is now, and the client's request; only a worker that runs it, or did until just now, answers."""

    question: int
    view: StreamView
    request: bytes


class Decided(PeerMessage, frozen=True):
    """A person answered a question about a block of a stream that another worker runs, or allowed it `for_session`.
    `asks` is the number of that question, `question` that of this message."""

    question: int
    stream_id: uuid.UUID
    asks: int
    decision: Decision
    by: str
    for_session: bool = False


class Cancelled(PeerMessage, frozen=True):
    """A person cancelled a stream that another worker runs."""

    question: int
    stream_id: uuid.UUID
    by: str


class SessionApproved(PeerMessage, frozen=True):
    """A person allowed, for a whole session, what this version of a policy would deny in it."""

    session_id: uuid.UUID
    version_id: int
    by: str


class CallsDenied(PeerMessage, frozen=True):
    """A client of this key did not get some calls of an answer: what to say of them (`proxy/denied_calls.py`)."""

    key_id: int | None
    names: list[str]
    stream_id: uuid.UUID
    outputs: list[JsonObject]


class Acted(PeerMessage, frozen=True):
    """Whether a person's action succeeded; only the worker that runs the stream answers."""

    question: int
    is_done: bool


class RefusalsWanted(PeerMessage, frozen=True):
    """The sender asks which requests the others refused."""


class RefusalsTold(PeerMessage, frozen=True):
    """The requests that the sender refused."""

    refusals: list[Refusal]


AnyMessage = (
    WallWanted
    | Rows
    | Counted
    | StreamWanted
    | StreamUnknown
    | Relayed
    | LookedFor
    | Found
    | Decided
    | Cancelled
    | SessionApproved
    | CallsDenied
    | Acted
    | RefusalsWanted
    | RefusalsTold
)


def pack(message: AnyMessage) -> bytes:
    """Encode a message. Half of a surrogate pair, which UTF-8 cannot hold, becomes a question mark."""
    try:
        return msgspec.msgpack.encode(message, enc_hook=_plain)
    except UnicodeEncodeError:
        values = msgspec.to_builtins(message, builtin_types=(bytes,), enc_hook=_plain)
        return msgspec.msgpack.encode(_encodable(values))


def unpack(data: bytes) -> AnyMessage:
    """Decode a message. Raises msgspec.DecodeError for anything that no worker of this version wrote."""
    return msgspec.msgpack.decode(data, type=AnyMessage)


def _plain(value: object) -> object:
    """Chunks' times are kept in arrays."""
    if isinstance(value, array):
        return value.tolist()
    raise NotImplementedError(f"{type(value).__name__} cannot be sent")


def _encodable(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case list() | tuple():
            return [_encodable(each) for each in value]
        case dict():
            return {key: _encodable(each) for key, each in value.items()}
        case _:
            return value
