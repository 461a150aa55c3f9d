"""What clients of chat say that LiteLLM drops, or fails at, when it converts a request to another format."""

from streamviz.core.errors import RequestError
from streamviz.core.json_value import JsonObject, as_object, as_text, objects
from streamviz.core.model_names import SIMULATOR
from streamviz.upstream.provider_formats import speaks_messages
from streamviz.upstream.request_fields import refusal
from streamviz.upstream.targets import Target

# These have tools that take plain text. A function in place of one would be called in another way than the client
# expects.
TAKE_OPENAIS_TOOLS = frozenset({"azure", "openai", SIMULATOR})
# What Anthropic's models can neither see nor hear.
_UNHEARD = frozenset({"audio_url", "input_audio", "video_url"})


def require_sayable(target: Target, fields: JsonObject) -> None:
    """Raises RequestError (400) for what the provider would not get although the answer depends on it."""
    messages = objects(fields.get("messages"))
    for tool in objects(fields.get("tools")):
        _require_named(target, tool)
    if target.provider not in TAKE_OPENAIS_TOOLS:
        if _has_custom(fields.get("tools")):
            raise refusal(target, "tools.custom")
        if any(_has_custom(message.get("tool_calls")) for message in messages):
            raise refusal(target, "tool_calls.custom")
    for message in messages:
        require_heard(target, message.get("content"))


def with_refusals(messages: object) -> object:
    """Messages in which a model's refusals are ordinary text: LiteLLM would leave them out."""
    if not isinstance(messages, list):
        return messages
    return [_with_refusal(message) if isinstance(message, dict) else message for message in messages]


def _with_refusal(message: JsonObject) -> JsonObject:
    refusal, content = message.get("refusal"), message.get("content")
    if isinstance(content, list):
        return {**message, "content": [_as_text(part) for part in content]}
    return {**message, "content": refusal} if refusal and not content else message


def _as_text(part: object) -> object:
    details = as_object(part)
    return {"type": "text", "text": details.get("refusal")} if details.get("type") == "refusal" else part


def _require_named(target: Target, tool: JsonObject) -> None:
    """Raises RequestError (400) for a function without a name: LiteLLM fails at it, as if the provider did."""
    if as_text(as_object(tool.get("function")).get("name")) or tool.get("name"):
        return
    # Gemini's own tools are identified by the name of a member, such as `googleSearch`.
    is_own = bool(tool) and "function" not in tool and not speaks_messages(target)
    if tool.get("type") == "function" or (not tool.get("type") and not is_own):
        raise RequestError(400, "A tool in `tools` has no `function.name`.", code="invalid_type", param="tools")


def require_heard(target: Target, content: object) -> None:
    """The same for the parts of one message, of chat or of responses."""
    if not isinstance(content, list) or not speaks_messages(target):
        return
    for part in objects(content):
        if (kind := as_text(part.get("type"))) in _UNHEARD:
            raise refusal(target, kind)


def _has_custom(tools: object) -> bool:
    return any(tool.get("type") == "custom" for tool in objects(tools))
