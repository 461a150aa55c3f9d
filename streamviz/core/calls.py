"""Tool calls of all wire formats: one vocabulary for policies, limits, the record and pages.

A call is a `ToolCallStreamBlock`, whatever its wire calls it. Its `label` is the wire's own word (`shell_call`,
`server_tool_use`), empty for the format's ordinary function call. Its name is the tool's or, if the wire has none, what
the label says (`shell`). Its arguments are JSON text, even if they came as an object, or for the tools of FREE_TEXT
whatever the tool takes.
"""

import json
from collections.abc import Mapping

from streamviz.core.json_value import JsonObject, as_object, as_text, object_in, value_in

# Labels of calls whose input is plain text, not JSON: the client's own tools with a grammar or none.
FREE_TEXT = frozenset({"custom", "custom_tool_call"})

# Members in which calls have their arguments, whatever their wire.
CARRIERS = (
    "arguments", "input", "action", "operation", "code", "command",
    "actions", "args", "argv", "cmd", "commands", "inputs", "kwargs", "parameters", "params", "patch", "script",
)  # fmt: skip
# The only member of arguments that are an object in place of text which is none, as Anthropic's documentation says.
INVALID_JSON = "INVALID_JSON"
# How the types of calls end, and those of their results.
_CALL_ENDINGS = ("_call", "_use", "_request")
RESULT_ENDINGS = ("_output", "_result")

# A call that stands for others, which it has in `tool_uses`. OpenAI's models write one now and then, without being
# offered it, and Vercel's SDK carries out the calls within.
_SEVERAL = ("parallel", "multi_tool_use.parallel")

# Qwen Code's own tool that calls those of MCP servers by their names, by all names that it has itself, in lower case.
_BY_NAME = frozenset({"tool_call", "toolcall", "toolcalltool"})

# What OpenAI's chat had before there were tools: one function call a message, in a field of its own.
LEGACY_CALL = "function_call"
_MOST_OF_ID = 24


def in_namespace(namespace: str, name: str) -> str:
    """A tool's name for providers without namespaces. Codex's older versions have the underscores in the namespace."""
    return f"{namespace.removesuffix('__')}__{name}"


def may_be_call(members: Mapping[str, object]) -> bool:
    """Whether something of a type that its format does not have, or without a type, may be a call: a client may run it.
    A result is not a call."""
    type = members.get("type")
    word = type if isinstance(type, str) else ""
    if word.endswith(RESULT_ENDINGS):
        return False
    if word.endswith(_CALL_ENDINGS) or any(members.get(key) for key in ("call_id", "name", *CARRIERS)):
        return True
    # Such as the function of a chat call.
    return any(isinstance(value, dict) and bool(value.get("name")) for value in members.values())


def said_beside(members: Mapping[str, object], carrier: str) -> bool:
    """Whether a call that has its arguments in `carrier` has some elsewhere, too."""
    return any(members.get(key) for key in CARRIERS if key != carrier)


def is_ordinary(label: str) -> bool:
    """Whether a call with this label is of a function that the client described."""
    return label in ("", LEGACY_CALL)


def name_of(label: str) -> str:
    """The name of a tool whose call has none on the wire: `shell` for a `shell_call`."""
    return label.removesuffix("_call")


def may_stand_for_others(name: str) -> bool:
    """Whether a call by this name may be one that stands for others."""
    return name in _SEVERAL or calls_by_name(name)


def stands_for_others(name: str, arguments: str) -> bool:
    """Whether a call of a tool that was not offered may be carried out as several other calls."""
    return name in _SEVERAL and bool(object_in(arguments).get("tool_uses"))


def calls_by_name(name: str) -> bool:
    """Whether a tool of this name calls another, whose name is in its arguments."""
    return name.casefold() in _BY_NAME


def called_by_name(arguments: str) -> str:
    """The tool that such a call calls, or has called by calling itself; empty if that cannot be read."""
    told = object_in(arguments)
    while calls_by_name(name := as_text(told.get("name"))):
        given = told.get("arguments")
        # Qwen Code also takes an object as JSON text.
        told = object_in(given) if isinstance(given, str) else as_object(given)
    return name


def as_arguments(value: object) -> str:
    """Text as it is; an object as JSON with a space after each comma and colon, as models write it themselves."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def is_input(arguments: str) -> bool:
    """Whether `arguments` is a complete JSON object."""
    return isinstance(value_in(arguments), dict)


def made_id(prefix: str, number: int, head: JsonObject) -> str:
    """An id for the client if upstream has none, such as `call_chatcmpl1_0`: different in each answer, as clients send
    several answers back together. It contains the end of the answer's own id, which is in `head`."""
    of = "".join(letter for letter in as_text(head.get("id")) if letter.isascii() and letter.isalnum())[-_MOST_OF_ID:]
    return f"{prefix}_{of}_{number}" if of else f"{prefix}_{number}"
