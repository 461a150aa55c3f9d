"""A non-streaming answer of OpenAI's responses, from blocks.

Format: https://platform.openai.com/docs/api-reference/responses/object.
"""

from collections.abc import Mapping, Sequence

from streamviz.core.blocks import OtherStreamBlock, StreamBlock, StreamState
from streamviz.core.json_value import JsonObject, as_text, objects
from streamviz.core.wire.openai_responses_block_items import item_of
from streamviz.core.wire.openai_responses_parts import is_speech

# The fields of a response that say nothing about its output.
_FIELDS = frozenset(
    {"id", "object", "created_at", "completed_at", "status", "error", "incomplete_details", "instructions", "metadata"}
    | {"model", "parallel_tool_calls", "temperature", "tool_choice", "tools", "top_p", "background", "conversation"}
    | {"max_output_tokens", "max_tool_calls", "previous_response_id", "prompt", "prompt_cache_key", "billing"}
    | {"prompt_cache_retention", "prompt_cache_options", "reasoning", "safety_identifier", "service_tier", "store"}
    | {"text", "tool_usage", "top_logprobs", "truncation", "user", "usage", "moderation", "content_filters"}
)


def kept_head(response: JsonObject) -> JsonObject:
    """The fields of a response that stay if something in its output was changed: those that are known, and values that
    cannot repeat a text."""
    return {key: value for key, value in response.items() if key in _FIELDS or isinstance(value, bool | int | float)}


def text_of(items: Sequence[JsonObject]) -> str:
    """The text of all messages, as `output_text` has it."""
    parts = [part for item in items if item.get("type") == "message" for part in objects(item.get("content"))]
    return "".join(as_text(part.get("text")) for part in parts if part.get("type") == "output_text")


def build_response(state: StreamState, head: JsonObject, items: Mapping[int, JsonObject]) -> JsonObject:
    """A `response` of all blocks. `head` gives its other fields, `items` upstream's own items by place."""
    blocks: dict[int, list[StreamBlock]] = {index: [] for index in sorted(items)}
    for block in state.blocks:
        if is_speech(block.kind, block.label if isinstance(block, OtherStreamBlock) else ""):
            continue  # its part has it
        blocks.setdefault(block.index or 0, []).append(block)
    response: JsonObject = {"id": "", "object": "response", "created_at": 0, "model": "", **head}
    response["status"] = state.finish_reason or "incomplete"
    response["output"] = [item_of(group, items.get(index, {})) for index, group in blocks.items()]
    response["usage"] = state.usage
    return response
