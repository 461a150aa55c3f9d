"""Writing Anthropic's messages, with upstream's own frames among composed ones.

Blocks that no verdict changes keep upstream's frames, each reduced to the members it is known to have.
"""

from collections.abc import Sequence, Set

from streamviz.core import sse
from streamviz.core.aggregator import Chunk
from streamviz.core.events import (
    BlockCompleted,
    BlockDelta,
    BlockSealed,
    BlockStarted,
    StreamEvent,
    StreamFinished,
    UsageUpdated,
)
from streamviz.core.json_value import JsonObject, as_object, as_text, encode, object_in
from streamviz.core.wire.anthropic_messages_calls import kept_of
from streamviz.core.wire.anthropic_messages_frames import OpenBlock, written
from streamviz.core.wire.anthropic_messages_message import owner_of, parts_of
from streamviz.core.wire.anthropic_messages_writer import MessageWriter

# The members carried over from each event; any other might repeat what was changed.
_CARRIED = {
    "message_start": frozenset({"type", "message"}),
    "content_block_start": frozenset({"type", "index", "content_block"}),
    "content_block_delta": frozenset({"type", "index", "delta"}),
    "content_block_stop": frozenset({"type", "index"}),
    "message_delta": frozenset({"type", "delta", "usage", "context_management"}),
}
_MESSAGE_FIELDS = frozenset("id type role model stop_sequence stop_details container context_management usage".split())
_END_FIELDS = frozenset({"stop_reason", "stop_sequence", "stop_details", "container"})


class AnthropicMessagesComposer(MessageWriter):
    """Writes what verdicts change, and carries over the other frames."""

    markers = frozenset({"message_stop", "ping"})

    def keeps(self, chunk: Chunk) -> bool:
        # The payload's own type comes first, as when it is read; some gateways send no event names.
        return chunk.data is None or _word(chunk.data, chunk.name) in self.markers

    def carry(self, chunk: Chunk, events: Sequence[StreamEvent]) -> list[bytes] | None:
        if self._source or self._is_finished or chunk.data is None:
            return None
        payload = object_in(chunk.data)
        match as_text(payload.get("type")) or chunk.name:
            case "message_start":
                return self._carry_beginning(chunk, payload, events)
            case "content_block_start":
                return self._carry_start(chunk, payload, events)
            case "content_block_delta":
                return self._carry_delta(chunk, payload, events)
            case "content_block_stop":
                return self._carry_stop(chunk, payload, events)
            case "message_delta":
                return self._carry_end(chunk, payload, events)
            case _:
                return None

    def carry_part(
        self, chunk: Chunk, read: Sequence[StreamEvent], said: Sequence[StreamEvent], touched: Set[int]
    ) -> list[bytes] | None:
        """Only the first event of a message can hold several blocks."""
        payload = object_in(chunk.data)
        message = as_object(payload.get("message"))
        started = [event for event in read if isinstance(event, BlockStarted)]
        parts = parts_of(message.get("content")) or [as_object(payload.get("content_block") or payload.get("delta"))]
        self._began.update((event.ordinal, kept_of(part)) for event, part in zip(started, parts, strict=False))
        if self._source or self._has_begun or not message.get("content"):
            return None
        self._has_begun = True
        head = {key: value for key, value in message.items() if key in _MESSAGE_FIELDS}
        frames = [_own(chunk, payload, {"message": {**head, "content": [], "stop_reason": None}})]
        changed: dict[int, list[StreamEvent]] = {ordinal: [] for ordinal in touched}
        for event in said:
            if isinstance(event, BlockStarted | BlockDelta | BlockCompleted | BlockSealed) and event.ordinal in changed:
                changed[event.ordinal].append(event)
        for event, part in zip(started, parts, strict=False):
            frames += self._begin_part(event, part, changed.get(event.ordinal))
        return frames + self.compose([event for event in said if isinstance(event, UsageUpdated | StreamFinished)])

    def _carry_beginning(self, chunk: Chunk, payload: JsonObject, events: Sequence[StreamEvent]) -> list[bytes] | None:
        if self._has_begun or any(isinstance(event, BlockStarted) for event in events):
            return None
        self._has_begun = True
        self._note_usage(events)
        return [_own(chunk, payload, {})]

    def _begin_part(self, event: BlockStarted, part: JsonObject, changed: Sequence[StreamEvent] | None) -> list[bytes]:
        """Begin a block that came with the message, or write what it was changed to; the block before it is over."""
        if self._open is not None:
            self._open.is_ended = True
        frames = self._advance()
        if changed is not None:
            return [*frames, *self.compose(changed)]
        if owner_of(part) in self._denied:
            return frames
        block = self._pass_start(event, self._next_index)
        return [*frames, written("content_block_start", {"index": block.index, "content_block": part})]

    def _carry_start(self, chunk: Chunk, payload: JsonObject, events: Sequence[StreamEvent]) -> list[bytes] | None:
        started = [event for event in events if isinstance(event, BlockStarted)]
        if len(started) != 1:
            return None
        [event] = started
        at = events.index(event)
        # The end of a block whose stop event was left out.
        frames = self.compose(events[:at])
        if owner_of(as_object(payload.get("content_block"))) in self._denied:
            return frames
        if self._open is not None:
            return [*frames, *self.compose(events[at:])]
        frames += self._message_start()
        block = self._pass_start(event, self._next_index)
        return [*frames, _own(chunk, payload, {"index": block.index})]

    def _carry_delta(self, chunk: Chunk, payload: JsonObject, events: Sequence[StreamEvent]) -> list[bytes] | None:
        ordinals = {event.ordinal if isinstance(event, BlockDelta) else None for event in events}
        ordinal = ordinals.pop() if len(ordinals) == 1 else None
        if ordinal is None:
            return None
        block = self._blocks.get(ordinal)
        if block is None:
            return []
        return [_own(chunk, payload, {"index": block.index})] if self._is_out(block) else None

    def _carry_stop(self, chunk: Chunk, payload: JsonObject, events: Sequence[StreamEvent]) -> list[bytes] | None:
        sealed = [event.ordinal for event in events if isinstance(event, BlockSealed)]
        block = self._blocks.get(sealed[0]) if len(sealed) == 1 else None
        if block is None or not self._is_out(block):
            return None
        block.is_ended, self._open = True, None
        return [_own(chunk, payload, {"index": block.index})]

    def _carry_end(self, chunk: Chunk, payload: JsonObject, events: Sequence[StreamEvent]) -> list[bytes] | None:
        self._note_usage(events)
        reason = next((event.reason for event in events if isinstance(event, StreamFinished)), "")
        end = {key: value for key, value in as_object(payload.get("delta")).items() if key in _END_FIELDS}
        if not reason:
            return [*self._message_start(), _own(chunk, payload, {"delta": end})]
        frames = [*self._message_start(), *self._end_blocks()]
        self._is_finished = True
        return [*frames, _own(chunk, payload, {"delta": {**end, "stop_reason": reason}})]

    def _is_out(self, block: OpenBlock) -> bool:
        """Whether the client has the start of the block but not its end."""
        return block is self._open and block.index is not None

    def _note_usage(self, events: Sequence[StreamEvent]) -> None:
        for event in events:
            if isinstance(event, UsageUpdated):
                self._usage = event.usage


def _own(chunk: Chunk, payload: JsonObject, fields: JsonObject) -> bytes:
    """Upstream's own frame with `fields` corrected; its exact bytes if that changes nothing."""
    word = as_text(payload.get("type")) or chunk.name
    carried = {key: value for key, value in {**payload, **fields}.items() if key in _CARRIED[word]}
    return chunk.raw if carried == payload else sse.write_event(encode(carried), chunk.name)


def _word(data: bytes, name: str) -> str:
    """The type of an event by its payload, or else by its name."""
    return as_text(object_in(data).get("type")) or name
