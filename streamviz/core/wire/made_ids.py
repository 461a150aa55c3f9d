"""Ids that the client gets where upstream has none: another in each answer, as it sends answers back together."""

from streamviz.core.json_value import JsonObject, as_text

_MOST = 24


def made_id(prefix: str, number: int, head: JsonObject) -> str:
    """Such as `call_chatcmpl1_0`; `head` has the answer's own id, of which it has the end."""
    of = "".join(letter for letter in as_text(head.get("id")) if letter.isascii() and letter.isalnum())[-_MOST:]
    return f"{prefix}_{of}_{number}" if of else f"{prefix}_{number}"
