"""A step of a plan, as a model writes it."""

import re
from typing import Literal, get_args

import msgspec

from streamviz.core.json_value import JsonObject, as_json_text, decode

_FENCE = re.compile(r"```(json)?$")
NextAction = Literal["continue_thinking", "use_tools", "finished"]


class ToolUse(msgspec.Struct, frozen=True):
    """A tool call that the plan asks for. `arguments` is a JSON object, or the text of one."""

    name: str
    arguments: str | dict[str, object] | None = None
    reason: str | None = None

    @property
    def arguments_text(self) -> str:
        """The arguments as JSON."""
        return as_json_text(self.arguments) or "{}"


class Plan(msgspec.Struct, frozen=True):
    """What to do next, and why. Models omit what a step does not need, or set it to null."""

    thought: str
    next_action: NextAction
    tools_to_use: list[ToolUse] | None = None
    concurrent_execution: bool | None = None


class NoPlan(Exception):
    """What a model wrote is not a plan; the model is told why."""


def read_plan(text: str) -> Plan:
    """The plan that a model wrote. Raises NoPlan."""
    try:
        return msgspec.convert(decode(_unwrapped(text)), Plan)
    except ValueError as error:  # includes msgspec's errors
        raise NoPlan(str(error)) from error


def _unwrapped(text: str) -> str:
    """The JSON object in an answer: models like to put it into a code block, with words before and after it. Raises
    NoPlan if it is in the middle of a text instead, where it may be a quotation."""
    start, end = text.find("{"), text.rfind("}")
    if not 0 <= start < end:
        return text
    before, behind = text[:start].strip(), text[end + 1 :].strip()
    if before and behind and not _FENCE.search(before):
        raise NoPlan("there are words before and after the JSON: write the JSON alone")
    return text[start : end + 1]


def _words(meaning: str) -> JsonObject:
    return {"type": "string", "description": meaning}


def _closed(properties: JsonObject) -> JsonObject:
    """An object with exactly these members, as OpenAI's strict schemas require."""
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
        "next_action": {"type": "string", "enum": list(get_args(NextAction))},
        "tools_to_use": {"type": "array", "items": _TOOL_USE},
        "concurrent_execution": {"type": "boolean"},
    }
)
