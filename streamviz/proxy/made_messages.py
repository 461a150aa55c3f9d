"""Messages of ours that clients of OpenAI's responses give back, where a call was denied.

OpenAI wants a reasoning item right before what came of it, and knows no item of ours by its id. A request that has one
of ours behind the reasoning that led to a denied call, or names it by its id alone, would be refused from then on.
"""

from collections.abc import Sequence

from streamviz.core.json_value import JsonObject, as_list, as_object, as_text
from streamviz.core.request import ModelCall
from streamviz.core.wire import OPENAI_RESPONSES
from streamviz.core.wire.openai_responses_output import MADE_MESSAGE
from streamviz.proxy.requests import ModelRequest

_NAMED = "[A policy denied this.]"


def with_made_in_place(request: ModelRequest) -> ModelRequest:
    """The request as OpenAI takes it; the same where there is no message of ours in it."""
    items = as_list(request.fields.get("input"))
    if not any(map(_is_made, items)):
        return request
    fields = {**request.fields, "input": _in_place(items)}
    return request.replaced_by(ModelCall(OPENAI_RESPONSES.name, fields))


def _in_place(items: Sequence[object]) -> list[object]:
    """Ours goes before the reasoning that it stood behind, which is left out where nothing else came of it."""
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
    """Whether a model said it: a message of its own, or a call."""
    told = as_object(item)
    type = as_text(told.get("type"))
    return told.get("role") == "assistant" or type == "item_reference" or type.endswith("_call")


def _in_words(item: JsonObject) -> JsonObject:
    """A message that is told by its id alone is somewhere else than at the provider."""
    if item.get("type") != "item_reference":
        return item
    return {"type": "message", "role": "assistant", "content": _NAMED}
