"""The objects that OpenAI's responses are made of: the response itself, its output items and their parts."""

from typing import Literal

from streamviz.simulator.errors import ProviderError
from streamviz.simulator.reply import HEX, JsonObject, Reply
from streamviz.simulator.steps import Part

Status = Literal["in_progress", "completed", "incomplete", "failed"]
_SETTINGS: JsonObject = {
    "frequency_penalty": 0.0,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "parallel_tool_calls": True,
    "presence_penalty": 0.0,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "prompt_cache_retention": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "service_tier": "default",
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
    "metadata": {},
}
"""What a response repeats of its request, with the values for what the request does not say."""


def final_status(reply: Reply) -> Status:
    """How the whole answer ends; it is still in progress where it never says."""
    match reply.script.finish_reason:
        case None:
            return "in_progress"
        case "length":
            return "incomplete"
        case _:
            return "completed"


def item_status(reply: Reply) -> Status:
    """How an item ends that has ended."""
    return "incomplete" if reply.script.finish_reason == "length" else "completed"


def response(reply: Reply, status: Status, output: list[JsonObject], error: ProviderError | None = None) -> JsonObject:
    """The response in a state of its making; its usage is known once it is over."""
    over = status in {"completed", "incomplete"}
    return {
        "id": reply.make_id("resp_", 50, alphabet=HEX),
        "object": "response",
        "created_at": reply.created,
        "status": status,
        "background": False,
        "completed_at": reply.created + 1 if status == "completed" else None,
        "error": {"code": "server_error", "message": error.message} if error else None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "model": reply.model,
        "output": output,
        **{key: reply.request.get(key, value) for key, value in _SETTINGS.items()},
        "usage": _usage(reply) if over else None,
    }


def item(reply: Reply, part: Part, output_index: int, status: Status) -> JsonObject:
    """An output item that holds one part; it is empty while it is in progress."""
    if part.kind == "thinking":
        summary = [] if status == "in_progress" else [part_object(part)]
        return {"id": item_id(reply, part, output_index), "type": "reasoning", "summary": summary}
    if part.kind == "tool":
        return {
            "id": item_id(reply, part, output_index),
            "type": "function_call",
            "status": status,
            "arguments": part.text,
            "call_id": reply.make_id("call_", 24, part.call),
            "name": part.name,
        }
    return {
        "id": item_id(reply, part, output_index),
        "type": "message",
        "status": status,
        "content": [] if status == "in_progress" else [part_object(part)],
        "role": "assistant",
    }


def item_id(reply: Reply, part: Part, output_index: int) -> str:
    """The id of the item at that place of the output."""
    prefix = {"thinking": "rs_", "tool": "fc_"}.get(part.kind, "msg_")
    return reply.make_id(prefix, 50, output_index, HEX)


def part_object(part: Part) -> JsonObject:
    """A part of a message's content or of a reasoning item's summary."""
    match part.kind:
        case "thinking":
            return {"type": "summary_text", "text": part.text}
        case "refusal":
            return {"type": "refusal", "refusal": part.text}
        case _:
            return {"type": "output_text", "annotations": [], "logprobs": [], "text": part.text}


def _usage(reply: Reply) -> JsonObject:
    script = reply.script
    return {
        "input_tokens": script.input_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": script.output_tokens,
        "output_tokens_details": {"reasoning_tokens": script.thinking_tokens},
        "total_tokens": script.input_tokens + script.output_tokens,
    }
