"""What upstream's chunks, or the client's frames, say, in words."""

from collections.abc import Mapping

from streamviz.core.events import BlockKind, StreamEvent, StreamFailed, StreamFinished, UsageUpdated
from streamviz.core.timeline import Piece, Timeline
from streamviz.live.presentation.text import one_line, printable

_BARE = 60


def words_in(timeline: Timeline, numbers: range, bare: Mapping[int, bytes], most: int) -> str:
    """The beginning of what chunks, or frames, say: the text of blocks, otherwise what they tell about the answer."""
    words: list[str] = []
    length = 0
    for number in numbers:
        if length > most:
            break
        words.append(_said(timeline, number, bare))
        length += len(words[-1])
    said = printable("".join(words))
    return said if len(said) <= most else f"{said[:most]}…"


def _said(timeline: Timeline, number: int, bare: Mapping[int, bytes]) -> str:
    pieces = "".join(_words_of(timeline, piece) for piece in dict.fromkeys(timeline.pieces(number)))
    told = " ".join(filter(None, map(_told, timeline.told(number))))
    if pieces or told:
        return f"{pieces} {told}" if pieces and told else pieces or told
    return one_line(bare.get(number, b"").decode("utf-8", "replace"), _BARE)


def _words_of(timeline: Timeline, piece: Piece) -> str:
    """A piece of a block; if it begins a tool call, after the call's name."""
    begun = timeline.begun(piece.ordinal)
    name = f"{begun.name} " if begun.kind is BlockKind.TOOL_CALL and piece.end == 0 else ""
    return name + timeline.text(piece)


def _told(event: StreamEvent) -> str:
    match event:
        case StreamFinished(reason=reason):
            return f"finish_reason {reason}"
        case UsageUpdated():
            return "usage"
        case StreamFailed(message=message):
            return f"error {message}"
        case _:
            return ""
