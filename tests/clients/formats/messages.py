"""Anthropic's messages."""

import json
from collections.abc import Iterator
from uuid import uuid4

from tests.clients.script import (
    INPUT,
    MODEL,
    OUTPUT,
    READ,
    THOUGHT,
    WRITTEN,
    Asked,
    Object,
    Turn,
    event,
    halves,
    parts_of,
)

USAGE = {
    "input_tokens": INPUT - READ - WRITTEN,
    "cache_read_input_tokens": READ,
    "cache_creation_input_tokens": WRITTEN,
    "output_tokens": OUTPUT,
}


def asked(request: Object) -> Asked:
    """The relevant parts of a request."""
    said = list(parts_of(request["messages"]))
    results = [part for part in said if part["type"] == "tool_result"]
    form = (request.get("output_config") or {}).get("format") or request.get("output_format") or {}
    return Asked(
        {tool["name"]: tool.get("input_schema") or {} for tool in request.get("tools") or []},
        len(results),
        form.get("schema"),
        any(part["type"] == "image" for part in [*said, *parts_of(results)]),
        (request.get("tool_choice") or {}).get("type") in ("any", "tool"),
    )


def stream(request: Object, turn: Turn) -> Iterator[bytes]:
    """A turn as events."""
    message = {**_message(), "content": [], "stop_reason": None, "usage": {**USAGE, "output_tokens": 1}}
    yield event({"type": "message_start", "message": message}, "message_start")
    thoughts: list[Object] = [{"type": "thinking_delta", "thinking": piece} for piece in halves(THOUGHT)]
    signed: Object = {"type": "signature_delta", "signature": "c2lnbmVk"}
    yield from _block(0, {"type": "thinking", "thinking": "", "signature": ""}, [*thoughts, signed])
    for index, call in enumerate(turn.calls, 1):
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        pieces = halves(call.arguments)
        yield from _block(index, block, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces])
    if turn.pieces:
        yield from _block(
            1, {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in turn.pieces]
        )
    delta = {"stop_reason": _ending(turn), "stop_sequence": None}
    yield event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": OUTPUT}}, "message_delta")
    yield event({"type": "message_stop"}, "message_stop")


def whole(request: Object, turn: Turn) -> Object:
    """A turn as one answer."""
    thought: Object = {"type": "thinking", "thinking": THOUGHT, "signature": "c2lnbmVk"}
    calls: list[Object] = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}
        for call in turn.calls
    ]
    texts: list[Object] = [{"type": "text", "text": turn.text}] if turn.pieces else []
    return {**_message(), "content": [thought, *texts, *calls], "stop_reason": _ending(turn), "usage": USAGE}


def broken_off() -> bytes:
    """An error in the middle of a stream."""
    return event({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "error")


def error(status: int) -> Object:
    """The body of an error."""
    kinds = {400: "invalid_request_error", 429: "rate_limit_error"}
    return {"type": "error", "error": {"type": kinds.get(status, "api_error"), "message": f"Scripted {status}."}}


def _message() -> Object:
    kind = {"type": "message", "role": "assistant", "model": MODEL, "stop_sequence": None}
    return {"id": f"msg_{uuid4().hex}", **kind}


def _ending(turn: Turn) -> str:
    return "tool_use" if turn.calls else "end_turn"


def _block(index: int, block: Object, deltas: list[Object]) -> Iterator[bytes]:
    yield event({"type": "content_block_start", "index": index, "content_block": block}, "content_block_start")
    for delta in deltas:
        yield event({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
    yield event({"type": "content_block_stop", "index": index}, "content_block_stop")
