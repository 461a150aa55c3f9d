"""Messages of ours that clients of OpenAI's responses format send back after a call was denied.

OpenAI wants a reasoning item right before what came of it, and does not know our items by their ids. A request that has
one of ours after the reasoning that led to a denied call, or refers to one by its id alone, would be refused from then
on.
"""

from collections.abc import Sequence

from streamviz.core.calls import made_id
from streamviz.core.json_value import JsonObject, as_list, as_object, as_text
from streamviz.core.request_parts import BETWEEN_AGENTS
from streamviz.core.wire.openai_responses_output import MADE_MESSAGE

# A request without these bytes has none of our messages.
MADE = f'"{MADE_MESSAGE}'.encode()
_NAMED: JsonObject = {"type": "output_text", "text": "[A policy denied this.]", "annotations": []}


def with_made_in_place(fields: JsonObject) -> JsonObject:
    """A request's fields as OpenAI accepts them; the same object if it has no message of ours."""
    items = as_list(fields.get("input"))
    return {**fields, "input": _in_place(items)} if any(map(_is_made, items)) else fields


def made_in(head: JsonObject) -> str:
    """The beginning of the ids of all our messages in an answer; empty if the answer has no id of its own."""
    return beginning_of(made_id(MADE_MESSAGE, 0, head)) if head.get("id") else ""


def beginning_of(id: str) -> str:
    """That beginning of the id of one of our messages; any other id unchanged."""
    return id.rpartition("_")[0] if id.startswith(MADE_MESSAGE) else id


def _in_place(items: Sequence[object]) -> list[object]:
    """Move our messages before the reasoning that they followed; reasoning from which nothing else came is left out."""
    placed: list[object] = []
    thoughts: list[object] = []
    is_behind = False
    for item in items:
        if _is_reasoning(item):
            thoughts = [] if is_behind else thoughts
            thoughts.append(item)
            is_behind = False
        elif _is_made(item):
            placed.append(_in_words(as_object(item)))
            is_behind = bool(thoughts)
        else:
            placed += thoughts if _is_answer(item) or not is_behind else []
            placed.append(item)
            thoughts, is_behind = [], False
    return placed if is_behind else [*placed, *thoughts]


def _is_made(item: object) -> bool:
    return as_text(as_object(item).get("id")).startswith(MADE_MESSAGE)


def _is_reasoning(item: object) -> bool:
    told = as_object(item)
    is_named = told.get("type") == "item_reference" and as_text(told.get("id")).startswith("rs_")
    return is_named or told.get("type") == "reasoning"


def _is_answer(item: object) -> bool:
    """Whether it is part of a model's answer: not something that a client says, or returns for a call."""
    told = as_object(item)
    if role := told.get("role"):
        return role == "assistant"
    kind = as_text(told.get("type"))
    return kind != BETWEEN_AGENTS and not kind.endswith(("_output", "_response"))


def _in_words(item: JsonObject) -> JsonObject:
    """Write out a message that is given only by its id, which the provider does not know."""
    if item.get("type") != "item_reference":
        return item
    return {"type": "message", "id": item["id"], "role": "assistant", "status": "completed", "content": [_NAMED]}
