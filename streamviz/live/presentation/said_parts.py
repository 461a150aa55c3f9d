"""What a request says, part by part, as pages show it: who said it, its text, and the call that it answers."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from streamviz.core.request_parts import Part, PartKind
from streamviz.live.presentation.block_views import title_of
from streamviz.live.presentation.cutting import Cut, cut
from streamviz.live.presentation.durations import exact
from streamviz.live.presentation.figures import byte_size
from streamviz.live.presentation.text import one_line
from streamviz.live.presentation.turn_tree import Turn
from streamviz.live.presentation.views import StreamView

# How much of a part a page shows, in bytes, and of its beginning, in characters.
MOST_SAID = 24_000
HEAD = 110
# Parts with more characters than this are folded: tool results, and any others.
_LONG = 1_500
_LONG_SAID = 6_000
NOT_KEPT = "not kept"


class Call(NamedTuple):
    """A tool call: the turn that made it, and when that turn was over (µs since the epoch)."""

    turn: Turn
    name: str
    at: int


class SaidPart(NamedTuple):
    """A part of a request. `who` said it; `title` and `meta` name it; long ones are folded."""

    kind: PartKind
    who: str
    title: str
    meta: str
    text: Cut
    size: str
    is_open: bool
    is_error: bool
    call: Call | None
    summary: str

    @property
    def is_text(self) -> bool:
        return self.kind is PartKind.TEXT

    @property
    def is_result(self) -> bool:
        return self.kind is PartKind.TOOL_RESULT


def calls_of(turns: Iterable[tuple[Turn, StreamView]]) -> dict[str, Call]:
    """The calls of all turns by id, or by the tool's name if they have none (the last of each)."""
    calls: dict[str, Call] = {}
    for turn, stream in turns:
        for block in stream.blocks:
            if block.is_tool_call:
                at = stream.ended_at or block.completed_at or block.started_at
                calls[block.upstream_id or f"\x00{block.name}"] = Call(turn, title_of(block.kind, block.name), at)
    return calls


def said_part(part: Part, at: int, calls: Mapping[str, Call], room: int) -> SaidPart:
    """A part of a request that came `at` (µs since the epoch), in `room` bytes of a page. `calls` are those whose
    results it may have."""
    call = calls.get(part.call_id) if part.call_id else calls.get(f"\x00{part.name}")
    call = call if part.kind is PartKind.TOOL_RESULT else None
    name = one_line(part.name, HEAD) or (call.name if call else "")
    most = _LONG if part.kind is PartKind.TOOL_RESULT else _LONG_SAID
    return SaidPart(
        kind=part.kind,
        who=one_line(part.role, 40) or "user",
        title=name or ("call " + one_line(part.call_id, 40) if part.call_id else ""),
        meta=exact(max(0, at - call.at)) if call else "",
        text=cut(part.text, min(room, MOST_SAID)),
        size=byte_size(part.size) if part.size else "",
        is_open=len(part.text) <= most,
        is_error=part.is_error,
        call=call,
        summary=one_line(part.text, HEAD),
    )
