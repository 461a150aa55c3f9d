"""OpenAI's responses."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from tests.clients.formats.chat import error
from tests.clients.script import (
    INPUT,
    MODEL,
    OUTPUT,
    READ,
    REASONED,
    THOUGHT,
    Asked,
    Call,
    Object,
    Turn,
    event,
    halves,
    parts_of,
)

USAGE = {
    "input_tokens": INPUT,
    "output_tokens": OUTPUT,
    "total_tokens": INPUT + OUTPUT,
    "input_tokens_details": {"cached_tokens": READ},
    "output_tokens_details": {"reasoning_tokens": REASONED},
}
__all__ = ["asked", "broken_off", "error", "stream", "whole"]

# How many tool results led up to each response: a request that continues from one contains only the newest.
_results: dict[str, int] = {}


def asked(request: Object) -> Asked:
    """The relevant parts of a request."""
    given = request["input"] if isinstance(request["input"], list) else []
    results = sum(item.get("type") in ("function_call_output", "custom_tool_call_output") for item in given)
    tools = [tool for tool in request.get("tools") or [] if tool.get("type") == "function"]
    return Asked(
        {tool["name"]: tool.get("parameters") or {} for tool in tools},
        results + _results.get(request.get("previous_response_id") or "", 0),
        ((request.get("text") or {}).get("format") or {}).get("schema"),
        any(part["type"] == "input_image" for part in parts_of(given)),
        request.get("tool_choice") not in (None, "auto", "none"),
    )


def stream(request: Object, turn: Turn) -> Iterator[bytes]:
    """A turn as events."""
    number = iter(range(100_000))

    def told(kind: str, **members: Any) -> bytes:
        return event({"type": kind, "sequence_number": next(number), **members}, kind)

    done = whole(request, turn)
    begun = {**done, "status": "in_progress", "output": [], "usage": None}
    yield told("response.created", response=begun)
    yield told("response.in_progress", response=begun)
    thought, *items = done["output"]
    yield told("response.output_item.added", output_index=0, item={**thought, "summary": []})
    where = {"item_id": thought["id"], "output_index": 0, "summary_index": 0}
    yield told("response.reasoning_summary_part.added", **where, part={"type": "summary_text", "text": ""})
    for piece in halves(THOUGHT):
        yield told("response.reasoning_summary_text.delta", **where, delta=piece)
    yield told("response.reasoning_summary_text.done", **where, text=THOUGHT)
    yield told("response.reasoning_summary_part.done", **where, part=thought["summary"][0])
    yield told("response.output_item.done", output_index=0, item=thought)
    for index, item in enumerate(items, 1):
        empty = {"arguments": ""} if item["type"] == "function_call" else {"content": []}
        yield told("response.output_item.added", output_index=index, item={**item, **empty, "status": "in_progress"})
        at: Object = {"item_id": item["id"], "output_index": index}
        if item["type"] == "function_call":
            for piece in halves(item["arguments"]):
                yield told("response.function_call_arguments.delta", **at, delta=piece)
            whole_call = {"arguments": item["arguments"], "name": item["name"]}
            yield told("response.function_call_arguments.done", **at, **whole_call)
        else:
            [part] = item["content"]
            at["content_index"] = 0
            yield told("response.content_part.added", **at, part={**part, "text": ""})
            for piece in turn.pieces:
                yield told("response.output_text.delta", **at, delta=piece, logprobs=[])
            yield told("response.output_text.done", **at, text=turn.text, logprobs=[])
            yield told("response.content_part.done", **at, part=part)
        yield told("response.output_item.done", output_index=index, item=item)
    yield told("response.completed", response=done)


def whole(request: Object, turn: Turn) -> Object:
    """A turn as one answer."""
    response = f"resp_{uuid4().hex}"
    _results[response] = asked(request).results
    summary = {"type": "summary_text", "text": THOUGHT}
    thought = {"type": "reasoning", "id": f"rs_{uuid4().hex}", "summary": [summary], "encrypted_content": "c2VhbGVk"}
    items = [_call(call) for call in turn.calls] if turn.calls else [_message(turn.text)]
    told: Object = {"id": response, "object": "response", "created_at": 1, "model": MODEL, "status": "completed"}
    habits = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None}
    return {**told, **habits, "output": [thought, *items], "usage": USAGE}


def broken_off() -> bytes:
    """An error in the middle of a stream."""
    error = {"code": "server_error", "message": "The model is overloaded."}
    return event({"type": "error", "sequence_number": 99_999, **error, "param": None}, "error")


def _call(call: Call) -> Object:
    names = {"id": f"fc_{uuid4().hex}", "call_id": call.id, "name": call.name}
    return {"type": "function_call", **names, "arguments": call.arguments, "status": "completed"}


def _message(text: str) -> Object:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    who = {"type": "message", "id": f"msg_{uuid4().hex}", "role": "assistant", "status": "completed"}
    return {**who, "content": [part]}
