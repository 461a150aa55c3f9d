"""Writing Gemini's generateContent: events as chunks in the shape of the whole answer.

What no verdict changes keeps upstream's own parts: a call goes with the signature that the provider wants back with it.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import ClassVar

from streamviz.core import sse
from streamviz.core.aggregator import Chunk
from streamviz.core.composer import Composer
from streamviz.core.events import (
    CONTRADICTION,
    BlockCompleted,
    BlockDelta,
    BlockKind,
    BlockSealed,
    BlockStarted,
    StreamEvent,
    StreamFailed,
    StreamFinished,
    UsageUpdated,
)
from streamviz.core.json_value import JsonObject, as_object, decode, encode, objects
from streamviz.core.wire.gemini_errors import code_of, error_body
from streamviz.core.wire.gemini_message import media_parts
from streamviz.core.wire.gemini_parts import TOP, call_part, kept_candidate, kept_top, number_of, owners_of, parts_of
from streamviz.core.wire.translation import GEMINI, has_no_place_elsewhere, translate_reason, translate_usage

FINISH_HALTED = "SAFETY"


@dataclass(slots=True)
class _Block:
    """A block that is composed. A call, or what is of another kind, is written once it is whole."""

    started: BlockStarted
    pieces: list[str] = field(default_factory=list)
    is_written: bool = False


@dataclass(slots=True)
class _Said:
    """What one frame is to say: parts by candidate, each with its block, and why candidates end."""

    parts: dict[int, list[tuple[int, JsonObject]]] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    usage: JsonObject | None = None


def error_of(failure: StreamFailed) -> JsonObject:
    """A failure as Google tells it."""
    is_number = failure.code.isascii() and failure.code.isdigit()
    code = int(failure.code[:4]) if is_number else code_of(failure.kind)
    return error_body(failure.message, code, None if is_number else failure.code)


class GeminiComposer(Composer):
    """Writes a stream. `head` holds what stands beside the candidates, read anew for each frame.

    `source` is the format that the events come from, where it is another: all is composed then, and `end()` writes why
    the candidates end, with the usage.
    """

    finish_without_calls: ClassVar[Mapping[str, str]] = {}
    finish_halted = FINISH_HALTED

    def __init__(self, head: JsonObject, source: str = GEMINI) -> None:
        self._head = head
        self._source = source
        self._is_translating = source != GEMINI
        self._blocks: dict[int, _Block] = {}
        self._choices: dict[int, int] = {}
        self._changed: set[int] = set()
        self._last = _Said()
        self._has_failed = False

    def passed(self, events: Sequence[StreamEvent], chunk: Chunk | None = None) -> None:
        self._note(events)
        for event in events:
            if isinstance(event, BlockStarted):
                self._blocks[event.ordinal] = _Block(event, is_written=True)

    def carry(self, chunk: Chunk, events: Sequence[StreamEvent]) -> list[bytes] | None:
        return self.carry_part(chunk, events, events, frozenset())

    def carry_part(
        self, chunk: Chunk, read: Sequence[StreamEvent], said: Sequence[StreamEvent], touched: Set[int]
    ) -> list[bytes] | None:
        self._note(read)
        self._changed |= {self._choices[ordinal] for ordinal in touched}
        payload = _payload(chunk)
        if self._is_translating or "candidates" not in payload or any(isinstance(each, StreamFailed) for each in read):
            return None
        candidates = objects(payload["candidates"])
        owners = owners_of(candidates, read)
        if owners is None and touched:
            return None
        own = self._carried(payload, candidates, owners or [], said, touched)
        return [chunk.raw if own == payload else sse.write_event(encode(own))]

    def compose(self, events: Sequence[StreamEvent]) -> list[bytes]:
        said = self._said(events)
        failures = [each for each in events if isinstance(each, StreamFailed) and each.kind != CONTRADICTION]
        if self._is_translating:
            self._keep_back(said)
        frames = [self._frame(said)] if said.parts or said.reasons or said.usage is not None else []
        return frames + [self.fail(failure) for failure in failures]

    def end(self) -> list[bytes]:
        last, self._last = self._last, _Said()
        is_open = (last.reasons or last.usage is not None) and not self._has_failed
        return [self._frame(last)] if is_open else []

    def keep_alive(self) -> bytes:
        # Google's client takes a comment for data. Lines that end nothing mean nothing to it, nor to any other.
        return b"\n\n"

    def fail(self, failure: StreamFailed) -> bytes:
        self._has_failed = True
        return sse.write_event(encode(error_of(failure)))

    def _note(self, events: Sequence[StreamEvent]) -> None:
        for event in events:
            if isinstance(event, BlockStarted):
                self._choices[event.ordinal] = event.choice

    def _carried(
        self,
        payload: JsonObject,
        candidates: Sequence[JsonObject],
        owners: Sequence[list[list[int]]],
        said: Sequence[StreamEvent],
        touched: Set[int],
    ) -> JsonObject:
        """A chunk with what is left of it. What is said anew stands where the first part of its block did."""
        anew = self._said([event for event in said if _ordinal_of(event) in touched])
        reasons = {event.choice: event.reason for event in said if isinstance(event, StreamFinished)}
        self.passed([event for event in said if isinstance(event, BlockStarted) and event.ordinal not in touched])
        carried: list[JsonObject] = []
        for position, candidate in enumerate(candidates):
            number = number_of(candidate, position)
            kept = kept_candidate(candidate, reasons.get(number), number in self._changed)
            if touched:
                parts = _mixed(parts_of(candidate), owners[position], anew.parts.get(number, []), touched)
                kept["content"] = {"role": "model", "parts": parts or [{"text": ""}]}
            elif "content" in candidate:
                kept["content"] = candidate["content"]
            carried.append(kept)
        return {**kept_top(payload, bool(self._changed)), "candidates": carried}

    def _keep_back(self, said: _Said) -> None:
        """Why an answer ends is said with the usage, which other formats tell behind it."""
        for choice, reason in said.reasons.items():
            has_calls = any(
                block.started.kind is BlockKind.TOOL_CALL and block.started.choice == choice
                for block in self._blocks.values()
            )
            self._last.reasons[choice] = translate_reason(reason, self._source, GEMINI, has_calls=has_calls)
        if said.usage is not None:
            self._last.usage = translate_usage(said.usage, self._source, GEMINI)
        said.reasons, said.usage = {}, None

    def _said(self, events: Sequence[StreamEvent]) -> _Said:
        said = _Said()
        for event in events:
            match event:
                case BlockStarted():
                    self._blocks[event.ordinal] = _Block(event)
                    self._choices.setdefault(event.ordinal, event.choice)
                case BlockDelta():
                    self._grow(event, said)
                case BlockCompleted() | BlockSealed():
                    is_cut = isinstance(event, BlockCompleted) and event.truncated
                    self._whole(event.ordinal, said, is_cut=is_cut)
                case StreamFinished():
                    said.reasons[event.choice] = event.reason
                case UsageUpdated():
                    said.usage = event.usage
                case _:
                    pass
        return said

    def _grow(self, event: BlockDelta, said: _Said) -> None:
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

    def _whole(self, ordinal: int, said: _Said, *, is_cut: bool) -> None:
        block = self._blocks.get(ordinal)
        if block is None or block.is_written or not _is_told_whole(block.started):
            return
        block.is_written = True
        if is_cut and not _is_object("".join(block.pieces)):
            # What there is of a call is no call: a client would carry it out.
            return
        if parts := self._parts(block):
            said.parts.setdefault(block.started.choice, []).extend((ordinal, part) for part in parts)

    def _parts(self, block: _Block) -> list[JsonObject]:
        """What it is in the answer: of a sound several, nothing where it is another format's alone."""
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

    def _frame(self, said: _Said) -> bytes:
        numbers = sorted(said.parts.keys() | said.reasons.keys())
        candidates: list[JsonObject] = [
            {
                "content": {"role": "model", "parts": [part for _, part in said.parts.get(number, [])]},
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


def _mixed(
    parts: Sequence[JsonObject],
    owners: Sequence[list[int]],
    anew: Sequence[tuple[int, JsonObject]],
    touched: Set[int],
) -> list[JsonObject]:
    """Upstream's own parts, with those that are said anew in place of the ones that are not kept."""
    mixed: list[JsonObject] = []
    said: dict[int, list[JsonObject]] = {}
    for ordinal, made in anew:
        said.setdefault(ordinal, []).append(made)
    for part, ordinals in zip(parts, owners, strict=True):
        if touched.isdisjoint(ordinals):
            mixed += [part] if ordinals else []
        for ordinal in ordinals:
            mixed += said.pop(ordinal, ())
    return mixed + [made for rest in said.values() for made in rest]


def _ordinal_of(event: StreamEvent) -> int | None:
    about = BlockStarted | BlockDelta | BlockCompleted | BlockSealed
    return event.ordinal if isinstance(event, about) else None


def _is_object(text: str) -> bool:
    try:
        return isinstance(decode(text), dict)
    except ValueError:
        return False


def _payload(chunk: Chunk) -> JsonObject:
    try:
        return {} if chunk.data is None else as_object(decode(chunk.data))
    except ValueError:
        return {}


def _is_told_whole(started: BlockStarted) -> bool:
    """Whether a block is one part of an answer, and not as many as it has deltas."""
    return started.kind is BlockKind.TOOL_CALL or started.kind.is_opaque
