"""The two tools that are always available: for the simulator, for tests, and to try out a route."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from streamviz.core.json_value import JsonObject
from streamviz.executors.tools import Tool, ToolFailed

_LONGEST_SECONDS = 3600


class CountWords:
    """Counts the words in a text."""

    name = "count_words"
    description = "Counts the words in a text."
    parameters: JsonObject = {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    }

    async def run(self, arguments: JsonObject) -> str:
        text = arguments.get("text")
        if not isinstance(text, str):
            raise ToolFailed("`text` must be a string.")
        return str(len(text.split()))


class Wait:
    """Does nothing for a while."""

    name = "wait"
    description = "Waits for so many seconds."
    parameters: JsonObject = {
        "type": "object",
        "properties": {"seconds": {"type": "number"}},
        "required": ["seconds"],
    }

    async def run(self, arguments: JsonObject) -> str:
        seconds = arguments.get("seconds")
        if not isinstance(seconds, int | float) or not 0 <= seconds <= _LONGEST_SECONDS:
            raise ToolFailed(f"`seconds` must be a number from 0 to {_LONGEST_SECONDS}.")
        await asyncio.sleep(seconds)
        return f"{seconds:g} s have passed."


class BuiltIn:
    """The source of both tools."""

    prefix = ""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Sequence[Tool]]:
        yield (CountWords(), Wait())
