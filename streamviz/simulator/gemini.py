"""Gemini's generateContent, as Google sends it: whole calls, and usage in every chunk."""

import base64
import json
from collections.abc import Iterator

from streamviz.simulator.errors import ErrorKind, ProviderError
from streamviz.simulator.reply import ALPHANUMERIC, GARBAGE, Frame, JsonObject, Reply, encode
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

_FINISH = {"stop": "STOP", "length": "MAX_TOKENS", "tool_calls": "STOP", "refusal": "STOP"}
_STATUSES: dict[ErrorKind, str] = {
    "invalid_request": "INVALID_ARGUMENT",
    "authentication": "UNAUTHENTICATED",
    "not_found": "NOT_FOUND",
    "rate_limit": "RESOURCE_EXHAUSTED",
    "server": "INTERNAL",
}


def frames(reply: Reply) -> Iterator[Frame]:
    """The answer as a stream of events, each in the shape of the whole answer."""
    writer = _Chunks(reply)
    for delay, step in timeline(one_call_at_a_time(reply.script.steps)):
        yield delay, writer.chunk(step)


def whole(reply: Reply) -> JsonObject:
    """The answer as one `GenerateContentResponse`."""
    parts = [_part(reply, part) for part in fold(reply.script.steps)]
    reason = reply.script.finish_reason
    return _response(reply, parts, _FINISH[reason] if reason else None)


def error_body(error: ProviderError, request_id: str) -> JsonObject:
    """An error in Google's shape."""
    return {"error": {"code": error.status, "message": error.message, "status": _STATUSES[error.kind]}}


class _Chunks:
    """Writes steps as chunks; the pieces of a call wait until the call is complete."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._call: tuple[int, str] | None = None
        self._pieces: list[str] = []

    def chunk(self, step: Step) -> bytes:
        """What is sent for a step."""
        match step:
            case Thinking(text):
                return self._flush() + self._say([{"text": text, "thought": True}])
            case Content(text) | Refusal(text):
                return self._flush() + self._say([{"text": text}])
            case ToolStart(call, name):
                flushed = self._flush()
                self._call, self._pieces = (call, name), []
                return flushed
            case ToolPiece(_, arguments):
                self._pieces.append(arguments)
                return b""
            case ToolEnd():
                return self._flush()
            case WholeTools(calls):
                return self._flush() + self._say([_call(self._reply, *call) for call in calls])
            case Garbage():
                return GARBAGE
            case Fail(message):
                error = encode(error_body(ProviderError(500, "server", message), ""))
                return b"data: %s\r\n\r\n" % error
            case Finish(reason):
                return self._flush() + self._say([{"text": ""}], _FINISH[reason])
            case _:
                return b""

    def _flush(self) -> bytes:
        if self._call is None:
            return b""
        (call, name), self._call = self._call, None
        return self._say([_call(self._reply, call, name, "".join(self._pieces))])

    def _say(self, parts: list[JsonObject], finish: str | None = None) -> bytes:
        return b"data: %s\r\n\r\n" % encode(_response(self._reply, parts, finish))


def _response(reply: Reply, parts: list[JsonObject], finish: str | None) -> JsonObject:
    ends: JsonObject = {} if finish is None else {"finishReason": finish}
    script = reply.script
    usage = {
        "promptTokenCount": script.input_tokens,
        "candidatesTokenCount": script.output_tokens - script.thinking_tokens,
        "totalTokenCount": script.input_tokens + script.output_tokens,
        "thoughtsTokenCount": script.thinking_tokens,
    }
    return {
        "candidates": [{"content": {"parts": parts, "role": "model"}, **ends, "index": 0}],
        "usageMetadata": usage,
        "modelVersion": reply.model,
        "responseId": reply.make_id("", 22),
    }


def _part(reply: Reply, part: Part) -> JsonObject:
    if part.kind == "tool":
        return _call(reply, part.call, part.name, part.text)
    return {"text": part.text, **({"thought": True} if part.kind == "thinking" else {})}


def _call(reply: Reply, call: int, name: str, arguments: str) -> JsonObject:
    """A tool call; the first has the signature that Google wants back with it."""
    said: JsonObject = {"functionCall": {"id": reply.make_id("", 8, call), "name": name, "args": json.loads(arguments)}}
    signature = base64.b64encode(reply.make_id("", 60, alphabet=ALPHANUMERIC).encode()).decode()
    return {**said, "thoughtSignature": signature} if call == 0 else said
