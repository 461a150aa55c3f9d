"""What upstream's chunks, or the client's frames, say, in words."""

from collections.abc import Mapping

from streamviz.core.events import BlockKind, StreamEvent, StreamFailed, StreamFinished, UsageUpdated
from streamviz.core.timeline import Piece, Timeline
from streamviz.live.presentation.text import one_line, printable

_BARE = 60


def words_in(timeline: Timeline, numbers: range, bare: Mapping[int, bytes], most: int) -> str:
    """The beginning of what chunks, or frames, say: the text of blocks, otherwise what they tell about the answer."""
    said = ""
    was_told = False
    for number in numbers:
        if len(said) > most:
            break
        for words, is_told in _said(timeline, number, bare):
            if said:
                said += _between(was_told, is_told)
            said += words
            was_told = is_told
    said = printable(said)
    return said if len(said) <= most else f"{said[:most]}…"


def _between(was_told: bool, is_told: bool) -> str:
    """What separates two texts: nothing if both belong to blocks."""
    if was_told and is_told:
        return ", "
    return " " if was_told or is_told else ""


def _said(timeline: Timeline, number: int, bare: Mapping[int, bytes]) -> list[tuple[str, bool]]:
    """The texts of a chunk, none of them empty, each with whether it tells about the answer; otherwise it is a
    block's."""
    pieces = "".join(_words_of(timeline, piece) for piece in dict.fromkeys(timeline.pieces(number)))
    said = [(pieces, False), *((_told(event), True) for event in timeline.told(number))]
    if not any(words for words, _ in said):
        said = [(one_line(bare.get(number, b"").decode("utf-8", "replace"), _BARE), True)]
    return [(words, is_told) for words, is_told in said if words]


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
