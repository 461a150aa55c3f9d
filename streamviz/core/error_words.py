"""The words of a provider's error, with those of another provider behind it."""

from streamviz.core.json_value import JsonObject, as_object, as_text, objects, value_in

# A cause gives its reason in a few lines.
_MOST_OF_A_CAUSE = 16 * 1024


def said_in(body: bytes | str) -> JsonObject:
    """The JSON object in an error's body, or the first of several; an empty one if there is none."""
    return next(iter(objects(value_in(body))), {})


def error_of(said: JsonObject) -> object:
    """The error in an event or a whole answer, where most providers have it, or where Cohere, vLLM and Databricks
    do."""
    if error := said.get("error") or as_object(said.get("delta")).get("error"):
        return error
    if said.get("object") == "error":
        return said
    code = said.get("error_code")  # 0 from those that say with each chunk that all is well
    return {"code": code, "message": said.get("message")} if code else None


def words_of(error: object) -> str:
    """The message of an error; an error may be just its message."""
    return as_text(error) or as_text(as_object(error).get("message"))


def words_in(said: JsonObject) -> str:
    """The message of the error in an event or a whole answer."""
    return words_of(error_of(said) or said) or as_text(said.get("message")) or as_text(said.get("detail"))


def with_cause(words: str, error: object, *, as_read: bool = False) -> str:
    """The words with those of a provider behind OpenRouter, which itself says only `Provider returned error`. With
    `as_read`, those that have escaped characters are told as policies have read them: with the JSON around them."""
    raw = as_object(as_object(error).get("metadata")).get("raw")
    text = as_text(raw).strip()[:_MOST_OF_A_CAUSE]
    cause = words_in(as_object(raw) or said_in(text)) or ("" if text.startswith("<") else text)
    if as_read and text and cause not in text:
        cause = text
    return words if cause in words else ": ".join(filter(None, (words, cause)))
