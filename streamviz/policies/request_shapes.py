"""What of a request is not masked like its other texts: bytes, what a provider signed, and texts that it joins."""

import re

from streamviz.core.calls import RESULT_ENDINGS
from streamviz.core.json_value import JsonObject, as_object, as_text
from streamviz.core.wire.openai_responses_seals import SEAL
from streamviz.core.wire.signed_thinking import is_marked

_URLS = frozenset({"image_url", "video_url", "audio_url"})
_INLINE = frozenset({"inlineData", "inline_data"})
# Parts and items that hold bytes, by the beginning or end of their types.
_ENCRYPTED = ("reasoning", "compaction", "context_compaction", "web_search")
_PICTURED = ("image", "image_url", "video", "video_url", "audio", "audio_url", "screenshot")
# Anthropic's types, and OpenRouter's for Anthropic's models.
_THINKING = frozenset({"thinking", "redacted_thinking", "reasoning.text", "reasoning.encrypted"})
_THOUGHT = frozenset({"google", "provider_specific_fields", "parts"})
# Types of parts with a text, which Gemini's have none of.
_TEXTS = (None, "text", "input_text", "output_text")
_SIGNATURES = frozenset({"thoughtSignature", "thought_signature"})
_BYTES = re.compile(r"(?:data:[A-Za-z0-9/.+=;-]{0,120};base64,)?[A-Za-z0-9+/_\r\n-]*+={0,2}[\r\n]*+")


def text_of(item: object) -> str | None:
    """The text of a part of a message; None if it has none, or it is the model's thinking."""
    members = as_object(item)
    text = members.get("text") if members.get("type") in _TEXTS and not members.get("thought") else None
    return text if isinstance(text, str) else None


def is_thinking(item: object) -> bool:
    """Whether it is thinking of Anthropic's models, also as an item of a response that has their blocks or signatures
    in its seal."""
    members = as_object(item)
    seal = as_text(members.get(SEAL))
    is_sealed_openly = members.get("type") == "reasoning" and (seal.startswith("[") or is_marked(seal))
    return is_sealed_openly or as_text(members.get("type")) in _THINKING


def is_signed(item: object) -> bool:
    """Whether it is thinking that its provider refuses if it is changed."""
    members = as_object(item)
    return is_thinking(item) and bool(members.get("signature") or members.get(SEAL))


def is_of_answer(item: object) -> bool:
    """Whether an item of a response's input is the model's: those next to each other are one turn."""
    members = as_object(item)
    is_result = as_text(members.get("type")).endswith(RESULT_ENDINGS)
    return not is_result and members.get("role") not in ("user", "system", "developer")


def is_opaque(key: str, item: str, around: JsonObject, holder: str) -> bool:
    """Whether a text in a request is not meant to be read: nothing but base64, where the formats have what the provider
    signed or the bytes of a file."""
    is_for_bytes = _is_for_address(key, item, around, holder) or _is_for_bytes(key, around, holder)
    return is_for_bytes and _BYTES.fullmatch(item) is not None


def _is_for_address(key: str, item: str, around: JsonObject, holder: str) -> bool:
    """Whether this is a data URL, with the bytes in it, where a part of the formats has its URL."""
    if not item.startswith("data:"):
        return False
    return (key == "url" and holder in _URLS) or (key in _URLS and as_text(around.get("type")).endswith(_PICTURED))


def _is_for_bytes(key: str, around: JsonObject, holder: str) -> bool:
    kind = as_text(around.get("type"))
    if key == "data":
        is_source = holder == "source" and kind == "base64"
        return is_source or holder == "input_audio" or holder in _INLINE or kind == "redacted_thinking"
    if key == "signature":
        return kind == "thinking"
    if key in _SIGNATURES:
        return holder in _THOUGHT
    if key == "file_data":
        return holder == "file" or kind == "input_file"
    return key == "encrypted_content" and kind.startswith(_ENCRYPTED)
