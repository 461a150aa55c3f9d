"""What people read instead of a session's id."""

import re
from collections.abc import Iterable

from streamviz.core.json_value import JsonObject
from streamviz.proxy.asides import OPENINGS
from streamviz.proxy.transcripts import Turn, asked_first

_CHARACTERS = 60
_LOOKED_AT = 4_000
# The elements that have the person's words: of Cursor, Copilot, Cline, and Claude Code when it asks for a title.
_WRAPPED = re.compile(r"<(user_query|userRequest|task|session)>(.*?)(?:</\1>|$)", re.DOTALL)
# What agents say themselves: opencode to get a title; Claude Code to try a model, have prompts cached, continue from a
# summary or report an interruption; Gemini CLI; Factory's Droid about its settings; and aider about the files.
_OF_AGENTS = re.compile(
    rf"{OPENINGS}|This is the Gemini CLI\. We are setting up .*"
    r"|\[Request interrupted by user[^]]*\]|Error: Your custom model \"[^\"]*\" appears to be .*"
    r"|This session is being continued from a previous conversation that ran out of context\. .*"
    r"|(I have \*added these files to the chat\*|I am not sharing any files that you can edit"
    r"|Here are summaries of some files present|Here are some READ ONLY files) .*",
    re.DOTALL,
)
# What aider says between its examples and the person's words.
_BEHIND_EXAMPLES = "I switched to a new code base."

# How the transcript identifies an image, a file or a sound, which nobody wants to read.
_MEDIUM = re.compile(
    r"\[(?:input_|output_)?(image|audio|video|file|document|media)(?:_\w+)? (?:data:|https?:|[\w+/-]{16})"
)


def label_of(request: JsonObject, turns: str) -> str:
    """What a conversation is about: the beginning of the person's first words, without what an agent put around them.

    The label is stored, so make it from the request as policies left it.
    """
    for turn in _behind_examples(asked_first(request.get(turns))):
        words = " ".join(_persons(text[:_LOOKED_AT]) for text in turn.texts).split()
        if words:
            label = " ".join(words[:_CHARACTERS])
            return label if len(label) <= _CHARACTERS else f"{label[: _CHARACTERS - 1]}…"
    return ""


def _behind_examples(turns: Iterable[Turn]) -> list[Turn]:
    found = list(turns)
    ends = [at for at, turn in enumerate(found, 1) if any(text.startswith(_BEHIND_EXAMPLES) for text in turn.texts)]
    return found[ends[-1] :] if ends else found


def _persons(text: str) -> str:
    """The person's part of a text; of an image or a file, only that there was one."""
    if medium := _MEDIUM.match(text):
        return f"[{medium[1]}]"
    if _OF_AGENTS.fullmatch(text.strip()):
        return ""
    wrapped = _WRAPPED.search(text)
    return wrapped[2] if wrapped else text
