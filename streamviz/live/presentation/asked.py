"""What a request asked, for its stream's page: what follows the model's last words, the system prompt, the tools."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from streamviz.core.request_outline import RequestOutline, asked_since, outline_of, parts_of
from streamviz.core.request_parts import PartKind
from streamviz.core.wire import WIRE_FORMATS
from streamviz.core.wire_format import WireFormat
from streamviz.live.presentation.cutting import share
from streamviz.live.presentation.figures import byte_size
from streamviz.live.presentation.offered import Offered, offered_of
from streamviz.live.presentation.said_parts import NOT_KEPT, SaidPart, said_part
from streamviz.live.presentation.turn_tree import Link, lines_of
from streamviz.live.presentation.views import StreamView

# Longer requests are not read for a stream's page.
_MOST_BYTES = 4_000_000
_ROOM = 200_000
_MOST_PARTS = 20
# How many turns before the new ones are searched for the calls whose results those have.
_MOST_CALLING = 20


class Asked(NamedTuple):
    """What was new in a request. `hidden` messages came before that, `why` says why there is nothing to show, and
    `headers` are those that are kept."""

    size: str
    parts: list[SaidPart]
    hidden: int
    why: str
    offered: Offered | None
    headers: Mapping[str, str]


def asked_of(stream: StreamView, body: bytes) -> Asked:
    """What to show of a stream's request. Reading a long one takes some tens of ms."""
    size = byte_size(len(body)) if body else ""
    headers = headers_of(stream)
    wire_format = WIRE_FORMATS.get(stream.wire_format)
    if not body or wire_format is None or len(body) > _MOST_BYTES:
        return Asked(size, [], 0, "too large to show here" if body else NOT_KEPT, None, headers)
    outline = outline_of(body, wire_format)
    if outline.is_odd:
        return Asked(size, [], 0, "not a request of this format", None, headers)
    new = asked_since(outline)[-_MOST_PARTS:]
    parts = [part for turn in new for part in parts_of(turn, wire_format)][-_MOST_PARTS:]
    names = _called(outline.turns[: len(outline.turns) - len(new)][-_MOST_CALLING:], wire_format)
    parts = [replace(part, name=part.name or names.get(part.call_id, "")) for part in parts]
    room = share((part.text for part in parts), _ROOM)
    said = [said_part(part, stream.requested_at, {}, room) for part in parts]
    hidden = len(outline.turns) - outline.system_turns - len(new)
    return Asked(size, said, hidden, "", _offered(stream.id, outline), headers)


def headers_of(stream: StreamView) -> dict[str, str]:
    """The headers of the stream's request that are kept."""
    agent = {"user-agent": stream.user_agent} if stream.user_agent else {}
    return {**agent, **stream.request_headers}


def _called(turns: Sequence[bytes], wire_format: WireFormat) -> dict[str, str]:
    """The names of the tools that these turns call, by call id."""
    parts = (part for turn in turns for part in parts_of(turn, wire_format))
    return {part.call_id: part.name for part in parts if part.kind is PartKind.TOOL_CALL}


def _offered(stream_id: UUID, outline: RequestOutline) -> Offered | None:
    return offered_of([(lines_of([Link(stream_id)])[0].turns[0], outline)])
