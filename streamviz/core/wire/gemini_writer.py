"""Writing events in Gemini's format: the parts of candidates, and frames of those."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from streamviz.core import sse
from streamviz.core.calls import is_input
from streamviz.core.composer import Composer
from streamviz.core.events import (
    BlockCompleted,
    BlockDelta,
    BlockKind,
    BlockSealed,
    BlockStarted,
    StreamEvent,
    StreamFinished,
    UsageUpdated,
)
from streamviz.core.json_value import JsonObject, encode
from streamviz.core.wire.gemini_kept import TOP
from streamviz.core.wire.gemini_message import media_parts
from streamviz.core.wire.gemini_parts import call_part
from streamviz.core.wire.gemini_results import DeniedCalls
from streamviz.core.wire.translation import GEMINI, has_no_place_elsewhere, is_cut_off


@dataclass(slots=True)
class WrittenBlock:
    """A composed block. A call, or an opaque block, is written once it is whole."""

    started: BlockStarted
    pieces: list[str] = field(default_factory=list)
    is_written: bool = False


@dataclass(slots=True)
class Said:
    """What one frame is to say: parts by candidate, each with its block, why candidates end, and the usage."""

    parts: dict[int, list[tuple[int, JsonObject]]] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    usage: JsonObject | None = None


class GeminiWriter(Composer):
    """Makes parts from blocks, and frames from parts; `head` and `source` are the composer's."""

    def __init__(self, head: JsonObject, source: str) -> None:
        self._head = head
        self._source = source
        self._is_translating = source != GEMINI
        self._blocks: dict[int, WrittenBlock] = {}
        self._choices: dict[int, int] = {}
        self._denied = DeniedCalls()
        # The candidates in which a call could not be written.
        self._untold: set[int] = set()

    def _said(self, events: Sequence[StreamEvent]) -> Said:
        said = Said()
        cut = self._cut_off(events)
        for event in events:
            match event:
                case BlockStarted():
                    self._blocks[event.ordinal] = WrittenBlock(event)
                    self._choices.setdefault(event.ordinal, event.choice)
                case BlockDelta():
                    self._grow(event, said)
                case BlockCompleted() if not event.truncated and self._may_grow(event.ordinal):
                    pass
                case BlockCompleted() | BlockSealed():
                    is_cut = isinstance(event, BlockCompleted) and event.truncated
                    self._whole(event.ordinal, said, is_cut=is_cut or self._choices.get(event.ordinal) in cut)
                case StreamFinished():
                    said.reasons[event.choice] = event.reason
                case UsageUpdated():
                    said.usage = event.usage
                case _:
                    pass
        return said

    def _cut_off(self, events: Sequence[StreamEvent]) -> set[int]:
        """The candidates that these events end before the model was done."""
        if not self._is_translating:
            return set()
        ends = (event for event in events if isinstance(event, StreamFinished))
        return {event.choice for event in ends if is_cut_off(event.reason, self._source)}

    def _may_grow(self, ordinal: int) -> bool:
        """Whether a complete block may still grow: a call, if its format interleaves calls."""
        block = self._blocks.get(ordinal)
        return self._is_translating and block is not None and block.started.kind is BlockKind.TOOL_CALL

    def _grow(self, event: BlockDelta, said: Said) -> None:
        block = self._blocks[event.ordinal]
        started = block.started
        if _is_told_whole(started):
            block.pieces.append(event.text)
            return
        if not event.text and not event.signature:
            return
        thought: JsonObject = {"thought": True} if started.kind is BlockKind.THINKING else {}
        signature: JsonObject = {"thoughtSignature": event.signature} if event.signature else {}
        part: JsonObject = {"text": event.text, **thought, **({} if self._is_translating else signature)}
        said.parts.setdefault(started.choice, []).append((event.ordinal, part))

    def _whole(self, ordinal: int, said: Said, *, is_cut: bool) -> None:
        block = self._blocks.get(ordinal)
        if block is None or block.is_written or not _is_told_whole(block.started):
            return
        block.is_written = True
        text, is_call = "".join(block.pieces), block.started.kind is BlockKind.TOOL_CALL
        if (is_cut or (is_call and text)) and not is_input(text):
            # An incomplete call is not written: a client would run it.
            self._untold |= {block.started.choice} if is_call else set()
            return
        if self._denied.takes_block(ordinal, block.started.label, text):
            return
        if parts := self._parts(block):
            said.parts.setdefault(block.started.choice, []).extend((ordinal, part) for part in parts)

    def _parts(self, block: WrittenBlock) -> list[JsonObject]:
        """A block's parts: several for a sound, none if only its own format has such a block."""
        started, label = block.started, block.started.label
        if self._is_translating:
            if has_no_place_elsewhere(started):
                return []
            label = ""
        if started.kind is BlockKind.MEDIA:
            return media_parts(label, "".join(block.pieces))
        is_call = started.kind is BlockKind.TOOL_CALL
        named = (started.id, started.name) if is_call else ("", "")
        return [call_part(*named, label, "".join(block.pieces))]

    def _frame(self, said: Said) -> bytes:
        numbers = sorted(said.parts.keys() | said.reasons.keys())
        # Google's client does not keep a turn in which a candidate has no parts.
        parts = {number: [part for _, part in said.parts.get(number, [])] or [{"text": ""}] for number in numbers}
        candidates: list[JsonObject] = [
            {
                "content": {"role": "model", "parts": parts[number]},
                **({"finishReason": said.reasons[number]} if number in said.reasons else {}),
                "index": number,
            }
            for number in numbers
        ]
        usage: JsonObject = {} if said.usage is None else {"usageMetadata": said.usage}
        own: JsonObject = {"candidates": candidates} if candidates else {}
        return sse.write_event(encode({**own, **self._top(), **usage}))

    def _top(self) -> JsonObject:
        if not self._is_translating:
            return {name: self._head[name] for name in TOP if name in self._head}
        named = {"modelVersion": self._head.get("model"), "responseId": self._head.get("id")}
        return {name: value for name, value in named.items() if value}


def _is_told_whole(started: BlockStarted) -> bool:
    """Whether a block is written as a whole, and not in a part for each of its deltas."""
    return started.kind is BlockKind.TOOL_CALL or started.kind.is_opaque
