"""Tool calls as items of a response: which members of an item are the call's arguments.

Items of unknown type are taken for calls if they may be one: a client may run them.
"""

from typing import NamedTuple

from streamviz.core.call_runners import Runner, runner_of
from streamviz.core.calls import as_arguments, name_of
from streamviz.core.json_value import JsonObject, as_json_text, as_object, as_text, objects
from streamviz.core.media import PREVIEW
from streamviz.core.wire.openai_responses_arguments import is_empty, is_same


class Shape(NamedTuple):
    """Where a type of call has its arguments.

    `carrier` is the field that has all of them; without one, `fields` together make them up. `beside` are arguments
    outside the carrier, `kept` the other fields that say how the call is to be run; the rest is about its result.
    """

    carrier: str = ""
    fields: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
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
    "shell_call": Shape("action", beside=("environment",), kept=_CALLER),
    "apply_patch_call": Shape("operation", kept=_CALLER),
    "computer_call": Shape(fields=("action", "actions")),
    "tool_search_call": Shape("arguments", kept=("execution",)),
    "program": Shape(fields=("code",), kept=("fingerprint",)),
    "multi_agent_call": Shape(fields=("action", "arguments")),
    "web_search_call": Shape("action", has_call_id=False),
    "file_search_call": Shape(fields=("queries",), has_call_id=False),
    "code_interpreter_call": Shape(fields=("code",), kept=("container_id",), has_call_id=False),
    "image_generation_call": Shape(
        fields=("action", "revised_prompt", "size", "quality", "background", "output_format"), has_call_id=False
    ),
}
_NO_CALLS = frozenset(
    {"message", "reasoning", "compaction", "item_reference", "mcp_list_tools", "mcp_approval_response"}
    | {"additional_tools"}
)
# Members that have the arguments of a call: of its own type, of another, or of an unknown one.
_CARRIERS = (
    *("arguments", "args", "input", "inputs", "parameters", "params", "payload", "body", "tool_input", "tool_args"),
    *("command", "commands", "cmd", "action", "actions", "operation", "operations", "code", "script", "patch", "diff"),
    *("function", "custom", "query"),
)
_NAMES = ("name", "tool_name", "tool", "function")
# Of an item of unknown type: the members that describe it, and those with its results.
_NO_ARGUMENTS = frozenset({"type", "id", "status", "call_id", "name", "namespace", "caller", "created_by"})
_RESULTS = frozenset({"output", "outputs", "result", "results", "error"})
# What vendors say about a call of known type beside its arguments; its client runs none of it.
_DESCRIPTIONS = _NO_ARGUMENTS | {
    *("agent", "async", "created_at", "extra_content", "metadata", "object", "phase", "provider_data"),
    *("provider_specific_fields", "role", "server_label", "signature", "thought_signature"),
}
# Deltas of fields that begin like this have the results of a call.
_RESULT_WORDS = ("output", "result", "partial")


def is_call(details: JsonObject) -> bool:
    """Whether an item is a call, or may be one."""
    type = as_text(details.get("type"))
    if type in CALLS:
        return True
    if type in _NO_CALLS or type.endswith("_output"):
        return False
    says_so = any(details.get(key) for key in ("call_id", "name", *_CARRIERS))
    return says_so or type.endswith(("_call", "_request")) or bool(_names_within(details))


def shape_of(details: JsonObject) -> Shape:
    """Where an item has its arguments; if of unknown type, in its only such field, or in all but descriptions."""
    known = CALLS.get(as_text(details.get("type")))
    if known is not None:
        return known
    carriers = [key for key in _CARRIERS if details.get(key) is not None]
    said = [key for key in details if key not in _NO_ARGUMENTS]
    # If it has nothing else, what looks like a result is its arguments.
    fields = [key for key in said if key not in _RESULTS] or said
    has_name, has_call_id = "name" in details, "call_id" in details
    if len(carriers) == len(fields) == 1 and isinstance(details[carriers[0]], str | dict):
        return Shape(carriers[0], has_name=has_name, has_call_id=has_call_id)
    return Shape(fields=tuple(fields), has_name=has_name, has_call_id=has_call_id)


def label_of(type: str) -> str:
    """The label of a call's block. `custom` is chat's word for a call with plain text, which has another type here."""
    return "" if type in ("function_call", "custom") else type


def id_of(details: JsonObject) -> str:
    """The id that a call is answered by: its call_id or, for types without one, the item's own id."""
    call_id = as_text(details.get("call_id"))
    is_named_so = as_text(details.get("type")) in ("function_call", "custom_tool_call")
    return call_id if call_id or is_named_so else as_text(details.get("id"))


def given_name(details: JsonObject) -> str:
    """The tool's name as an item has it; if its type is unknown, in any of the usual members."""
    for key in ("name",) if as_text(details.get("type")) in CALLS else _NAMES:
        said = details.get(key)
        if name := as_text(as_object(said).get("name")) or as_text(said):
            return name
    return next(iter(_names_within(details)), "")


def _names_within(details: JsonObject) -> list[str]:
    """The names inside the members of an item of unknown type, such as that of a chat call's function."""
    if as_text(details.get("type")) in CALLS:
        return []
    said = (as_object(value) for key, value in details.items() if key not in _RESULTS)
    return [name for each in said if (name := as_text(each.get("name")))]


def _names_as_in_chat(details: JsonObject) -> list[str]:
    """The names where a call of chat has its tool's, which an item of any type may have beside its own."""
    said = (as_object(details.get(key)) for key in ("function", "custom"))
    return [name for each in said if (name := as_text(each.get("name")))]


def tool_name(details: JsonObject) -> str:
    """The name of the tool; taken from the type if the item has none."""
    type = as_text(details.get("type"))
    name = given_name(details)
    return name if name or type in ("function_call", "custom_tool_call") else name_of(type)


def arguments_of(details: JsonObject) -> str:
    """A call's arguments, as JSON text or as the plain text that its tool takes; empty if the item has none."""
    said = _said(details)
    return as_arguments(said) if shape_of(details).carrier or said else ""


def says_two(details: JsonObject) -> bool:
    """Whether a call has different arguments, or different names, in two of its members: clients may read either."""
    if not {given_name(details)}.issuperset([*_names_within(details), *_names_as_in_chat(details)]):
        return True
    shape = shape_of(details)
    own = details.get(shape.carrier)
    if shape.is_text:
        others = _other_carriers(details, shape).values()
        return not is_empty(own) and any(not is_same(as_arguments(own), as_arguments(other)) for other in others)
    return any(value != as_object(own).get(key, value) for key, value in members_beside(details, shape).items())


def _said(details: JsonObject) -> object:
    """A call's arguments, in its carrier and beside that, or in another carrier if its own is empty."""
    shape = shape_of(details)
    if not shape.carrier:
        own = {key: details[key] for key in shape.fields if details.get(key) is not None}
        return {**own, **members_beside(details, shape)}
    said = details.get(shape.carrier)
    if shape.is_text:
        others = _other_carriers(details, shape) if is_empty(said) else {}
        values = list(others.values())
        return said if not values else values[0] if len(values) == 1 else others
    beside = members_beside(details, shape)
    if not beside:
        return said
    return {**(said if isinstance(said, dict) else {shape.carrier: said} if said else {}), **beside}


def _other_carriers(details: JsonObject, shape: Shape) -> JsonObject:
    """Those members of a call with arguments as text that are carriers in other types."""
    other = (key for key in _CARRIERS if key != shape.carrier and key in details)
    return {key: details[key] for key in other if not is_empty(details[key])}


def members_beside(details: JsonObject, shape: Shape) -> JsonObject:
    """The members of a call beyond its carrier, fields and description. For a call that the provider runs, which may
    have its results, too, only those that have the arguments in other types."""
    type = as_text(details.get("type"))
    if shape.is_text or type not in CALLS:
        return {}
    own = (shape.carrier, *shape.fields, *shape.kept)
    is_providers = runner_of(type) is Runner.PROVIDER
    said = (key for key in details if key in _CARRIERS) if is_providers else details
    keys = (key for key in said if key not in own and key not in _DESCRIPTIONS and not key.startswith("internal_"))
    return {key: details[key] for key in keys if not is_empty(details[key])}


def picture_of(details: JsonObject) -> str:
    """The images that a call made, as JSON; empty if it made none."""
    type = as_text(details.get("type"))
    if type == "code_interpreter_call":
        drawn = [each for each in objects(details.get("outputs")) if each.get("type") == "image"]
        return as_json_text(drawn) if drawn else ""
    if type != "image_generation_call" or not as_text(details.get("result")):
        return ""
    return as_json_text({key: details[key] for key in ("result", "output_format") if details.get(key)})


def preview_in(event: JsonObject) -> str:
    """An image that is not finished yet, as a line of JSON that the next one follows; empty if there is none."""
    told = {key: event[key] for key in ("partial_image_b64", "output_format") if as_text(event.get(key))}
    return f"{as_json_text(told)}\n" if PREVIEW in told else ""


def split_word(word: str) -> tuple[str, str]:
    """Split a word of an event's name into an item's type and a field: `shell_call`, `command`."""
    for type in CALLS:
        if word.startswith(f"{type}_"):
            return type, word[len(type) + 1 :]
    for ending in ("_call_", "_request_"):
        type, found, field = word.partition(ending)
        if found:
            return f"{type}{ending[:-1]}", field
    return word, ""


def is_result(field: str) -> bool:
    """Whether a field in an event's name has results of a call."""
    return field.startswith(_RESULT_WORDS)


def whole_fields(details: JsonObject) -> JsonObject:
    """The arguments of a call, field by field."""
    return as_object(_said(details))


def announced(details: JsonObject) -> object:
    """The arguments that a call is announced with, before they come: text or fields, None if there are none yet."""
    said = _said(details)
    return None if is_empty(said) else said
