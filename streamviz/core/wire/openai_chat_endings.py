"""How a chat call ended, as providers report it in places of their own: usage and errors."""

from collections.abc import Sequence

from streamviz.core.json_value import JsonObject, as_object, as_text

# Finish reasons of providers that failed: OpenRouter's and Mistral's, vLLM's and SGLang's, DeepSeek's, Z.ai's.
FAILED = frozenset(("error", "abort", "insufficient_system_resource", "network_error"))


def usage_elsewhere(payload: JsonObject, choices: Sequence[JsonObject]) -> object:
    """Usage that is not the chunk's own: Groq's, or Moonshot's, which is in a choice."""
    if "x_groq" in payload and (usage := as_object(payload["x_groq"]).get("usage")):
        return usage
    for choice in choices:
        if usage := choice.get("usage"):
            return usage
    return None


def error_in(payload: JsonObject, choices: Sequence[JsonObject], name: str) -> object:
    """The error that a chunk reports, an object or just its message; something empty if it reports none."""
    if error := payload.get("error"):
        return error
    if name == "error" or payload.get("object") == "error":
        # What is in its choices is an answer, of which the client may get something else.
        return {key: value for key, value in payload.items() if key != "choices"}
    for choice in choices:
        if error := choice.get("error"):
            return error
    if "x_groq" in payload:
        return as_object(payload["x_groq"]).get("error")
    return _minimaxs_error(as_object(payload["base_resp"])) if "base_resp" in payload else None


def _minimaxs_error(status: JsonObject) -> JsonObject:
    """If all went well the status code is 0, which gateways in between may send as text."""
    code = status.get("status_code")
    return {"message": status.get("status_msg"), "code": code} if code and code != "0" else {}


def failed_ending(choices: Sequence[JsonObject]) -> JsonObject:
    """An error for a finish_reason that reports one; empty if none does."""
    for choice in choices:
        if (reason := choice.get("finish_reason")) and as_text(reason) in FAILED:
            return {"message": f"the provider ended the answer: {reason}", "code": reason}
    return {}
