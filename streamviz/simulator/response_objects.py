"""The object of an OpenAI response, with what it repeats from its request, and its usage."""

from streamviz.simulator.errors import ProviderError
from streamviz.simulator.reply import HEX, JsonObject, Reply
from streamviz.simulator.response_items import Status

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
"""What a response repeats from its request, with the defaults for what the request leaves out."""


def response(reply: Reply, status: Status, output: list[JsonObject], error: ProviderError | None = None) -> JsonObject:
    """The response at some stage; its usage is known once it is over."""
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


def _usage(reply: Reply) -> JsonObject:
    script = reply.script
    return {
        "input_tokens": script.input_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": script.output_tokens,
        "output_tokens_details": {"reasoning_tokens": script.thinking_tokens},
        "total_tokens": script.input_tokens + script.output_tokens,
    }
