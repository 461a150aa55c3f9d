"""Anthropic's messages, as Anthropic sends them."""

import json
from collections.abc import Iterator

from streamviz.simulator.errors import ErrorKind, ProviderError
from streamviz.simulator.reply import ALPHANUMERIC, GARBAGE, Frame, JsonObject, Reply, encode, named_event
from streamviz.simulator.steps import (
    Content,
    Fail,
    Finish,
    Garbage,
    Part,
    Refusal,
    Step,
    Thinking,
    ToolEnd,
    ToolPiece,
    ToolStart,
    WholeTools,
    fold,
    one_call_at_a_time,
    timeline,
)

_STOP = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "refusal": "refusal"}
_ERROR_TYPES: dict[ErrorKind, str] = {
    "invalid_request": "invalid_request_error",
    "authentication": "authentication_error",
    "not_found": "not_found_error",
    "rate_limit": "rate_limit_error",
    "server": "api_error",
}
_PING = b'event: ping\ndata: {"type": "ping"}\n\n'
_FIRST_OUTPUT_TOKENS = 1
_LONGEST_PADDING = 16


def frames(reply: Reply) -> Iterator[Frame]:
    """The answer as a stream of events, from `message_start` to `message_stop`."""
    writer = _Events(reply)
    opened = False
    for delay, step in timeline(one_call_at_a_time(reply.script.steps)):
        data = writer.event(step)
        yield delay, data if opened else writer.message_start() + data
        opened = True


def whole(reply: Reply) -> JsonObject:
    """The answer as one `message`."""
    content = [_block(reply, part) for part in fold(reply.script.steps)]
    reason = reply.script.finish_reason
    return _message(reply, content, _STOP[reason] if reason else None, reply.script.output_tokens)


def error_body(error: ProviderError, request_id: str) -> JsonObject:
    """An error in Anthropic's shape."""
    details = {"type": _ERROR_TYPES[error.kind], "message": error.message}
    return {"type": "error", "error": details, "request_id": request_id}


class _Events:
    """Writes steps as events: a content block is started by its first step and stopped by what comes after it."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._index = -1
        self._open = ""
        self._pinged = False
        self._padding = 0

    def message_start(self) -> bytes:
        """The event that every stream begins with."""
        message = _message(self._reply, [], None, _FIRST_OUTPUT_TOKENS)
        return self._event({"type": "message_start", "message": message})

    def event(self, step: Step) -> bytes:
        """What is sent for a step."""
        match step:
            case Thinking(text):
                start = self._block("thinking", {"type": "thinking", "thinking": "", "signature": ""})
                return start + self._delta(b'"thinking_delta","thinking":', text)
            case Content(text) | Refusal(text):
                start = self._block("text", {"type": "text", "text": ""})
                return start + self._delta(b'"text_delta","text":', text)
            case ToolStart(call, name):
                return self._tool_start(call, name)
            case ToolPiece(_, arguments):
                return self._delta(b'"input_json_delta","partial_json":', arguments)
            case ToolEnd():
                return self._stop()
            case WholeTools(calls):
                return b"".join(self._whole_tool(*call) for call in calls)
            case Garbage():
                return b"event: content_block_delta\n" + GARBAGE
            case Fail(message):
                return named_event(error_body(ProviderError(500, "server", message), self._reply.make_id("req_", 24)))
            case Finish(reason):
                return self._stop() + self._closing(_STOP[reason])
            case _:
                return b""

    def _block(self, kind: str, block: JsonObject) -> bytes:
        if self._open == kind:
            return b""
        stop = self._stop()
        return stop + self._start(kind, block)

    def _start(self, kind: str, block: JsonObject) -> bytes:
        self._index += 1
        self._open = kind
        start = self._event({"type": "content_block_start", "index": self._index, "content_block": block})
        ping = b"" if self._pinged else _PING
        self._pinged = True
        return start + ping

    def _stop(self) -> bytes:
        if not self._open:
            return b""
        signature = b""
        if self._open == "thinking":
            signature = self._delta(b'"signature_delta","signature":', _signature(self._reply))
        self._open = ""
        return signature + self._event({"type": "content_block_stop", "index": self._index})

    def _delta(self, head: bytes, text: str) -> bytes:
        delta = b'{"type":%s%s}%s' % (head, encode(text), self._spaces(len(text)))
        event = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":%s}\n\n'
        return event % (self._index, delta)

    def _tool_start(self, call: int, name: str) -> bytes:
        block = _tool_use(self._reply, call, name, {})
        return self._stop() + self._start("tool_use", block) + self._delta(b'"input_json_delta","partial_json":', "")

    def _whole_tool(self, call: int, name: str, arguments: str) -> bytes:
        start = self._tool_start(call, name)
        return start + self._delta(b'"input_json_delta","partial_json":', arguments) + self._stop()

    def _closing(self, stop_reason: str) -> bytes:
        usage = _usage(self._reply, self._reply.script.output_tokens)
        delta = {"stop_reason": stop_reason, "stop_sequence": None, "stop_details": None}
        end = self._event({"type": "message_delta", "delta": delta, "usage": usage})
        return end + self._event({"type": "message_stop"})

    def _event(self, event: JsonObject) -> bytes:
        data = encode(event)
        return b"event: %s\ndata: %s%s}\n\n" % (str(event["type"]).encode(), data[:-1], self._spaces(len(data)))

    def _spaces(self, size: int) -> bytes:
        """Anthropic hides the size of its events behind spaces before the last brace."""
        self._padding = (self._padding * 31 + size + 7) % (_LONGEST_PADDING - 1)
        return b" " * self._padding


def _message(reply: Reply, content: list[JsonObject], stop_reason: str | None, output_tokens: int) -> JsonObject:
    creation = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}
    usage = _usage(reply, output_tokens) | {"cache_creation": creation, "service_tier": "standard"}
    return {
        "model": reply.model,
        "id": reply.make_id("msg_01", 22),
        "type": "message",
        "role": "assistant",
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "stop_details": None,
        "usage": usage,
    }


def _usage(reply: Reply, output_tokens: int) -> JsonObject:
    return {
        "input_tokens": reply.script.input_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": output_tokens,
    }


def _block(reply: Reply, part: Part) -> JsonObject:
    if part.kind == "thinking":
        return {"type": "thinking", "thinking": part.text, "signature": _signature(reply)}
    if part.kind == "tool":
        return _tool_use(reply, part.call, part.name, json.loads(part.text))
    return {"type": "text", "text": part.text}


def _tool_use(reply: Reply, call: int, name: str, arguments: object) -> JsonObject:
    tool_id = reply.make_id("toolu_01", 22, call)
    return {"type": "tool_use", "id": tool_id, "name": name, "input": arguments, "caller": {"type": "direct"}}


def _signature(reply: Reply) -> str:
    return reply.make_id("Eq", 298, alphabet=ALPHANUMERIC + "+/") + "=="
