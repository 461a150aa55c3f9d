"""Signatures for calls of Gemini's.

Gemini 3 wants a signature back with the first call of a turn. If upstream's was on a call that the client does not get,
or gets changed, another call gets the placeholder that Google has for such cases.

https://ai.google.dev/gemini-api/docs/thought-signatures
"""

from collections.abc import Sequence

from streamviz.core.json_value import JsonObject, as_object

SKIP = "skip_thought_signature_validator"


def is_signed_part(part: JsonObject) -> bool:
    """Whether a part of Gemini's is a signed call."""
    return "functionCall" in part and bool(part.get("thoughtSignature"))


def sign_part(parts: Sequence[JsonObject]) -> list[JsonObject]:
    """Gemini's parts, with the first call signed."""
    at = next((at for at, part in enumerate(parts) if "functionCall" in part), None)
    if at is None or is_signed_part(parts[at]):
        return list(parts)
    return [*parts[:at], {**parts[at], "thoughtSignature": SKIP}, *parts[at + 1 :]]


def is_signed_call(call: JsonObject) -> bool:
    """Whether a chat call has a signature, where Google's own chat endpoint puts it."""
    return bool(as_object(as_object(call.get("extra_content")).get("google")).get("thought_signature"))


def sign_call(call: JsonObject) -> JsonObject:
    """A chat call, signed."""
    if is_signed_call(call):
        return call
    return {**call, "extra_content": {"google": {"thought_signature": SKIP}}}
