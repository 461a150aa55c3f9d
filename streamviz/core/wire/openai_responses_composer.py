"""Writing OpenAI's responses: events as the frames of a response stream, among upstream's own frames."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import ClassVar

from msgspec.structs import replace

from streamviz.core import sse
from streamviz.core.aggregator import DONE, Aggregator, Chunk
from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.calls import is_input
from streamviz.core.errors import FINAL
from streamviz.core.events import (
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
from streamviz.core.json_value import JsonObject, as_index, as_object, as_text, encode
from streamviz.core.wire.openai_responses import OpenAIResponsesAggregator
from streamviz.core.wire.openai_responses_frames import id_in, says_nothing, tells_items
from streamviz.core.wire.openai_responses_items import Frame, OutputBlock, OutputItem, add, begin, close, end, grow
from streamviz.core.wire.openai_responses_parts import is_speech
from streamviz.core.wire.openai_responses_places import (
    continues,
    in_own_words,
    is_beside_call,
    is_carried,
    is_in_place,
    type_of,
)
from streamviz.core.wire.openai_responses_whole import FINISH_WITHOUT_CALLS, HALTED, ResponseWriter
from streamviz.core.wire.translation import OPENAI_RESPONSES, is_cut_off, translate_usage


class OpenAIResponsesComposer(ResponseWriter):
    """Writes a stream.

    `head` holds the response's fields (id, created_at, model), and is read again for each frame. Without a `source`,
    composed frames follow upstream's own, which are carried over if nothing in them changes; the response ends with
    upstream's. With a `source`, the format that the events come from, everything is composed, and `end()` writes the
    end.
    """

    finish_without_calls: ClassVar[Mapping[str, str]] = FINISH_WITHOUT_CALLS
    finish_halted = HALTED

    # What the client gets as upstream's own

    def passed(self, events: Sequence[StreamEvent], chunk: Chunk | None = None) -> None:
        self._count(chunk)
        self._has_begun = True
        if chunk is not None and tells_items(events, chunk):
            self._look_at(self._decode(chunk))
        self._follow(events)
        self._look_away()

    def catch_up(self, aggregator: Aggregator[Chunk, JsonObject], last: Chunk) -> None:
        if isinstance(aggregator, OpenAIResponsesAggregator):
            for place, details in aggregator.items.items():
                self._places[place] = self._add_item(as_text(details.get("type")), place, details, is_added=True)
        super().catch_up(aggregator, last)
        for item in self._items:
            item.is_whole = item.is_done = bool(item.blocks) and not item.open
        number = as_index(self._decode(last).get("sequence_number"))
        self._next_number = last.seq + 1 if number is None else number + 1

    def carry(self, chunk: Chunk, events: Sequence[StreamEvent]) -> list[bytes] | None:
        payload = self._decode(chunk)
        if self._source or not payload:
            return None
        self._is_rewriting = True
        self._look_at(payload)
        frames = self._carry(payload, events)
        self._look_away()
        if frames is None:
            return self._compose_for(chunk, events, frozenset())
        return [self._rewritten(chunk, payload, frame) for frame in frames]

    def _carry(self, payload: JsonObject, events: Sequence[StreamEvent]) -> list[JsonObject] | None:
        if "response" in payload:
            self._follow(events)
            return [self._response_frame(payload)]
        item = self._at_hand or self._item_of(events)
        if item is not None and item.type == "message" and not is_in_place(item, payload, events):
            return None
        item = self._follow(events) or item
        if item is None:
            return [payload] if says_nothing(payload) else []
        named = self._by_id.get(id_in(payload), item)
        # Its place may be another item's: a reader that goes by the id takes it for what was changed.
        if item.is_gone or not is_carried(item, payload) or (named is not item and named.is_ours):
            return []
        self._has_begun = True
        return [{**payload, "output_index": item.place} if "output_index" in payload else payload]

    def _rewritten(self, chunk: Chunk, payload: JsonObject, frame: JsonObject) -> bytes:
        number, self._next_number = self._next_number, self._next_number + 1
        told = {**frame, "sequence_number": number}
        return chunk.raw if told == payload else sse.write_event(encode(told), chunk.name)

    # What is composed

    def carry_part(
        self, chunk: Chunk, read: Sequence[StreamEvent], said: Sequence[StreamEvent], touched: Set[int]
    ) -> list[bytes] | None:
        return None if self._source else self._compose_for(chunk, said, touched)

    def denied(self, block: BlockStarted) -> None:
        if not is_speech(block.kind, block.label):
            self._gone.add(block.id)
        elif block.index is not None:
            self._silenced.add(block.index)
            item = self._places.get(block.index)
            for held in () if item is None else item.blocks:
                self._mark(held)

    def leave_out(self, blocks: Iterable[StreamBlock], said: Iterable[StreamEvent]) -> None:
        """Note which of upstream's blocks are not `said`, not even changed: of their items the client gets only the
        others. The last words before a halt have no place in upstream's output."""
        begun = {event.ordinal for event in said if isinstance(event, BlockStarted) and event.index is not None}
        for block in blocks:
            item = None if block.index is None or block.ordinal in begun else self._places.get(block.index)
            if item is not None:
                item.is_ours = True

    def _compose_for(self, chunk: Chunk, events: Sequence[StreamEvent], changed: Set[int]) -> list[bytes]:
        """Compose what replaces a chunk; blocks that are not `changed` keep upstream's items and parts."""
        self._is_rewriting = True
        self._look_at(self._decode(chunk))
        self._changed = changed
        if (item := self._at_hand) is not None and item.type == "message":
            self._note_gone(as_object(self._payload.get("item")))
        return self.compose(events)

    def compose(self, events: Sequence[StreamEvent]) -> list[bytes]:
        self._is_cut_off = self._is_foreign and any(map(self._ends_early, events))
        # With a source it is upstream's filter that ends the answer, and nothing says why.
        self._last_word = None if self._source else _last_word_in(events)
        frames = [self._write(frame) for event in events for frame in self._frames(event)]
        if self._reason and not self._source:
            frames += self.end()
        self._look_away()
        return frames

    def end(self) -> list[bytes]:
        return [self._write(frame) for frame in self._finish()]

    def keep_alive(self) -> bytes:
        """OpenAI's own event: Codex gives up on a stream without one for 5 minutes, and a comment does not count. SDKs
        accept none before the response is created. If upstream's frames may follow, it repeats the last number."""
        if not self._has_begun and not self.counts_events:
            return sse.KEEP_ALIVE
        if self._source:
            return self._write(("keepalive", {}))
        number = max(0, self._next_number - 1)
        return sse.write_event(encode({"type": "keepalive", "sequence_number": number}), "keepalive")

    def fail(self, failure: StreamFailed) -> bytes:
        self._look_away()
        if self.asks_again_after_errors and failure.code in FINAL:
            return self._refusal(failure.message)
        self._failure, self._reason, self._source = failure, "failed", OPENAI_RESPONSES
        error = [self._write(frame) for frame in self._error(failure)]
        return b"".join([*error, *self.end()])

    def _refusal(self, why: str) -> bytes:
        """End the answer as one that a policy halted, with an error's words as its last text."""
        at = max(self._blocks, default=-1) + 1
        said = BlockStarted(at, BlockKind.CONTENT), BlockDelta(at, f"[{why}]"), BlockSealed(at)
        return b"".join(self.compose([*said, StreamFinished(self.finish_halted)]))

    def _count(self, chunk: Chunk | None) -> None:
        """Keep up with upstream's sequence numbers, which composed frames continue."""
        if chunk is not None and (chunk.data is None or chunk.data.startswith(DONE)):
            return
        if chunk is not None and not self._has_begun:
            self._next_number = as_index(self._decode(chunk).get("sequence_number")) or 0
        self._next_number += 1

    def _frames(self, event: StreamEvent) -> Iterator[Frame]:
        match event:
            case BlockStarted() if event.choice == 0 and not self._is_finished:
                yield from self._start(event)
            case BlockDelta() if (held := self._blocks.get(event.ordinal)) is not None:
                yield from self._grow(held, event)
            case BlockCompleted() | BlockSealed() if (held := self._blocks.get(event.ordinal)) is not None:
                held.is_cut = held.is_cut or (isinstance(event, BlockCompleted) and event.truncated)
                yield from self._complete(held, isinstance(event, BlockSealed))
            case UsageUpdated():
                self._usage = translate_usage(event.usage, self._source or OPENAI_RESPONSES, OPENAI_RESPONSES)
            case StreamFinished() if event.choice == 0:
                self._reason = event.reason
            case StreamFailed():
                self._failure = event
                yield from self._error(event)
            case _:
                pass

    def _start(self, event: BlockStarted) -> Iterator[Frame]:
        own = in_own_words(event) if self._is_foreign else event
        if own is None or self._is_of_none(own):
            return
        namespace, name = self.namespaces.get(own.name, ("", own.name))
        own = replace(own, name=name) if namespace else own
        yield from self._begin()
        if event.ordinal == self._last_word:
            yield from self._break_off()
        self._has_calls = self._has_calls or own.kind is BlockKind.TOOL_CALL
        item = None if self._is_foreign or own.index is None else self._places.get(own.index)
        if item is None or not continues(item, own):
            if self._source:
                yield from self._settle()
            item = self._new_item(own) if item is None or not is_beside_call(item, own) else self._item_beside(item)
            item.told = {"namespace": namespace} if namespace else item.told
        held = self._hold(own, item)
        self._mark(held)
        if not item.is_gone:
            yield from begin(held)

    def _mark(self, held: OutputBlock) -> None:
        """Note whether the client gets the block changed; without a chunk nothing is upstream's."""
        index = held.block.index
        is_changed = self._changed is None or held.block.ordinal in self._changed
        if is_changed or index is None or index in self._silenced:
            held.is_ours = held.item.is_ours = True

    def _new_item(self, event: BlockStarted) -> OutputItem:
        if self._is_foreign or event.index is None:
            return self._add_item(type_of(event), None, {})
        wire, details = self._next_fresh(event, event.index)
        type = as_text(details.get("type"))
        if event.kind is not BlockKind.TOOL_CALL:
            self._note_gone(details)
        if type != "message" and not (event.kind is BlockKind.TOOL_CALL or event.kind.is_opaque):
            type = type_of(event)
        item = self._places[event.index] = self._add_item(type, wire, details)
        return item

    def _item_beside(self, call: OutputItem) -> OutputItem:
        """The message that says why the client does not get what a call made."""
        call.is_ours = True
        return self._add_item("message", None, {})

    def _grow(self, held: OutputBlock, delta: BlockDelta) -> Iterator[Frame]:
        if held.item.is_gone:
            return
        if held.is_ended:
            # Its end is written already: whatever still comes is a block of its own.
            block = held.block
            yield from self._start(BlockStarted(block.ordinal, block.kind))
            held = self._blocks[delta.ordinal]
        self._mark(held)
        yield from grow(held, delta)

    def _complete(self, held: OutputBlock, is_sealed: bool) -> Iterator[Frame]:
        if held.item.is_gone:
            return
        # A call that is complete may still grow if the format interleaves calls.
        if is_sealed or held.block.kind is not BlockKind.TOOL_CALL:
            block = held.block
            is_empty_call = isinstance(block, ToolCallStreamBlock) and not block.length and not block.is_free_text
            if self._is_foreign and is_empty_call and not self._is_cut_off:
                # Clients of this format read the arguments as JSON even if there are none.
                yield from grow(held, BlockDelta(held.block.ordinal, "{}"))
            yield from end(held)
        if is_sealed and not held.item.open:
            yield from self._close(held.item)

    def _close(self, item: OutputItem) -> Iterator[Frame]:
        if self._payload:
            self._tell(item)
        is_part = self._is_cut_off and any(map(_is_part_of_call, item.blocks))
        yield from close(item, "incomplete" if is_part else "completed")

    def _ends_early(self, event: StreamEvent) -> bool:
        """Whether the answer ends here before the model was done: an incomplete call is then marked as such."""
        if isinstance(event, StreamFinished):
            return is_cut_off(event.reason, self._source)
        return isinstance(event, BlockCompleted) and event.truncated

    def _settle(self) -> Iterator[Frame]:
        """The frames due for the last item before the next begins: its start or, with no block open, its end."""
        if self._items:
            last = self._items[-1]
            yield from add(last) if last.open else close(last)

    def _write(self, frame: Frame) -> bytes:
        name, fields = frame
        number, self._next_number = self._next_number, self._next_number + 1
        return sse.write_event(encode({"type": name, **fields, "sequence_number": number}), name)


def _last_word_in(events: Sequence[StreamEvent]) -> int | None:
    """The block that says which policy halts the answer, if these events halt it."""
    if not any(isinstance(event, StreamFinished) and event.reason == HALTED for event in events):
        return None
    return max((event.ordinal for event in events if isinstance(event, BlockStarted)), default=None)


def _is_part_of_call(held: OutputBlock) -> bool:
    """Whether a block is only a part of a call. Free text does not show that: `is_cut` says so."""
    block = held.block
    is_free = isinstance(block, ToolCallStreamBlock) and block.is_free_text
    return held.is_cut if is_free else isinstance(block, ToolCallStreamBlock) and not is_input(block.text)
