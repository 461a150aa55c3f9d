"""Writing Gemini's generateContent: events as chunks in the shape of the whole answer.

Blocks that no verdict changes keep upstream's own parts: a call goes out with the signature that the provider wants
back with it.
"""

from collections.abc import Mapping, Sequence, Set
from typing import ClassVar

from streamviz.core import sse
from streamviz.core.aggregator import Chunk
from streamviz.core.errors import FINAL
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
)
from streamviz.core.json_value import JsonObject, encode, index_of, object_in, objects
from streamviz.core.wire.gemini_errors import error_of
from streamviz.core.wire.gemini_kept import kept_candidate, kept_top, mixed
from streamviz.core.wire.gemini_parts import owners_of, parts_of
from streamviz.core.wire.gemini_writer import GeminiWriter, Said, WrittenBlock
from streamviz.core.wire.thought_signatures import is_signed_part, sign_part
from streamviz.core.wire.translation import GEMINI, translate_reason, translate_usage

FINISH_HALTED = "SAFETY"
_MALFORMED = "MALFORMED_FUNCTION_CALL"


class GeminiComposer(GeminiWriter):
    """Writes a stream. `head` holds the members beside the candidates, and is read again for each frame.

    `source` is the format that the events come from. If it is another format, everything is composed, and `end()`
    writes why the candidates ended, with the usage.
    """

    finish_without_calls: ClassVar[Mapping[str, str]] = {}
    finish_halted = FINISH_HALTED

    def __init__(self, head: JsonObject, source: str = GEMINI) -> None:
        super().__init__(head, source)
        self._changed: set[int] = set()
        # The candidates in which the signature of a call was lost.
        self._unsigned: set[int] = set()
        self._last = Said()
        self._has_failed = False

    def passed(self, events: Sequence[StreamEvent], chunk: Chunk | None = None) -> None:
        self._note(events)
        for event in events:
            if isinstance(event, BlockStarted):
                self._blocks[event.ordinal] = WrittenBlock(event, is_written=True)

    def carry(self, chunk: Chunk, events: Sequence[StreamEvent]) -> list[bytes] | None:
        return self.carry_part(chunk, events, events, frozenset())

    def carry_part(
        self, chunk: Chunk, read: Sequence[StreamEvent], said: Sequence[StreamEvent], touched: Set[int]
    ) -> list[bytes] | None:
        self._note(read)
        self._changed |= {self._choices[ordinal] for ordinal in touched}
        payload = object_in(chunk.data)
        if self._is_translating or "candidates" not in payload or any(isinstance(each, StreamFailed) for each in read):
            return None
        candidates = objects(payload["candidates"])
        owners = owners_of(candidates, read)
        if owners is None and touched:
            return None
        own = self._carried(payload, candidates, owners or [], said, touched)
        return [chunk.raw if own == payload else sse.write_event(encode(own))]

    def denied(self, block: BlockStarted) -> None:
        if block.kind is BlockKind.TOOL_CALL:
            self._denied.add(block.ordinal, block.label, block.id)

    def compose(self, events: Sequence[StreamEvent]) -> list[bytes]:
        for event in events:
            if isinstance(event, BlockStarted):
                self._denied.begin(event.ordinal, event.choice, event.label)
        said = self._said(events)
        failures = [each for each in events if isinstance(each, StreamFailed) and each.kind != CONTRADICTION]
        if self._is_translating:
            self._keep_back(said)
        frames = [self._frame(said)] if said.parts or said.reasons or said.usage is not None else []
        return frames + [self.fail(failure) for failure in failures]

    def end(self) -> list[bytes]:
        last, self._last = self._last, Said()
        is_open = (last.reasons or last.usage is not None) and not self._has_failed
        return [self._frame(last)] if is_open else []

    def keep_alive(self) -> bytes:
        # Google's client takes a comment for data. Empty lines that end no event mean nothing to any client but
        # Google's first SDK for Node, which stops there: it gets an answer without candidates.
        return sse.write_event(b"{}") if self.reads_events_alone else b"\n\n"

    def fail(self, failure: StreamFailed) -> bytes:
        self._has_failed = True
        if self.asks_again_after_errors and failure.code in FINAL:
            # End the answer as one that a policy halted, with the error's words as its last text.
            return self._frame(Said({0: [(-1, {"text": f"[{failure.message}]"})]}, {0: self.finish_halted}))
        error = encode(error_of(failure))
        return error + b"\n\n" if self.has_bare_errors else sse.write_event(error)

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
        """A chunk's payload with what is left of it. A rewritten block stands where its first part did."""
        anew = self._said([event for event in said if _ordinal_of(event) in touched])
        reasons = {event.choice: event.reason for event in said if isinstance(event, StreamFinished)}
        self.passed([event for event in said if isinstance(event, BlockStarted) and event.ordinal not in touched])
        carried: list[JsonObject] = []
        for position, candidate in enumerate(candidates):
            number = index_of(candidate, position)
            kept = kept_candidate(candidate, reasons.get(number), number in self._changed)
            own = parts_of(candidate)
            of = owners[position] if owners else [[] for _ in own]
            left = [pair for pair in zip(own, of, strict=True) if not self._denied.takes(number, *pair)]
            self._unsigned |= {number for part, each in left if is_signed_part(part) and not touched.isdisjoint(each)}
            if touched or len(left) < len(own) or number in self._unsigned:
                parts = mixed(left, anew.parts.get(number, []), touched) if touched else [part for part, _ in left]
                kept["content"] = {"role": "model", "parts": self._signed(number, parts) or [{"text": ""}]}
            elif "content" in candidate:
                kept["content"] = candidate["content"]
            carried.append(kept)
        return {**kept_top(payload, bool(self._changed)), "candidates": carried}

    def _signed(self, number: int, parts: list[JsonObject]) -> list[JsonObject]:
        """Sign the first call after one whose signature was lost: it has to have a signature."""
        if number not in self._unsigned or not any("functionCall" in part for part in parts):
            return parts
        self._unsigned.discard(number)
        return sign_part(parts)

    def _keep_back(self, said: Said) -> None:
        """Keep finish reasons back, to write them with the usage, which other formats send after them."""
        for choice, reason in said.reasons.items():
            has_calls = any(
                block.started.kind is BlockKind.TOOL_CALL and block.started.choice == choice
                for block in self._blocks.values()
            )
            word = translate_reason(reason, self._source, GEMINI, has_calls=has_calls)
            self._last.reasons[choice] = _MALFORMED if word == "STOP" and choice in self._untold else word
        if said.usage is not None:
            self._last.usage = translate_usage(said.usage, self._source, GEMINI)
        said.reasons, said.usage = {}, None


def _ordinal_of(event: StreamEvent) -> int | None:
    about = BlockStarted | BlockDelta | BlockCompleted | BlockSealed
    return event.ordinal if isinstance(event, about) else None
