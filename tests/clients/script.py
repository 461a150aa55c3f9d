"""What the scripted provider's model does: it thinks, calls one of the client's tools five times, then answers."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

STEPS = 5
THOUGHT = "One more look at the folder, then I know."
ANSWER = "All five steps are done."
SEEN = "I see the picture."
MODEL = "scripted-1"
# Tokens of each turn, in any format: the whole input, of which some was read from a cache and some written to it, and
# the whole output, including thinking.
INPUT, READ, WRITTEN, OUTPUT, REASONED = 1000, 800, 100, 20, 8

Object = dict[str, Any]
# The names of coding agents' shell tools, and how each takes a command.
SHELLS = {
    "Bash": lambda command: {"command": command, "description": "Look around"},
    "bash": lambda command: {"command": command, "description": "Look around"},
    "shell": lambda command: {"command": ["bash", "-lc", command]},
    "shell_command": lambda command: {"command": command},
    "exec_command": lambda command: {"cmd": command},
    "run_shell_command": lambda command: {"command": command, "description": "Look around"},
    "look": lambda command: {"command": command},
}
ONE_BY_ONE = (1, 1, 1, 1, 1)
SIDE_BY_SIDE = (1, 2, 2)


@dataclass(frozen=True)
class Call:
    """A call of one of the client's tools."""

    name: str
    arguments: str
    id: str


@dataclass(frozen=True)
class Turn:
    """What the model does next: call tools, or say something."""

    step: int
    calls: list[Call] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Everything that it says."""
        return "".join(self.pieces)


@dataclass(frozen=True)
class Asked:
    """The relevant parts of a request, in any format."""

    tools: dict[str, Object]
    results: int
    schema: Object | None = None
    has_image: bool = False
    must_call: bool = False


def turn_of(asked: Asked, plan: tuple[int, ...], *, is_endless: bool = False) -> Turn:
    """The turn that follows `asked.results` tool results; uses the first shell among the client's tools."""
    if is_endless:
        return Turn(0, pieces=[f"word{number} " for number in range(2_000)])
    shell = next((name for name in asked.tools if name in SHELLS), "")
    if shell and asked.results < STEPS:
        begun = next(sum(plan[:turn]) for turn in range(len(plan)) if sum(plan[: turn + 1]) > asked.results)
        count = next(each for turn, each in enumerate(plan) if sum(plan[: turn + 1]) > asked.results)
        steps = range(begun + 1, begun + count + 1)
        return Turn(begun, [call(shell, SHELLS[shell](f"echo step {step}"), step) for step in steps])
    if asked.must_call and asked.tools:
        name, schema = next(iter(asked.tools.items()))
        return Turn(asked.results, [call(name, instance(schema), asked.results)])
    if asked.schema is not None:
        return Turn(asked.results, pieces=halves(json.dumps(instance(asked.schema))))
    return Turn(asked.results, pieces=halves(SEEN if asked.has_image else ANSWER))


def call(name: str, arguments: Object, step: int) -> Call:
    """A call with a new id, as long as OpenAI's ids."""
    return Call(name, json.dumps(arguments), f"call_{step}_{uuid4().hex[:24]}")


def instance(schema: Object) -> Any:
    """A value that matches a simple schema."""
    kind = schema.get("type", "object")
    if "properties" in schema:
        return {name: instance(each) for name, each in schema["properties"].items()}
    if "enum" in schema:
        return schema["enum"][0]
    plain = {"string": "Bern", "integer": 1, "number": 1, "boolean": True, "array": []}
    return plain.get(str(kind).lower(), {})


def halves(text: str) -> list[str]:
    """A text in two pieces, as if streamed."""
    return [text[: len(text) // 2], text[len(text) // 2 :]]


def event(data: Object, name: str = "") -> bytes:
    """One server-sent event."""
    return (f"event: {name}\n" if name else "").encode() + f"data: {json.dumps(data)}\n\n".encode()


def parts_of(messages: list[Object]) -> Iterator[Object]:
    """The parts of all messages whose content is a list."""
    for message in messages:
        content = message.get("content")
        yield from (part for part in content if isinstance(part, dict)) if isinstance(content, list) else ()
