"""What people read in place of a session's id."""

from streamviz.core.json_value import JsonObject
from streamviz.proxy.transcripts import beginning

_CHARACTERS = 60
_LOOKED_AT = 4_000


def label_of(request: JsonObject, turns: str) -> str:
    """What a conversation is about: the beginning of the person's first words, without what an agent put before them.

    It is kept, so it is to be made of the request as policies left it.
    """
    for turn in beginning(request.get(turns)):
        words = " ".join(text[:_LOOKED_AT] for text in turn.texts).split()
        if words:
            label = " ".join(words[:_CHARACTERS])
            return label if len(label) <= _CHARACTERS else f"{label[: _CHARACTERS - 1]}…"
    return ""
