"""OpenAI's chat completions, as OpenAI sends them; thinking in `reasoning_content`, as DeepSeek sends it."""

from collections.abc import Iterator

from streamviz.simulator.errors import ErrorKind, ProviderError
from streamviz.simulator.reply import GARBAGE, HEX, Frame, JsonObject, Padding, Reply, encode
from streamviz.simulator.steps import (
    Content,
    Fail,
    Finish,
    Garbage,
    Part,
    Refusal,
    Step,
    Thinking,
    ToolPiece,
    ToolStart,
    WholeTools,
    fold,
    timeline,
)

_FINISH = {"stop": "stop", "length": "length", "tool_calls": "tool_calls", "refusal": "stop"}
_ERROR_TYPES: dict[ErrorKind, str] = {
    "invalid_request": "invalid_request_error",
    "authentication": "invalid_request_error",
    "not_found": "invalid_request_error",
    "rate_limit": "requests",
    "server": "server_error",
}


def frames(reply: Reply) -> Iterator[Frame]:
    """The answer as a stream of `chat.completion.chunk` events."""
    writer = _Chunks(reply)
    opened = False
    for delay, step in timeline(reply.script.steps):
        data = writer.event(step)
        yield delay, data if opened else writer.opening(step) + data
        opened = True


def whole(reply: Reply) -> JsonObject:
    """The answer as one `chat.completion`."""
    reason = reply.script.finish_reason
    return {
        "id": _completion_id(reply),
        "object": "chat.completion",
        "created": reply.created,
        "model": reply.model,
        "choices": [
            {
                "index": 0,
                "message": _message(reply, fold(reply.script.steps)),
                "logprobs": None,
                "finish_reason": _FINISH[reason] if reason else None,
            }
        ],
        "usage": _usage(reply),
        "service_tier": "default",
        "system_fingerprint": _fingerprint(reply),
    }


def error_body(error: ProviderError, request_id: str = "") -> JsonObject:
    """An error in OpenAI's shape, which chat completions and responses share; the request's id is only in a header."""
    return {
        "error": {
            "message": error.message,
            "type": _ERROR_TYPES[error.kind],
            "param": error.param,
            "code": error.code,
        }
    }


class _Chunks:
    """Writes steps as chunks. What all chunks of a stream have in common is encoded once."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._padding = Padding(reply) if reply.asks_for("stream_options", "include_obfuscation") is not False else None
        self._usage = reply.script.usage_always or reply.asks_for("stream_options", "include_usage") is True
        self._beside_tools = b'"content":"",' if reply.script.empty_content_beside_tools else b""
        shared = {
            "id": _completion_id(reply),
            "object": "chat.completion.chunk",
            "created": reply.created,
            "model": reply.model,
            "service_tier": "default",
            "system_fingerprint": _fingerprint(reply),
        }
        self._head = b"data: " + encode(shared)[:-1] + b',"choices":['
        self._tail = b'],"usage":null' if self._usage else b"]"

    def opening(self, step: Step) -> bytes:
        """The chunk that names the role; what else is in it depends on how the answer begins."""
        match step:
            case Thinking():
                return self._chunk(b'"role":"assistant","content":null,"reasoning_content":""')
            case Refusal():
                return self._chunk(b'"role":"assistant","content":null,"refusal":""')
            case ToolStart() | WholeTools():
                return self._chunk(b'"role":"assistant","content":null')
            case _:
                return self._chunk(b'"role":"assistant","content":"","refusal":null')

    def event(self, step: Step) -> bytes:
        """What is sent for a step; empty if this format has nothing for it."""
        match step:
            case Content(text):
                return self._chunk(b'"content":' + encode(text), text)
            case Thinking(text):
                return self._chunk(b'"content":null,"reasoning_content":' + encode(text), text)
            case Refusal(text):
                return self._chunk(b'"refusal":' + encode(text), text)
            case ToolStart(call, name):
                return self._tool_chunk([self._tool_call(call, name, "")], "")
            case ToolPiece(call, arguments):
                return self._tool_chunk([{"index": call, "function": {"arguments": arguments}}], arguments)
            case WholeTools(calls):
                return self._tool_chunk([self._tool_call(*call) for call in calls], "")
            case Garbage():
                return GARBAGE
            case Fail(message):
                return b"data: %s\n\n" % encode(error_body(ProviderError(500, "server", message)))
            case Finish(reason):
                return self._closing(_FINISH[reason])
            case _:
                return b""

    def _chunk(self, delta: bytes, text: str = "", finish: bytes = b"null") -> bytes:
        choice = b'{"index":0,"delta":{%s},"logprobs":null,"finish_reason":%s}' % (delta, finish)
        return b"".join((self._head, choice, self._tail, self._end(text)))

    def _end(self, text: str) -> bytes:
        if self._padding is None:
            return b"}\n\n"
        return b',"obfuscation":"%s"}\n\n' % self._padding.beside(text).encode()

    def _tool_chunk(self, calls: list[JsonObject], text: str) -> bytes:
        return self._chunk(self._beside_tools + b'"tool_calls":' + encode(calls), text)

    def _tool_call(self, call: int, name: str, arguments: str) -> JsonObject:
        return {"index": call, **_tool_call(self._reply, call, name, arguments)}

    def _closing(self, reason: str) -> bytes:
        finish = self._chunk(b"", finish=encode(reason))
        usage = b""
        if self._usage:
            usage = b'%s],"usage":%s%s' % (self._head, encode(_usage(self._reply)), self._end(""))
        return finish + usage + b"data: [DONE]\n\n"


def _message(reply: Reply, parts: list[Part]) -> JsonObject:
    def text(kind: str) -> str | None:
        return "".join(part.text for part in parts if part.kind == kind) or None

    message: JsonObject = {"role": "assistant", "content": text("content"), "refusal": text("refusal")}
    if thinking := text("thinking"):
        message["reasoning_content"] = thinking
    calls = [_tool_call(reply, part.call, part.name, part.text) for part in parts if part.kind == "tool"]
    if calls:
        message["tool_calls"] = calls
    return message | {"annotations": []}


def _tool_call(reply: Reply, call: int, name: str, arguments: str) -> JsonObject:
    return {
        "id": reply.make_id("call_", 24, call),
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def _completion_id(reply: Reply) -> str:
    return reply.make_id("chatcmpl-", 29)


def _fingerprint(reply: Reply) -> str:
    return reply.make_id("fp_", 10, alphabet=HEX)


def _usage(reply: Reply) -> JsonObject:
    script = reply.script
    return {
        "prompt_tokens": script.input_tokens,
        "completion_tokens": script.output_tokens,
        "total_tokens": script.input_tokens + script.output_tokens,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": script.thinking_tokens,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
