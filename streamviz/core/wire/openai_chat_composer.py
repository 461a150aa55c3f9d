"""Writing OpenAI's chat completions: events as `chat.completion.chunk` frames, or as one `chat.completion`."""

from collections.abc import Sequence

from streamviz.core import sse
from streamviz.core.aggregator import DONE, Chunk
from streamviz.core.blocks import StreamState
from streamviz.core.composer import Composer
from streamviz.core.events import (
    BlockDelta,
    BlockKind,
    BlockSealed,
    BlockStarted,
    StreamEvent,
    StreamFailed,
    StreamFinished,
    UsageUpdated,
)
from streamviz.core.json_value import JsonObject, as_index, as_object, encode, objects
from streamviz.core.wire.openai_chat_message import THINKING_FIELDS, message_of
from streamviz.core.wire.translation import OPENAI_CHAT, translate_reason, translate_usage

FINISH_WITHOUT_CALLS = {"tool_calls": "stop", "function_call": "stop"}
_IN_BLOCKS = frozenset({"content", "refusal", "tool_calls", "function_call"})
_THINKING = frozenset({*THINKING_FIELDS, "reasoning_details"})
_TEXT_FIELDS = {
    BlockKind.CONTENT: "content",
    BlockKind.THINKING: "reasoning_content",
    BlockKind.REFUSAL: "refusal",
}


def error_body(message: str, kind: str, code: str | None = None, param: str | None = None) -> JsonObject:
    """OpenAI's error object."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


class OpenAIChatComposer(Composer):
    """Writes a stream. `head` holds its id, created and model, and is read anew for each frame.

    `source` is the format that the events come from, where it is another: all is composed then, and `end()` writes
    usage and `[DONE]`.
    """

    finish_without_calls = FINISH_WITHOUT_CALLS
    finish_halted = "content_filter"

    def __init__(self, head: JsonObject, source: str = OPENAI_CHAT) -> None:
        self._head = head
        self._source = source
        self._is_translating = source != OPENAI_CHAT
        self._usage: JsonObject | None = None
        self._without_arguments: set[int] = set()
        self._started: dict[int, BlockStarted] = {}
        self._calls: dict[int, int] = {}
        self._next_call: dict[int, int] = {}
        self._has_role: set[int] = set()

    def passed(self, events: Sequence[StreamEvent], chunk: Chunk | None = None) -> None:
        for event in events:
            if isinstance(event, BlockStarted):
                self._has_role.add(event.choice)
                self._started[event.ordinal] = event
                if event.kind is BlockKind.TOOL_CALL:
                    self._number_call(event, event.index)

    def compose(self, events: Sequence[StreamEvent]) -> list[bytes]:
        return [frame for event in events if (frame := self._frame(event))]

    def end(self) -> list[bytes]:
        usage = [] if self._usage is None else [self._write({"choices": [], "usage": self._usage})]
        return [*usage, sse.write_event(DONE)]

    def stop(self) -> list[bytes]:
        return [sse.write_event(DONE)]

    def keep_alive(self) -> bytes:
        return sse.write_comment("keep-alive")

    def fail(self, failure: StreamFailed) -> bytes:
        body = error_body(failure.message, failure.kind or "upstream_error", failure.code or None)
        return sse.write_event(encode(body)) + sse.write_event(b"[DONE]")

    def _frame(self, event: StreamEvent) -> bytes:
        match event:
            case BlockStarted():
                return self._start(event)
            case BlockDelta():
                return self._delta(event)
            case StreamFinished():
                has_calls = event.choice in self._next_call
                reason = translate_reason(event.reason, self._source, OPENAI_CHAT, has_calls=has_calls)
                return self._chunk(event.choice, {}, reason)
            case UsageUpdated():
                return self._say_usage(event)
            case BlockSealed() if event.ordinal in self._without_arguments:
                return self._delta(BlockDelta(event.ordinal, "{}"))
            case StreamFailed():
                return sse.write_event(encode(error_body(event.message, event.kind, event.code or None)))
            case _:
                return b""

    def _start(self, event: BlockStarted) -> bytes:
        self._started[event.ordinal] = event
        if event.kind is not BlockKind.TOOL_CALL:
            return b""
        index = self._number_call(event, None)
        function = {"name": event.name, "arguments": ""}
        call = {"index": index, "id": event.id, "type": "function", "function": function}
        if self._is_translating:
            # Clients of this format answer a call by its id, and read its arguments as JSON even where there are none.
            call["id"] = event.id or f"call_{event.ordinal}"
            self._without_arguments.add(event.ordinal)
        return self._chunk(event.choice, {"tool_calls": [call]})

    def _say_usage(self, event: UsageUpdated) -> bytes:
        if self._is_translating:
            # Other formats tell it several times; in this one it has its place behind all else.
            self._usage = translate_usage(event.usage, self._source, OPENAI_CHAT)
            return b""
        return self._write({"choices": [], "usage": event.usage})

    def _number_call(self, event: BlockStarted, index: int | None) -> int:
        """The index of a call for the client: upstream's own, or the next that is free."""
        free = self._next_call.get(event.choice, 0)
        number = free if index is None else index
        self._calls[event.ordinal] = number
        self._next_call[event.choice] = max(free, number + 1)
        return number

    def _delta(self, event: BlockDelta) -> bytes:
        started = self._started[event.ordinal]
        if started.kind is BlockKind.TOOL_CALL:
            return self._call_delta(event, started)
        field = _TEXT_FIELDS.get(started.kind)
        # The format has no place for other kinds of block.
        return self._chunk(started.choice, {field: event.text}) if field and event.text else b""

    def _call_delta(self, event: BlockDelta, started: BlockStarted) -> bytes:
        if event.text:
            self._without_arguments.discard(event.ordinal)
        function: JsonObject = {"arguments": event.text}
        call: JsonObject = {"index": self._calls[event.ordinal], "function": function}
        if event.name and event.name != started.name:
            function["name"] = event.name
        if event.id and event.id != started.id:
            call["id"] = event.id
        return (
            self._chunk(started.choice, {"tool_calls": [call]}) if event.text or len(call) + len(function) > 3 else b""
        )

    def _chunk(self, choice: int, delta: JsonObject, finish_reason: str | None = None) -> bytes:
        if choice not in self._has_role:
            self._has_role.add(choice)
            delta = {"role": "assistant", **delta}
        return self._write({"choices": [{"index": choice, "delta": delta, "finish_reason": finish_reason}]})

    def _write(self, fields: JsonObject) -> bytes:
        common = {"id": "", "object": "chat.completion.chunk", "created": 0, "model": ""}
        return sse.write_event(encode({**common, **self._head, **fields}))


class OpenAIChatBodyComposer(Composer):
    """Writes a whole answer anew from upstream's own, `body`, keeping every field that policies do not touch."""

    finish_without_calls = FINISH_WITHOUT_CALLS
    finish_halted = "content_filter"

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
        choices = [
            self._choice(choice, position, state) for position, choice in enumerate(objects(self._body.get("choices")))
        ]
        return [encode({**self._body, "choices": choices})]

    def keep_alive(self) -> bytes:
        # White space before a JSON value means nothing.
        return b" "

    def fail(self, failure: StreamFailed) -> bytes:
        return encode(error_body(failure.message, failure.kind or "upstream_error", failure.code or None))

    def _choice(self, choice: JsonObject, position: int, state: StreamState) -> JsonObject:
        index = as_index(choice.get("index"))
        number = position if index is None else index
        composed = message_of([block for block in state.blocks if block.choice == number])
        kept = {key: value for key, value in as_object(choice.get("message")).items() if key not in _IN_BLOCKS}
        if "reasoning_content" not in composed:
            kept = {key: value for key, value in kept.items() if key not in _THINKING}
        elif not _THINKING.isdisjoint(kept):
            # Untouched thinking stays where its provider put it, with whatever comes beside it.
            del composed["reasoning_content"]
        reason = state.finish_reasons.get(number, choice.get("finish_reason"))
        return {**choice, "message": {**kept, **composed}, "finish_reason": reason}
