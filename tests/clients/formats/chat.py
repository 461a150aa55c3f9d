"""OpenAI's chat completions, with the reasoning that compatible providers add."""

from collections.abc import Iterator
from uuid import uuid4

from tests.clients.script import (
    INPUT,
    MODEL,
    OUTPUT,
    READ,
    REASONED,
    THOUGHT,
    Asked,
    Object,
    Turn,
    event,
    halves,
    parts_of,
)

USAGE = {
    "prompt_tokens": INPUT,
    "completion_tokens": OUTPUT,
    "total_tokens": INPUT + OUTPUT,
    "prompt_tokens_details": {"cached_tokens": READ},
    "completion_tokens_details": {"reasoning_tokens": REASONED},
}


def asked(request: Object) -> Asked:
    """The relevant parts of a request."""
    functions = [tool["function"] for tool in request.get("tools") or [] if tool["type"] == "function"]
    return Asked(
        {each["name"]: each.get("parameters") or {} for each in functions},
        sum(message["role"] == "tool" for message in request["messages"]),
        ((request.get("response_format") or {}).get("json_schema") or {}).get("schema"),
        any(part["type"] == "image_url" for part in parts_of(request["messages"])),
        request.get("tool_choice") not in (None, "auto", "none"),
    )


def stream(request: Object, turn: Turn) -> Iterator[bytes]:
    """A turn as events. Each answer has its own id, by which clients tell answers apart."""
    head = {"id": f"chat_{uuid4().hex}", "object": "chat.completion.chunk", "created": 1, "model": MODEL}

    def chunk(delta: Object, finish: str | None = None) -> bytes:
        return event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    yield chunk({"role": "assistant", "content": ""})
    for piece in halves(THOUGHT):
        yield chunk({"reasoning_content": piece})
    for index, call in enumerate(turn.calls):
        function = {"name": call.name, "arguments": ""}
        yield chunk({"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]})
        for piece in halves(call.arguments):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    for piece in turn.pieces:
        yield chunk({"content": piece})
    yield chunk({}, "tool_calls" if turn.calls else "stop")
    if (request.get("stream_options") or {}).get("include_usage"):
        yield event({**head, "choices": [], "usage": USAGE})
    yield b"data: [DONE]\n\n"


def whole(request: Object, turn: Turn) -> Object:
    """A turn as one answer."""
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in turn.calls
    ]
    message: Object = {"role": "assistant", "content": turn.text or None, "reasoning_content": THOUGHT}
    message |= {"tool_calls": calls} if calls else {}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    head = {"id": f"chat_{uuid4().hex}", "object": "chat.completion", "created": 1, "model": MODEL}
    return {**head, "choices": [choice], "usage": USAGE}


def broken_off() -> bytes:
    """An error in the middle of a stream."""
    return event({"error": {"message": "The model is overloaded.", "type": "server_error", "code": 503}})


def error(status: int) -> Object:
    """The body of an error."""
    kinds = {400: "invalid_request_error", 429: "rate_limit_error"}
    told = {"message": f"Scripted {status}.", "type": kinds.get(status, "server_error"), "param": None, "code": None}
    return {"error": told}
