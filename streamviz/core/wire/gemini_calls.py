"""Calls of Gemini's generateContent, whose path says the model and whether to stream."""

from urllib.parse import quote

from streamviz.core.errors import RequestError
from streamviz.core.json_value import JsonObject

# Google accepts either spelling of a member. Those that this project reads are changed to one.
_ONE_NAME = {
    "system_instruction": "systemInstruction",
    "generation_config": "generationConfig",
    "safety_settings": "safetySettings",
    "tool_config": "toolConfig",
    "cached_content": "cachedContent",
}


def as_call(body: JsonObject, model: str, *, is_streaming: bool) -> JsonObject:
    """The request with `model` and `stream` among its fields, as in other formats.

    Raises RequestError (400) if a member is given twice.
    """
    fields: JsonObject = {"model": model, "stream": is_streaming}
    for name, value in body.items():
        known = _ONE_NAME.get(name, name)
        if known in fields and known not in ("model", "stream"):
            raise RequestError(400, f"`{known}` is given twice.", code="invalid_type", param=known)
        fields.setdefault(known, value)
    contents = fields.get("contents")
    if isinstance(contents, dict):
        # Google accepts a single content in place of a list.
        fields["contents"] = [contents]
    return fields


def path_end(model: str, method: str) -> str:
    """What follows the path of all calls: a model and what it is to do."""
    return f"/{quote(model, safe='')}:{method}"


def generating(model: str, is_streaming: bool) -> str:
    """The same for a call for an answer."""
    return path_end(model, "streamGenerateContent?alt=sse" if is_streaming else "generateContent")


def counting(fields: JsonObject, model: str) -> tuple[str, JsonObject]:
    """The same for a call that counts a request's tokens, and what is sent there."""
    whole = {**fields, "model": f"models/{model}"}
    del whole["stream"]
    return path_end(model, "countTokens"), {"generateContentRequest": whole}
