"""A step of a plan, as a model writes it."""

import re
from typing import Literal

import msgspec

from streamviz.core.json_value import JsonObject, as_json_text, decode

_FENCE = re.compile(r"```(json)?$")
NextAction = Literal["continue_thinking", "use_tools", "finished"]


class ToolUse(msgspec.Struct, frozen=True):
    """A call that the plan wants made. `arguments` is the text of a JSON object, or that object."""

    name: str
    arguments: str | dict[str, object] | None = None
    reason: str | None = None

    @property
    def arguments_text(self) -> str:
        """As JSON."""
        return as_json_text(self.arguments) or "{}"


class Plan(msgspec.Struct, frozen=True):
    """What is to be done next, and why. What has no use in a step models leave out, or say that it is null."""

    thought: str
    next_action: NextAction
    tools_to_use: list[ToolUse] | None = None
    concurrent_execution: bool | None = None


class NoPlan(Exception):
    """What a model wrote is no plan; the model is told why."""


def read_plan(text: str) -> Plan:
    """Raises NoPlan."""
    try:
        return msgspec.convert(decode(_unwrapped(text)), Plan)
    except ValueError as error:  # which msgspec's errors are too
        raise NoPlan(str(error)) from error


def _unwrapped(text: str) -> str:
    """Models like to put JSON into a block of code, and to say something before and behind that. What stands amid the
    words themselves may be quoted, and is no plan."""
    start, end = text.find("{"), text.rfind("}")
    if not 0 <= start < end:
        return text
    before, behind = text[:start].strip(), text[end + 1 :].strip()
    if before and behind and not _FENCE.search(before):
        raise NoPlan("there are words before the JSON and behind it: write the JSON alone")
    return text[start : end + 1]


def _words(meaning: str) -> JsonObject:
    return {"type": "string", "description": meaning}


def _closed(properties: JsonObject) -> JsonObject:
    """An object of these members and no others, as OpenAI's strict schemas want it."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_TOOL_USE = _closed(
    {
        "name": _words("The tool's name."),
        "arguments": _words("Its arguments, as the text of a JSON object."),
        "reason": _words("Why it is used."),
    }
)
PLAN_SCHEMA = _closed(
    {
        "thought": _words("What you think now."),
        "next_action": {"type": "string", "enum": ["continue_thinking", "use_tools", "finished"]},
        "tools_to_use": {"type": "array", "items": _TOOL_USE},
        "concurrent_execution": {"type": "boolean"},
    }
)
