"""Shared by the drivers of Python clients, which run in environments of their own, with only the client installed.

A driver takes one argument, JSON: `base` (streamviz's address), `key`, `dialect`, and `models`, the model for each
task. It prints a line of JSON per task: the result as the client saw it.
"""

import asyncio
import base64
import inspect
import json
import logging
import struct
import sys
import traceback
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

QUESTION = "Do five steps"
SYSTEM = "You are an agent."
PARAMETERS: Any = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
CITY: Any = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
# These tasks are meant to fail, so the client must not retry.
FAILING = ("busy", "refused", "broken", "cut")
PIECES_BEFORE_LEAVING = 5
MOST_TURNS = 12


@dataclass
class Asked:
    """A task, and where to send its requests."""

    base: str
    key: str
    dialect: str
    task: str
    model: str
    commands: list[str] = field(default_factory=list)

    @property
    def retries(self) -> int:
        """How often the client may retry."""
        return 0 if self.task in FAILING else 3

    def look(self, command: str) -> str:
        """Look at the folder."""
        self.commands.append(command)
        return "done"

    def has_left(self, pieces: int) -> bool:
        """Whether the client should leave by now, after `pieces` pieces of the answer."""
        return self.task == "abort" and pieces >= PIECES_BEFORE_LEAVING


def png() -> str:
    """A picture of one pixel, in base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    picture = b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0\xff\0\0")) + chunk(b"IEND", b"")
    return base64.b64encode(picture).decode()


def main(run: Callable[[Asked], Any]) -> None:
    """Run all tasks, one after the other. `run` returns a task's answer, or raises what the client raises."""
    warnings.simplefilter("ignore")
    logging.disable()
    given = json.loads(sys.argv[1])
    models = given.pop("models")
    for task, model in models.items():
        asked = Asked(task=task, model=model, **given)
        told: dict[str, Any] = {"task": task}
        try:
            answer = run(asked)
            told["answer"] = asyncio.run(answer) if inspect.iscoroutine(answer) else answer
        except BaseException as error:
            told["error"] = {"kind": type(error).__name__, "status": status_of(error), "text": str(error)[:500]}
            told["trace"] = traceback.format_exc()[-3000:]
        print(json.dumps({**told, "commands": asked.commands}), flush=True)


def status_of(error: BaseException | None) -> int | None:
    """The HTTP status in an error or in what caused it."""
    while error is not None:
        for name in ("status_code", "code", "status"):
            if isinstance(status := getattr(error, name, None), int):
                return status
        error = error.__cause__ or error.__context__
    return None
