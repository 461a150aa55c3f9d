"""Shortening a responses client's conversation on another vendor's model: what the model is told. What its client gets
is in `core/wire/compaction.py`."""

from streamviz.core.json_value import JsonObject, as_list, as_object
from streamviz.core.wire.compaction import TRIGGER
from streamviz.core.wire.openai_responses_seals import summary_in

_ASK = (
    "Write a summary of this conversation. Whoever goes on from here sees it and the user's latest messages, and"
    " nothing else: say what the user wants, what was done and found, what was decided and what is left to do, with all"
    " names, paths, commands and figures that are needed for it. Answer with the summary alone; do not call any tools."
)
_SO_FAR = "A summary of the conversation so far, which was shortened:"


def asks_for_summary(given: object) -> bool:
    """Whether the input of a request ends by asking for a shorter conversation."""
    return _is_trigger(next(reversed(as_list(given)), None))


def in_words(items: list[object]) -> list[object]:
    """Items in which a model that does not know how to shorten a conversation is asked to in words."""
    return [_said(_ASK) if _is_trigger(item) else item for item in items]


def told_summary(item: JsonObject) -> JsonObject | None:
    """A compaction as a message of the user's; None if it cannot be read, as OpenAI's."""
    summary = summary_in(item)
    return _said(f"{_SO_FAR}\n\n{summary}") if summary else None


def _is_trigger(item: object) -> bool:
    return as_object(item).get("type") == TRIGGER


def _said(text: str) -> JsonObject:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
