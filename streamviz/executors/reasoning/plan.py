"""A step of a plan, as a model writes it."""

from typing import Literal

import msgspec

from streamviz.core.json_value import JsonObject, as_json_text, decode

NextAction = Literal["continue_thinking", "use_tools", "finished"]
_FENCE = "```"


class ToolUse(msgspec.Struct, frozen=True):
    """A call that the plan wants made. `arguments` is the text of a JSON object, or that object."""

    name: str
    arguments: str | dict[str, object] = ""
    reason: str = ""

    @property
    def arguments_text(self) -> str:
        """As JSON."""
        return as_json_text(self.arguments) or "{}"


class Plan(msgspec.Struct, frozen=True):
    """What is to be done next, and why."""

    thought: str
    next_action: NextAction
    tools_to_use: list[ToolUse] = []
    concurrent_execution: bool = False


class NoPlan(Exception):
    """What a model wrote is no plan; the model is told why."""


def read_plan(text: str) -> Plan:
    """Raises NoPlan."""
    try:
        return msgspec.convert(decode(_unfenced(text)), Plan)
    except ValueError as error:  # which msgspec's errors are too
        raise NoPlan(str(error)) from error


def _unfenced(text: str) -> str:
    """Models like to put JSON into a block of code."""
    text = text.strip()
    if not text.startswith(_FENCE):
        return text
    return text.removeprefix(_FENCE).removeprefix("json").removesuffix(_FENCE)


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
