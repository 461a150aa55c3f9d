"""Writing Anthropic's messages: events as the frames of a message stream."""

from collections import deque
from collections.abc import Sequence

import msgspec

from streamviz.core import sse
from streamviz.core.aggregator import Chunk
from streamviz.core.call_runners import Runner, runner_of
from streamviz.core.calls import INVALID_JSON, as_arguments, is_input, made_id
from streamviz.core.composer import Composer
from streamviz.core.errors import FINAL, RESET
from streamviz.core.events import (
    CONTRADICTION,
    PROCESSING_ERROR,
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
from streamviz.core.json_value import JsonObject, encode, object_in
from streamviz.core.wire.anthropic_messages_frames import OpenBlock, delta_frames, is_streamed, start_of, written
from streamviz.core.wire.anthropic_messages_message import owner_of
from streamviz.core.wire.translation import (
    ANTHROPIC_MESSAGES,
    has_no_place_elsewhere,
    is_cut_off,
    translate_reason,
    translate_usage,
)

FINISH_WITHOUT_CALLS = {"tool_use": "end_turn"}
# Clients send a paused turn back unchanged to have it continued.
FINISH_WITHOUT_ANY = {"pause_turn": "end_turn"}
_NOT_ITS_OWN = ("upstream_error", "server_error", PROCESSING_ERROR)
# The only kind of Anthropic's that does not end in `_error`.
TOO_LARGE = "request_too_large"


def error_body(message: str, kind: str) -> JsonObject:
    """Anthropic's error object; a kind that Anthropic does not have becomes `api_error`."""
    is_its_own = kind == TOO_LARGE or (kind.endswith("_error") and kind not in _NOT_ITS_OWN)
    return {"type": "error", "error": {"type": kind if is_its_own else "api_error", "message": message}}


class MessageWriter(Composer):
    """Writes a stream of events. `head` holds the message's fields (id, model) and is read when a frame needs them.

    The format has one open block at a time, so the events of a later block wait for the end of the one before. Without
    a `source`, composed frames go out among upstream's own: the stop reason is written at once, and text after a tool
    call, which providers reject in the next turn, is left out. With a `source`, the format that the events come from,
    everything is composed: tool calls go out after all text, and `end()` writes the end.
    """

    finish_without_calls = FINISH_WITHOUT_CALLS
    finish_without_any = FINISH_WITHOUT_ANY
    finish_halted = "refusal"

    def __init__(self, head: JsonObject, source: str = "") -> None:
        self._head = head
        self._source = source
        self._blocks: dict[int, OpenBlock] = {}
        self._queue: deque[int] = deque()
        self._calls: list[int] = []
        self._open: OpenBlock | None = None
        self._next_index = 0
        self._has_begun = False
        self._has_calls = False
        self._denied: set[str] = set()
        self._began: dict[int, JsonObject] = {}
        self._is_finished = False
        self._usage: JsonObject = {}
        self._reason = ""

    def passed(self, events: Sequence[StreamEvent], chunk: Chunk | None = None) -> None:
        self._has_begun = True
        for event in events:
            match event:
                case BlockStarted():
                    self._pass_start(event, self._next_index if event.index is None else event.index)
                case BlockCompleted() | BlockSealed():
                    if (block := self._blocks.get(event.ordinal)) is not None:
                        block.is_ended = True
                        self._open = None if self._open is block else self._open
                case UsageUpdated():
                    self._usage = event.usage
                case _:
                    pass

    def denied(self, block: BlockStarted) -> None:
        if block.id:
            self._denied.add(block.id)

    def compose(self, events: Sequence[StreamEvent]) -> list[bytes]:
        frames: list[bytes] = []
        for event in events:
            frames += self._frames(event)
        if self._reason and not self._source:
            frames += self._finish()
        return frames

    def end(self) -> list[bytes]:
        """Write nothing after an error, which ends a response of this format by itself."""
        return [] if self._is_finished else [*self._finish(), written("message_stop", {})]

    def stop(self) -> list[bytes]:
        return [written("message_stop", {})]

    def keep_alive(self) -> bytes:
        return written("ping", {})

    def fail(self, failure: StreamFailed) -> bytes:
        if self.asks_again_after_errors and failure.code in FINAL:
            return b"".join(self._refusal(failure.message))
        # If an error comes first, Vercel's SDK, and with it opencode, tries again, whatever the error says.
        beginning = self._message_start() if failure.code in FINAL else []
        # Qwen Code asks again after errors with the id of a request, which Anthropic's have.
        named: JsonObject = {"request_id": made_id("req", 0, self._head)} if failure.code == RESET else {}
        body = {**error_body(failure.message, failure.kind), **named}
        return b"".join([*beginning, sse.write_event(encode(body), "error")])

    def _refusal(self, why: str) -> list[bytes]:
        """End the answer as one that a policy halted, with an error's words as its last text."""
        at = max(self._blocks, default=-1) + 1
        ended = self._end_blocks()
        told = BlockStarted(at, BlockKind.CONTENT), BlockDelta(at, f"[{why}]"), BlockSealed(at)
        said = [frame for event in told for frame in self._frames(event)]
        delta = {"stop_reason": self.finish_halted, "stop_sequence": None}
        reason = written("message_delta", {"delta": delta, "usage": {"output_tokens": 0, **self._usage}})
        return [*ended, *self._message_start(), *said, reason, *self.stop()]

    @property
    def _is_foreign(self) -> bool:
        return self._source not in ("", ANTHROPIC_MESSAGES)

    def _frames(self, event: StreamEvent) -> list[bytes]:
        if self._is_finished:
            # The format has nothing after its end or an error.
            return []
        match event:
            case BlockStarted() if event.choice == 0:
                return self._start(event)
            case BlockDelta():
                return self._grow(event)
            case BlockCompleted() | BlockSealed():
                return self._complete(event.ordinal, is_sealed=isinstance(event, BlockSealed))
            case UsageUpdated():
                self._usage = translate_usage(event.usage, self._source or ANTHROPIC_MESSAGES, ANTHROPIC_MESSAGES)
            case StreamFinished() if event.choice == 0:
                self._reason = event.reason
            case StreamFailed() if event.kind != CONTRADICTION:
                self._is_finished = True
                return [self.fail(event)]
            case _:
                pass
        return []

    def _pass_start(self, event: BlockStarted, index: int) -> OpenBlock:
        block = OpenBlock(event.kind, event.label, event.id, event.name, index)
        self._blocks[event.ordinal] = self._open = block
        self._next_index = max(self._next_index, index + 1)
        self._has_calls = self._has_calls or _is_for_client(event)
        return block

    def _start(self, event: BlockStarted) -> list[bytes]:
        is_call = event.kind is BlockKind.TOOL_CALL
        if self._is_foreign and has_no_place_elsewhere(event):
            return []
        if self._has_calls and not self._source and event.kind in (BlockKind.CONTENT, BlockKind.REFUSAL):
            return []
        self._has_calls = self._has_calls or _is_for_client(event)
        id = event.id or (made_id("toolu", event.ordinal, self._head) if is_call else "")
        label = "" if is_call and self._is_foreign else event.label
        began = self._began.get(event.ordinal, {}) if is_call else {}
        self._blocks[event.ordinal] = OpenBlock(event.kind, label, id, event.name, began=began)
        (self._calls if is_call and self._source else self._queue).append(event.ordinal)
        return self._advance()

    def _grow(self, event: BlockDelta) -> list[bytes]:
        block = self._blocks.get(event.ordinal)
        if block is None:
            return []
        if block.is_ended and block.index is not None:
            # Its end is written already: whatever still comes is a block of its own.
            block = self._blocks[event.ordinal] = OpenBlock(block.kind, block.label, block.id, block.name)
            self._queue.append(event.ordinal)
        if block is self._open and is_streamed(block):
            return delta_frames(block, event)
        block.waiting.append(event)
        return self._advance()

    def _complete(self, ordinal: int, is_sealed: bool) -> list[bytes]:
        block = self._blocks.get(ordinal)
        # A call that is complete may still grow if the format interleaves calls.
        if block is None or (block.kind is BlockKind.TOOL_CALL and not is_sealed):
            return []
        block.is_ended = True
        return self._advance()

    def _advance(self) -> list[bytes]:
        """Write what can be written now: the end of the open block, and the blocks that waited for it."""
        frames: list[bytes] = []
        while True:
            if self._open is not None:
                if not self._open.is_ended:
                    return frames
                frames += self._stop(self._open)
            if not self._queue:
                return frames
            self._open = self._blocks[self._queue.popleft()]
            if is_streamed(self._open):
                frames += self._begin(self._open)

    def _begin(self, block: OpenBlock) -> list[bytes]:
        """The start of a block, and the deltas that waited for it."""
        frames = self._message_start()
        block.index, self._next_index = self._next_index, self._next_index + 1
        frames.append(written("content_block_start", {"index": block.index, "content_block": start_of(block)}))
        if is_streamed(block):
            for delta in block.waiting:
                frames += delta_frames(block, delta)
        block.waiting = []
        return frames

    def _stop(self, block: OpenBlock) -> list[bytes]:
        self._open = None
        if block.index is None and self._is_of_denied(block):
            return []
        frames = self._begin(block) if block.index is None else []
        return [*frames, written("content_block_stop", {"index": block.index})]

    def _is_of_denied(self, block: OpenBlock) -> bool:
        """Whether it is the result of a call that the client did not get."""
        if not block.kind.is_opaque or not self._denied:
            return False
        return (
            owner_of({**object_in("".join(delta.text for delta in block.waiting)), "type": block.label}) in self._denied
        )

    def _message_start(self) -> list[bytes]:
        if self._has_begun:
            return []
        self._has_begun = True
        empty: JsonObject = {"content": [], "stop_reason": None, "stop_sequence": None}
        usage = {"input_tokens": 0, "output_tokens": 0, **self._usage}
        own = {key: value for key, value in self._head.items() if key in ("id", "model")}
        message = {"id": "", "type": "message", "role": "assistant", "model": "", **own, **empty, "usage": usage}
        return [written("message_start", {"message": message})]

    def _finish(self) -> list[bytes]:
        frames = [*self._message_start(), *self._end_blocks()]
        reason, self._reason = self._reason, ""
        if not reason or self._is_finished:
            return frames
        self._is_finished = True
        source = self._source or ANTHROPIC_MESSAGES
        stop_reason = translate_reason(reason, source, ANTHROPIC_MESSAGES, has_calls=self._has_calls)
        delta = {"stop_reason": stop_reason, "stop_sequence": self._head.get("stop_sequence")}
        usage = {"output_tokens": 0, **self._usage}
        return [*frames, written("message_delta", {"delta": delta, "usage": usage})]

    def _end_blocks(self) -> list[bytes]:
        self._queue += (ordinal for ordinal in self._calls if self._can_tell(self._blocks[ordinal]))
        self._calls = []
        for block in self._blocks.values():
            block.is_ended = True
        return self._advance()

    def _can_tell(self, call: OpenBlock) -> bool:
        """Whether the client gets this call. In other formats arguments may be anything; in this one they are an
        object. A call that was cut off is left out, as clients would run it with what there is."""
        text = "".join(delta.text for delta in call.waiting)
        if not self._is_foreign or is_input(text):
            return True
        if not self._reason or is_cut_off(self._reason, self._source):
            return False
        if text:
            call.waiting = [msgspec.structs.replace(delta, text="") for delta in call.waiting]
            call.waiting.append(BlockDelta(0, as_arguments({INVALID_JSON: text})))
        return True


def _is_for_client(event: BlockStarted) -> bool:
    return event.kind is BlockKind.TOOL_CALL and runner_of(event.label) is Runner.CLIENT
