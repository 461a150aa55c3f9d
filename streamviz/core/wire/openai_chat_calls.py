"""The pieces of tool calls in OpenAI's chat completions: what each says."""

from typing import NamedTuple

from streamviz.core.calls import CARRIERS, FREE_TEXT, LEGACY_CALL, name_of, said_beside
from streamviz.core.json_value import JsonObject, as_index, as_json_text, as_object, as_text

_FUNCTION, CUSTOM = "function", "custom"


class Piece(NamedTuple):
    """What a piece of a call says. `label` is the wire's type of a call that is not a function's. `where` is the index
    of the piece and the member that has its content: clients add up what comes in the same place."""

    id: str
    name: str
    arguments: str
    label: str
    # Its index, if it is a valid one.
    place: int | None
    # Whether the piece can be read in two ways by itself; whether its arguments came as JSON rather than as text.
    is_odd: bool
    is_object: bool
    where: tuple[object, str]

    @property
    def is_custom(self) -> bool:
        return self.label == CUSTOM


def piece_of(call: JsonObject) -> Piece:
    """A piece of `tool_calls`."""
    word = as_text(call.get("type"))
    function, custom = as_object(call.get(_FUNCTION)), as_object(call.get(CUSTOM))
    member = _FUNCTION if function else CUSTOM if custom else word
    # Many clients go by the member alone: a function's arguments are JSON whatever its type says.
    is_function = word == _FUNCTION or (bool(function) and word in FREE_TEXT)
    label = CUSTOM if custom and not function else "" if is_function else word
    said = function or custom or as_object(call.get(word))
    index = as_index(call.get("index"))
    given, other = _given(said, is_custom=said is custom, is_new=not function)
    is_odd = bool(function and custom) or (index is None and call.get("index") is not None) or other is not None
    is_odd = is_odd or any(each and not isinstance(each, dict) for each in (call.get(_FUNCTION), call.get(CUSTOM)))
    name = as_text(said.get("name"))
    if not said and (label or said_beside(call, "")):
        # An unknown kind of call: everything it says is its arguments.
        given = {key: value for key, value in call.items() if key not in ("index", "id", "type")} or None
        name = as_text(call.get("name")) or name_of(label)
    elif said:
        is_new = not function and not custom
        is_odd = is_odd or said_beside({**call, word: None}, "") or call.get("name") not in (None, "", name)
        is_odd = is_odd or _says_twice(said, is_new=is_new)
        if given is None and is_new:
            given = {key: value for key, value in said.items() if key != "name"} or None
    is_object = given is not None and not isinstance(given, str)
    where = call.get("index"), member
    return Piece(as_text(call.get("id")), name, as_json_text(given), label, index, is_odd, is_object, where)


def _given(said: JsonObject, *, is_custom: bool, is_new: bool) -> tuple[object, object]:
    """What clients take for the arguments, and what they ignore, or may take instead."""
    arguments, text = said.get("arguments"), said.get("input")
    return (text, arguments) if is_custom or (is_new and arguments is None) else (arguments, text)


def _says_twice(said: JsonObject, *, is_new: bool) -> bool:
    """Whether other members may be taken for the arguments; `_given` deals with `arguments` and `input`."""
    carriers = {key for key in CARRIERS if said.get(key)} - {"arguments", "input"}
    return bool(carriers) and not (is_new and not said.get("arguments") and not said.get("input"))


def legacy_piece(call: JsonObject) -> Piece:
    """A piece of `function_call`."""
    return piece_of({_FUNCTION: call})._replace(label=LEGACY_CALL)
