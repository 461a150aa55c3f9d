"""Tool calls in the content blocks of Anthropic's messages: their arguments, read from a block and written into one."""

from streamviz.core.calls import CARRIERS, as_arguments, may_be_call, name_of, said_beside
from streamviz.core.json_value import JsonObject, as_text, levels, object_in

# The members that describe a block of unknown type. All others are the arguments of its call.
_ABOUT = frozenset({"type", "id", "call_id", "name", "server_name", "caller", "cache_control", "status"})


def is_call(part: JsonObject) -> bool:
    """Whether a block whose type is not `tool_use` is, or may be, a call: only calls have an id to be answered by."""
    return may_be_call({**part, "call_id": part.get("id")})


def says_twice(part: JsonObject) -> bool:
    """Whether clients may take something other than `input` for the arguments, or another tool for the one that is
    called."""
    if _has_input(part):
        return said_beside(part, "input")
    return any(_names(value) for key, value in part.items() if key not in _ABOUT and key not in CARRIERS)


def tool_name(part: JsonObject) -> str:
    """The name of the tool; taken from the block's type if it has none."""
    return as_text(part.get("name")) or ("" if _has_input(part) else name_of(as_text(part.get("type"))))


def arguments_of(part: JsonObject) -> str:
    """The arguments that the block begins with."""
    if not _is_by_members(part):
        return as_arguments(part["input"]) if part.get("input") else ""
    said = {key: value for key, value in part.items() if key not in _ABOUT and value is not None}
    return as_arguments(said) if said else ""


def call_part(label: str, id: str, name: str, arguments: str, began: JsonObject) -> JsonObject:
    """The content block of a call. `began` is upstream's block as it began, or what was kept of it."""
    if not _is_by_members(began):
        return {**began, "type": label or "tool_use", "id": id, "name": name, "input": object_in(arguments)}
    return {**object_in(arguments), **{key: value for key, value in began.items() if key in _ABOUT}}


def kept_of(part: JsonObject) -> JsonObject:
    """The members of upstream's block that stay if the call's arguments do not."""
    return {key: part[key] for key in ("type", "id", "name") if key in part} if _is_by_members(part) else {}


def has_input(label: str) -> bool:
    """Whether calls of this type have their arguments in `input`, which may come in pieces, and nowhere else."""
    return label in ("", "tool_use") or label.endswith("_tool_use")


def _names(value: object) -> bool:
    """Whether any object in it has a `name`, as the function of a call in OpenAI's format has."""
    return any("name" in each for level in levels(value) for each in level.objects)


def _is_by_members(part: JsonObject) -> bool:
    """Whether the call's arguments are the members of the block, rather than its `input`."""
    return not _has_input(part) and ("input" not in part or said_beside(part, "input"))


def _has_input(part: JsonObject) -> bool:
    return has_input(as_text(part.get("type")))
