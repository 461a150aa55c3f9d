"""What people read in place of a session's id."""

import re

from streamviz.core.json_value import JsonObject
from streamviz.proxy.transcripts import asked_first

_CHARACTERS = 60
_LOOKED_AT = 4_000
# Where agents have the person's words: Cursor, Copilot, Cline, Claude Code for a title.
_WRAPPED = re.compile(r"<(user_query|userRequest|task|session)>(.*?)(?:</\1>|$)", re.DOTALL)
# What agents say themselves: opencode for a title, Claude Code to try a model or have prompts cached, Gemini CLI.
_OF_AGENTS = re.compile(
    r"Generate a title for this conversation:?|quota|Warmup|This is the Gemini CLI\. We are setting up .*", re.DOTALL
)


def label_of(request: JsonObject, turns: str) -> str:
    """What a conversation is about: the beginning of the person's first words, without what an agent put around them.

    It is kept, so it is to be made of the request as policies left it.
    """
    for turn in asked_first(request.get(turns)):
        words = " ".join(_persons(text[:_LOOKED_AT]) for text in turn.texts).split()
        if words:
            label = " ".join(words[:_CHARACTERS])
            return label if len(label) <= _CHARACTERS else f"{label[: _CHARACTERS - 1]}…"
    return ""


def _persons(text: str) -> str:
    """What of a text is the person's."""
    if _OF_AGENTS.fullmatch(text.strip()):
        return ""
    wrapped = _WRAPPED.search(text)
    return wrapped[2] if wrapped else text
