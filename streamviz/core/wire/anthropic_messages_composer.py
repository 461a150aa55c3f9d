"""Writing Anthropic's messages: events as the frames of a message stream, or as one `message`."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from streamviz.core import sse
from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamState
from streamviz.core.composer import Composer
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
from streamviz.core.json_value import JsonObject, as_object, as_text, decode, encode, objects
from streamviz.core.wire.anthropic_messages import KINDS
from streamviz.core.wire.anthropic_messages_message import other_part, part_of
from streamviz.core.wire.translation import ANTHROPIC_MESSAGES, translate_reason, translate_usage

FINISH_WITHOUT_CALLS = {"tool_use": "end_turn"}
# How each kind of block begins, and the delta that it grows by.
_EMPTY: dict[BlockKind, JsonObject] = {
    BlockKind.CONTENT: {"type": "text", "text": ""},
    BlockKind.REFUSAL: {"type": "text", "text": ""},
    BlockKind.THINKING: {"type": "thinking", "thinking": "", "signature": ""},
}
_DELTAS = {
    BlockKind.CONTENT: ("text_delta", "text"),
    BlockKind.REFUSAL: ("text_delta", "text"),
    BlockKind.THINKING: ("thinking_delta", "thinking"),
    BlockKind.TOOL_CALL: ("input_json_delta", "partial_json"),
}


def error_body(message: str, kind: str) -> JsonObject:
    """Anthropic's error object; a kind that is none of its own becomes `api_error`."""
    known = kind if kind.endswith("_error") and kind != "upstream_error" else "api_error"
    return {"type": "error", "error": {"type": known, "message": message}}


@dataclass(slots=True)
class _Block:
    """A block that the client gets. `index` is None until its start is written; what comes before that waits."""

    kind: BlockKind
    label: str
    id: str
    name: str
    index: int | None = None
    waiting: list[BlockDelta] = field(default_factory=list)
    is_ended: bool = False


class AnthropicMessagesComposer(Composer):
    """Writes a stream. `head` holds the message's fields (id, model) and is read anew for each frame.

    The format has one open block at a time, so what belongs to a later block waits for the end of the one before.
    Without a `source`, what is composed stands between upstream's own frames: its stop reason goes out at once, and
    text behind a tool call, which providers reject in the next turn, is left out. With a `source`, the format that
    the events come from, all is composed: tool calls go out behind all text, and `end()` writes the end.
    """

    finish_without_calls = FINISH_WITHOUT_CALLS
    finish_halted = "refusal"
    markers = frozenset({"message_stop", "ping"})

    def __init__(self, head: JsonObject, source: str = "") -> None:
        self._head = head
        self._source = source
        self._blocks: dict[int, _Block] = {}
        self._queue: deque[int] = deque()
        self._calls: list[int] = []
        self._open: _Block | None = None
        self._next_index = 0
        self._has_begun = False
        self._has_calls = False
        self._is_finished = False
        self._usage: JsonObject = {}
        self._reason = ""

    def passed(self, events: Sequence[StreamEvent], chunk: Chunk | None = None) -> None:
        self._has_begun = True
        for event in events:
            match event:
                case BlockStarted():
                    self._pass_start(event)
                case BlockCompleted() | BlockSealed():
                    if (block := self._blocks.get(event.ordinal)) is not None:
                        block.is_ended = True
                        self._open = None if self._open is block else self._open
                case UsageUpdated():
                    self._usage = event.usage
                case _:
                    pass

    def keeps(self, chunk: Chunk) -> bool:
        # By the payload's own word where it has one, as it is read; some gateways send no names.
        return chunk.data is None or _word(chunk.data, chunk.name) in self.markers

    def compose(self, events: Sequence[StreamEvent]) -> list[bytes]:
        frames: list[bytes] = []
        for event in events:
            frames += self._frames(event)
        if self._reason and not self._source:
            frames += self._finish()
        return frames

    def end(self) -> list[bytes]:
        """Nothing after an error, which ends a response of this format by itself."""
        return [] if self._is_finished else [*self._finish(), _write("message_stop", {})]

    def stop(self) -> list[bytes]:
        return [_write("message_stop", {})]

    def keep_alive(self) -> bytes:
        return _write("ping", {})

    def fail(self, failure: StreamFailed) -> bytes:
        return sse.write_event(encode(error_body(failure.message, failure.kind)), "error")

    def _frames(self, event: StreamEvent) -> list[bytes]:
        if self._is_finished:
            # The format has nothing behind its end, nor behind an error.
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
            case StreamFailed():
                self._is_finished = True
                return [self.fail(event)]
            case _:
                pass
        return []

    def _pass_start(self, event: BlockStarted) -> None:
        index = self._next_index if event.index is None else event.index
        block = _Block(event.kind, event.label, event.id, event.name, index)
        self._blocks[event.ordinal] = self._open = block
        self._next_index = max(self._next_index, index + 1)
        self._has_calls = self._has_calls or event.kind is BlockKind.TOOL_CALL

    def _start(self, event: BlockStarted) -> list[bytes]:
        is_foreign = self._source not in ("", ANTHROPIC_MESSAGES)
        if event.kind is BlockKind.OTHER and is_foreign:
            # Another format's own kinds have no place in this one.
            return []
        is_call = event.kind is BlockKind.TOOL_CALL
        if self._has_calls and not self._source and event.kind in (BlockKind.CONTENT, BlockKind.REFUSAL):
            return []
        self._has_calls = self._has_calls or is_call
        id = event.id or (f"toolu_{event.ordinal}" if is_call else "")
        self._blocks[event.ordinal] = _Block(event.kind, event.label, id, event.name)
        (self._calls if is_call and self._source else self._queue).append(event.ordinal)
        return self._advance()

    def _grow(self, event: BlockDelta) -> list[bytes]:
        block = self._blocks.get(event.ordinal)
        if block is None:
            return []
        if block.is_ended and block.index is not None:
            # Its end was written; what still came is a block of its own.
            block = self._blocks[event.ordinal] = _Block(block.kind, block.label, block.id, block.name)
            self._queue.append(event.ordinal)
        if block is self._open and _is_streamed(block):
            return _delta_frames(block, event)
        block.waiting.append(event)
        return self._advance()

    def _complete(self, ordinal: int, is_sealed: bool) -> list[bytes]:
        block = self._blocks.get(ordinal)
        # A call that is complete may still grow where the format interleaves calls.
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
            if _is_streamed(self._open):
                frames += self._begin(self._open)

    def _begin(self, block: _Block) -> list[bytes]:
        """The start of a block, and what waited for it."""
        frames = self._message_start()
        block.index, self._next_index = self._next_index, self._next_index + 1
        frames.append(_write("content_block_start", {"index": block.index, "content_block": _start_of(block)}))
        if _is_streamed(block):
            for delta in block.waiting:
                frames += _delta_frames(block, delta)
        block.waiting = []
        return frames

    def _stop(self, block: _Block) -> list[bytes]:
        frames = self._begin(block) if block.index is None else []
        self._open = None
        return [*frames, _write("content_block_stop", {"index": block.index})]

    def _message_start(self) -> list[bytes]:
        if self._has_begun:
            return []
        self._has_begun = True
        empty: JsonObject = {"content": [], "stop_reason": None, "stop_sequence": None}
        usage = {"input_tokens": 0, "output_tokens": 0, **self._usage}
        own = {key: value for key, value in self._head.items() if key in ("id", "model")}
        message = {"id": "", "type": "message", "role": "assistant", "model": "", **own, **empty, "usage": usage}
        return [_write("message_start", {"message": message})]

    def _finish(self) -> list[bytes]:
        frames = self._message_start()
        self._queue += self._calls
        self._calls = []
        for block in self._blocks.values():
            block.is_ended = True
        frames += self._advance()
        reason, self._reason = self._reason, ""
        if not reason or self._is_finished:
            return frames
        self._is_finished = True
        source = self._source or ANTHROPIC_MESSAGES
        stop_reason = translate_reason(reason, source, ANTHROPIC_MESSAGES, has_calls=self._has_calls)
        delta = {"stop_reason": stop_reason, "stop_sequence": self._head.get("stop_sequence")}
        usage = {"output_tokens": 0, **self._usage}
        return [*frames, _write("message_delta", {"delta": delta, "usage": usage})]


class AnthropicMessagesBodyComposer(Composer):
    """Writes a whole answer anew from upstream's own, `body`, keeping every field that policies do not touch."""

    finish_without_calls = FINISH_WITHOUT_CALLS
    finish_halted = "refusal"

    def __init__(self, body: JsonObject) -> None:
        self._body = body

    def passed(self, events: Sequence[StreamEvent], chunk: Chunk | None = None) -> None:
        """Nothing follows an answer that went through whole."""

    def compose(self, events: Sequence[StreamEvent]) -> list[bytes]:
        if not any(isinstance(event, BlockStarted) for event in events):
            # The body came as one chunk; these are what the end of input adds.
            return []
        state = StreamState()
        for event in events:
            state.apply(event)
        reason = state.finish_reason or self._body.get("stop_reason")
        return [encode({**self._body, "content": self._content(state), "stop_reason": reason})]

    def keep_alive(self) -> bytes:
        # White space before a JSON value means nothing.
        return b" "

    def fail(self, failure: StreamFailed) -> bytes:
        return encode(error_body(failure.message, failure.kind))

    def _content(self, state: StreamState) -> list[JsonObject]:
        content: list[JsonObject] = []
        has_calls = False
        for block, part in zip(state.blocks, objects(self._body.get("content")), strict=False):
            if block.kind is KINDS.get(as_text(part.get("type")), BlockKind.OTHER):
                has_calls = has_calls or block.kind is BlockKind.TOOL_CALL
                content.append(part if block.kind is BlockKind.OTHER else part_of(block, part))
            elif not has_calls:
                # Providers reject text behind a tool call in the next turn.
                content.append({"type": "text", "text": block.text})
        return content


def _is_streamed(block: _Block) -> bool:
    """Whether a block's text goes out as it comes; the others are written whole at their end."""
    if block.kind is BlockKind.OTHER:
        return bool(block.name)
    return block.label != "redacted_thinking"


def _start_of(block: _Block) -> JsonObject:
    if block.kind is BlockKind.TOOL_CALL:
        name = next((delta.name for delta in reversed(block.waiting) if delta.name), block.name)
        id = next((delta.id for delta in reversed(block.waiting) if delta.id), block.id)
        return {"type": "tool_use", "id": id, "name": name, "input": {}}
    if block.label == "redacted_thinking":
        return {"type": block.label, "data": "".join(delta.signature for delta in block.waiting)}
    if block.kind is BlockKind.OTHER:
        text = "" if block.name else "".join(delta.text for delta in block.waiting)
        return other_part(block.label, block.id, block.name, text, {})
    return _EMPTY[block.kind]


def _delta_frames(block: _Block, event: BlockDelta) -> list[bytes]:
    word, name = _DELTAS.get(block.kind, ("input_json_delta", "partial_json"))
    deltas: list[JsonObject] = [{"type": word, name: event.text}] if event.text else []
    if event.signature and block.kind is BlockKind.THINKING:
        deltas.append({"type": "signature_delta", "signature": event.signature})
    return [_write("content_block_delta", {"index": block.index, "delta": delta}) for delta in deltas]


def _write(name: str, fields: JsonObject) -> bytes:
    return sse.write_event(encode({"type": name, **fields}), name)


def _word(data: bytes, name: str) -> str:
    """What an event calls itself."""
    try:
        return as_text(as_object(decode(data)).get("type")) or name
    except ValueError:
        return name
