"""Tool calls as the items of a response word them: what of an item is the call's arguments, and an item from them.

Types that are not known are taken for calls where they may be one: a client may carry them out.
"""

import json
from dataclasses import dataclass
from typing import NamedTuple

from streamviz.core.blocks import ToolCallStreamBlock
from streamviz.core.calls import name_of
from streamviz.core.json_value import JsonObject, as_list, as_object, as_text, decode
from streamviz.core.wire.arguments import as_arguments, as_input


class Shape(NamedTuple):
    """Where a type of call has its arguments.

    `carrier` is the one field that is all of them, and `fields` are those that together make them where there is none.
    `kept` are the other fields that say how the call is to be carried out; the rest tells of what came of it.
    """

    carrier: str = ""
    fields: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    has_name: bool = False
    has_call_id: bool = True
    is_text: bool = False


_CALLER = ("caller", "created_by")
CALLS: dict[str, Shape] = {
    "function_call": Shape("arguments", kept=("namespace", *_CALLER), has_name=True, is_text=True),
    "custom_tool_call": Shape("input", kept=("namespace", *_CALLER), has_name=True, is_text=True),
    "mcp_call": Shape(
        "arguments", kept=("server_label", "approval_request_id"), has_name=True, has_call_id=False, is_text=True
    ),
    "mcp_approval_request": Shape("arguments", kept=("server_label",), has_name=True, has_call_id=False, is_text=True),
    "local_shell_call": Shape("action"),
    "shell_call": Shape("action", kept=("environment", *_CALLER)),
    "apply_patch_call": Shape("operation", kept=_CALLER),
    "computer_call": Shape(fields=("action", "actions"), kept=("pending_safety_checks",)),
    "tool_search_call": Shape("arguments", kept=("execution",)),
    "program": Shape(fields=("code",), kept=("fingerprint",)),
    "web_search_call": Shape("action", has_call_id=False),
    "file_search_call": Shape(fields=("queries",), has_call_id=False),
    "code_interpreter_call": Shape(fields=("code",), kept=("container_id",), has_call_id=False),
    "image_generation_call": Shape(
        fields=("action", "revised_prompt", "size", "quality", "background", "output_format"), has_call_id=False
    ),
}
# What clients require of an item, where upstream's own is not there to say it.
_REQUIRED: dict[str, JsonObject] = {
    "code_interpreter_call": {"code": None, "container_id": "", "outputs": None},
    "computer_call": {"pending_safety_checks": []},
    "file_search_call": {"queries": []},
    "image_generation_call": {"result": None},
    "mcp_approval_request": {"server_label": ""},
    "mcp_call": {"server_label": ""},
    "program": {"fingerprint": ""},
    "shell_call": {"environment": None},
    "tool_search_call": {"execution": "client"},
}
_NO_CALLS = frozenset(
    {"", "message", "reasoning", "compaction", "item_reference", "mcp_list_tools", "mcp_approval_response"}
    | {"additional_tools"}
)
_CARRIERS = ("arguments", "input", "action", "operation", "code")
# Of an item of unknown type: what describes it, and what came of it.
_NO_ARGUMENTS = frozenset({"type", "id", "status", "call_id", "name", "namespace", "caller", "created_by"})
_RESULTS = frozenset({"output", "outputs", "result", "results", "error"})
# Deltas of these tell of what came of a call.
_RESULT_WORDS = ("output", "result", "partial")


def is_call(details: JsonObject) -> bool:
    """Whether an item is a call, or may be one."""
    type = as_text(details.get("type"))
    if type in CALLS:
        return True
    if type in _NO_CALLS or type.endswith("_output"):
        return False
    return type.endswith(("_call", "_request")) or any(details.get(key) for key in ("call_id", "name", *_CARRIERS))


def shape_of(details: JsonObject) -> Shape:
    """Where an item has its arguments; where its type is not known, in the one field that usually holds them."""
    known = CALLS.get(as_text(details.get("type")))
    if known is not None:
        return known
    carriers = [key for key in _CARRIERS if details.get(key) is not None]
    fields = [key for key in details if key not in _NO_ARGUMENTS | _RESULTS]
    has_name, has_call_id = "name" in details, "call_id" in details
    if len(carriers) == len(fields) == 1 and isinstance(details[carriers[0]], str | dict):
        return Shape(carriers[0], has_name=has_name, has_call_id=has_call_id)
    return Shape(fields=tuple(fields), has_name=has_name, has_call_id=has_call_id)


def label_of(type: str) -> str:
    """The label of a call's block."""
    return "" if type == "function_call" else type


def id_of(details: JsonObject) -> str:
    """By what a call is answered: its call_id, for types without one the item's own id."""
    call_id = as_text(details.get("call_id"))
    is_named_so = as_text(details.get("type")) in ("function_call", "custom_tool_call")
    return call_id if call_id or is_named_so else as_text(details.get("id"))


def tool_name(details: JsonObject) -> str:
    """The name of the tool; what the type says where the item names none."""
    type = as_text(details.get("type"))
    name = as_text(details.get("name"))
    return name if name or type in ("function_call", "custom_tool_call") else name_of(type)


def arguments_of(details: JsonObject) -> str:
    """A call's arguments, as JSON text or as the plain text that its tool takes; empty where the item has none."""
    shape = shape_of(details)
    if shape.carrier:
        return as_arguments(details.get(shape.carrier))
    said = {key: details[key] for key in shape.fields if details.get(key) is not None}
    return as_arguments(said) if said else ""


def call_item(block: ToolCallStreamBlock, told: JsonObject) -> JsonObject:
    """The item of a call. `told` is what else upstream's says."""
    type = block.label or "function_call"
    details: JsonObject = {**told, "type": type}
    shape = shape_of(details)
    item: JsonObject = {"status": "completed", **_REQUIRED.get(type, {}), **details, **_carried(shape, block.text)}
    if shape.has_name or block.name != name_of(type):
        item["name"] = block.name
    if not shape.has_call_id:
        return {"id": block.id, **item}
    if told.get("call_id", block.id) is not None:
        item["call_id"] = block.id
    return {"id": f"fc_{block.id}", **item}


def kept_of(told: JsonObject) -> JsonObject:
    """What of upstream's item stays where the call's arguments do not."""
    shape = shape_of(told)
    names = ("id", "type", "status", *shape.kept, *(("call_id",) if shape.has_call_id else ()))
    return {key: told[key] for key in names if key in told}


def _carried(shape: Shape, text: str) -> JsonObject:
    if not shape.carrier:
        said = as_input(text)
        # Plain text has no field of its own to go to.
        return said or ({"arguments": text} if text else {})
    return {shape.carrier: text if shape.is_text else _value(text)}


def _value(text: str) -> object:
    try:
        return decode(text)
    except ValueError:
        return text


def is_same(one: str, other: str) -> bool:
    """Whether two texts are the same arguments, however they are spaced."""
    if one == other:
        return True
    try:
        return decode(one) == decode(other)
    except ValueError:
        return False


def split_word(word: str) -> tuple[str, str]:
    """The type of the item that `word`, of an event's name, is about, and the field: `shell_call`, `command`."""
    for type in CALLS:
        if word.startswith(f"{type}_"):
            return type, word[len(type) + 1 :]
    for ending in ("_call_", "_request_"):
        type, found, field = word.partition(ending)
        if found:
            return f"{type}{ending[:-1]}", field
    return word, ""


def is_result(field: str) -> bool:
    """Whether a field of an event's name tells of what came of a call."""
    return field.startswith(_RESULT_WORDS)


@dataclass(slots=True)
class ArgumentsWriter:
    """Writes the arguments of a call whose fields come as plain text, piece by piece: JSON that is whole at the end.

    Each method gives what is to be appended.
    """

    said: dict[tuple[str, int | None], list[str]]
    _at: tuple[str, int | None] | None = None

    def piece(self, key: str, number: int | None, text: str) -> str:
        """A piece of a field, or of a place in a list."""
        place = key, number
        self.said.setdefault(place, []).append(text)
        opening = "" if place == self._at else self._open(place)
        self._at = place
        return opening + json.dumps(text, ensure_ascii=False)[1:-1]

    def end(self, whole: JsonObject) -> str:
        """The end, with what `whole` has beside the fields that came."""
        rest = {key: value for key, value in whole.items() if key not in self.fields}
        tail = json.dumps(rest, ensure_ascii=False)[1:]
        return f"{self._close()}{', ' if rest else ''}{tail}"

    @property
    def fields(self) -> JsonObject:
        """What has come so far, as the arguments will say it."""
        fields: JsonObject = {}
        for (key, number), pieces in self.said.items():
            text = "".join(pieces)
            if number is None:
                fields[key] = text
            else:
                listed = fields.setdefault(f"{key}s", [])
                if isinstance(listed, list):
                    listed.append(text)
        return fields

    def _open(self, place: tuple[str, int | None]) -> str:
        key, number = place
        if self._at is not None and self._at[0] == key and number is not None:
            return '", "'
        name = json.dumps(key if number is None else f"{key}s", ensure_ascii=False)
        return f'{"{" if self._at is None else self._close() + ", "}{name}: {"[" if number is not None else ""}"'

    def _close(self) -> str:
        return '"' if self._at is None or self._at[1] is None else '"]'


def whole_fields(details: JsonObject) -> JsonObject:
    """What the arguments of a call are, field by field."""
    shape = shape_of(details)
    if shape.carrier:
        return as_object(details.get(shape.carrier))
    return {key: details[key] for key in shape.fields if details.get(key) is not None}


def announced(details: JsonObject) -> object:
    """The arguments that a call is announced with, before they come: text or fields, None where there are none yet."""
    shape = shape_of(details)
    said: object = details.get(shape.carrier) if shape.carrier else whole_fields(details)
    return None if _is_empty(said) else said


def goes_on(begun: object, whole: object) -> bool:
    """Whether `whole` is what `begun` was the beginning of."""
    if _is_empty(begun):
        return True
    if isinstance(begun, str):
        return isinstance(whole, str) and whole.startswith(begun)
    if isinstance(begun, dict):
        return isinstance(whole, dict) and all(goes_on(value, whole.get(key)) for key, value in begun.items())
    if isinstance(begun, list):
        is_long = isinstance(whole, list) and len(whole) >= len(begun)
        return is_long and all(goes_on(*pair) for pair in zip(begun, as_list(whole), strict=False))
    return begun == whole


def _is_empty(value: object) -> bool:
    if isinstance(value, dict):
        return all(_is_empty(inner) for inner in value.values())
    return value is None or value == "" or value == []
