"""Writing events as OpenAI's chat completions: a `chat.completion.chunk` frame for each."""

from collections.abc import Sequence

from streamviz.core import sse
from streamviz.core.aggregator import DONE
from streamviz.core.call_runners import Runner, runner_of
from streamviz.core.calls import LEGACY_CALL, made_id
from streamviz.core.composer import Composer
from streamviz.core.errors import FINAL, TOLD_FINAL
from streamviz.core.events import (
    CONTRADICTION,
    BlockDelta,
    BlockKind,
    BlockSealed,
    BlockStarted,
    StreamEvent,
    StreamFailed,
    StreamFinished,
    UsageUpdated,
)
from streamviz.core.json_value import JsonObject, encode
from streamviz.core.wire.openai_chat_calls import CUSTOM
from streamviz.core.wire.thought_signatures import sign_call
from streamviz.core.wire.translation import OPENAI_CHAT, translate_reason, translate_usage

FINISH_WITHOUT_CALLS = {"tool_calls": "stop", "function_call": "stop"}
_TEXT_FIELDS = {
    BlockKind.CONTENT: "content",
    BlockKind.THINKING: "reasoning_content",
    BlockKind.REFUSAL: "refusal",
}


def error_body(message: str, kind: str, code: str | None = None, param: str | None = None) -> JsonObject:
    """OpenAI's error object."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def failed_body(failure: StreamFailed) -> bytes:
    """The body of an answer that failed."""
    return encode(error_body(failure.message, failure.kind or "upstream_error", failure.code or None))


class ChatWriter(Composer):
    """Writes all of a stream. `head` holds its id, created and model, and is read again for each frame.

    `source` is the format that the events come from; if it is another format, `end()` writes usage and `[DONE]`.
    """

    finish_without_calls = FINISH_WITHOUT_CALLS
    finish_halted = "content_filter"

    def __init__(self, head: JsonObject, source: str) -> None:
        self._head = head
        self._source = source
        self._is_translating = source != OPENAI_CHAT
        self._usage: JsonObject | None = None
        self._without_arguments: set[int] = set()
        self._started: dict[int, BlockStarted] = {}
        self._calls: dict[int, int] = {}
        self._next_call: dict[int, int] = {}
        self._has_role: set[int] = set()
        # The choices in which the signature of a call was lost.
        self._unsigned: set[int] = set()

    def compose(self, events: Sequence[StreamEvent]) -> list[bytes]:
        return [frame for event in events if (frame := self._frame(event))]

    def end(self) -> list[bytes]:
        usage = [] if self._usage is None else [self._write({"choices": [], "usage": self._usage})]
        return [*usage, sse.write_event(DONE)]

    def stop(self) -> list[bytes]:
        return [sse.write_event(DONE)]

    def keep_alive(self) -> bytes:
        return sse.KEEP_ALIVE

    def fail(self, failure: StreamFailed) -> bytes:
        if self.asks_again_after_errors and failure.code in FINAL:
            return self._refusal(failure.message)
        code = TOLD_FINAL if self.knows_openai_codes_alone and failure.code in FINAL else failure.code
        body = error_body(failure.message, failure.kind or "upstream_error", code or None)
        return sse.write_event(encode(body)) + sse.write_event(DONE)

    def _refusal(self, why: str) -> bytes:
        """End the answer as one that a policy halted, with an error's words as its last text."""
        said = self._chunk(0, {"content": f"[{why}]"}), self._chunk(0, {}, self.finish_halted)
        return b"".join([*said, *self.stop()])

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
            case StreamFailed() if event.kind != CONTRADICTION:
                return sse.write_event(encode(error_body(event.message, event.kind, event.code or None)))
            case _:
                return b""

    def _start(self, event: BlockStarted) -> bytes:
        self._started[event.ordinal] = event
        if event.kind is not BlockKind.TOOL_CALL or runner_of(event.label) is Runner.PROVIDER:
            # Texts need no start; other blocks, and calls that the provider runs, have no place in this format.
            return b""
        if event.label == LEGACY_CALL and not self._is_translating:
            self._calls[event.ordinal] = -1
            return self._chunk(event.choice, {LEGACY_CALL: {"name": event.name, "arguments": ""}})
        index = self._number_call(event, None)
        call = {"index": index, "id": event.id, **self._call_words(event, {"name": event.name, "arguments": ""})}
        if self._is_translating:
            # Clients of this format answer a call by its id, and read its arguments as JSON even if there are none.
            call["id"] = event.id or made_id("call", event.ordinal, self._head)
            self._without_arguments.add(event.ordinal)
        return self._chunk(event.choice, {"tool_calls": [self._signed(event.choice, call)]})

    def _signed(self, choice: int, call: JsonObject) -> JsonObject:
        """The start of a call, which has to be signed if it is the first after one whose signature was lost."""
        if choice not in self._unsigned:
            return call
        self._unsigned.discard(choice)
        return sign_call(call)

    def _call_words(self, event: BlockStarted, said: JsonObject) -> JsonObject:
        """A call's type, and what a piece of it says under the names that its kind has."""
        if event.label != CUSTOM:
            own = event.label if event.label != LEGACY_CALL and not self._is_translating else ""
            return {"type": own or "function", "function": said}
        renamed = {"input" if key == "arguments" else key: value for key, value in said.items()}
        return {"type": CUSTOM, CUSTOM: renamed}

    def _say_usage(self, event: UsageUpdated) -> bytes:
        if self._is_translating:
            # Other formats report usage several times; in this one it comes after everything else.
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
            return self._call_delta(event, started) if event.ordinal in self._calls else b""
        field = _TEXT_FIELDS.get(started.kind)
        # The format has no place for other kinds of block.
        return self._chunk(started.choice, {field: event.text}) if field and event.text else b""

    def _call_delta(self, event: BlockDelta, started: BlockStarted) -> bytes:
        if event.text:
            self._without_arguments.discard(event.ordinal)
        said: JsonObject = {"arguments": event.text}
        if event.name and event.name != started.name:
            said["name"] = event.name
        id: JsonObject = {"id": event.id} if event.id and event.id != started.id else {}
        if not event.text and len(said) == 1 and not id:
            return b""
        if self._calls[event.ordinal] < 0:
            return self._chunk(started.choice, {LEGACY_CALL: said})
        words = self._call_words(started, said)
        del words["type"]
        return self._chunk(started.choice, {"tool_calls": [{"index": self._calls[event.ordinal], **id, **words}]})

    def _chunk(self, choice: int, delta: JsonObject, finish_reason: str | None = None) -> bytes:
        if choice not in self._has_role:
            self._has_role.add(choice)
            delta = {"role": "assistant", **delta}
        return self._write({"choices": [{"index": choice, "delta": delta, "finish_reason": finish_reason}]})

    def _write(self, fields: JsonObject) -> bytes:
        common = {"id": "", "object": "chat.completion.chunk", "created": 0, "model": ""}
        return sse.write_event(encode({**common, **self._head, **fields}))
