"""The tools that a run may use, and a call of one: bounded in time and length, and never more than its own error."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from fnmatch import fnmatchcase
from typing import NamedTuple, Protocol

from streamviz.core.json_value import JsonObject, decode

# What a model is told of a tool's answer.
MOST_CHARACTERS = 20_000
_CUT = " […]"
# What a source gets to close; a client that has left waits for nobody.
_CLOSE_SECONDS = 0.5


class ToolFailed(Exception):
    """A tool could not do what it was called for; the model is told why."""


class Tool(Protocol):
    """`parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: JsonObject

    async def run(self, arguments: JsonObject) -> str:
        """What it answers. Raises ToolFailed; may be cancelled at any moment."""


class Source(Protocol):
    """Where tools come from. Entering it gives them; they work until it is left."""

    def open(self) -> AbstractAsyncContextManager[Sequence[Tool]]:
        """Raises ToolFailed where they cannot be had."""


class Result(NamedTuple):
    """What came of a call of a tool."""

    text: str
    is_error: bool = False


class Toolbox:
    """The tools of one run, by name. `seconds` is how long a call of one may take."""

    def __init__(self, sources: Sequence[Source], names: Sequence[str], seconds: float) -> None:
        self._sources = sources
        self._names = names
        self._seconds = seconds
        self._tools: dict[str, Tool] = {}
        self._holding: list[asyncio.Task[None]] = []
        self.failures: list[str] = []
        self._over = asyncio.Event()

    async def __aenter__(self) -> "Toolbox":
        """Open all sources side by side. Of one that fails, or takes too long, `failures` says so."""
        opened = [asyncio.get_running_loop().create_future() for _ in self._sources]
        self._holding = [
            asyncio.ensure_future(self._hold(source, future))
            for source, future in zip(self._sources, opened, strict=True)
        ]
        try:
            await asyncio.gather(*opened)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close them; what does not close is let go of."""
        self._over.set()
        if self._holding:
            _, late = await asyncio.wait(self._holding, timeout=_CLOSE_SECONDS)
            for task in late:
                task.cancel()

    @property
    def tools(self) -> list[Tool]:
        """Those that may be used, by name."""
        return [self._tools[name] for name in sorted(self._tools)]

    def __contains__(self, name: str) -> bool:
        return name in self._tools

    async def run(self, name: str, arguments: str) -> Result:
        """Call a tool. Whatever goes wrong is its result."""
        tool = self._tools.get(name)
        if tool is None:
            return Result(f"There is no tool called {name[:100]}.", is_error=True)
        try:
            given = decode(arguments or "{}")
        except ValueError as error:
            return Result(f"The arguments are not JSON: {error}", is_error=True)
        if not isinstance(given, dict):
            return Result("The arguments must be a JSON object.", is_error=True)
        return await self._run(tool, given)

    async def _run(self, tool: Tool, arguments: JsonObject) -> Result:
        try:
            async with asyncio.timeout(self._seconds):
                return Result(shortened(await tool.run(arguments)))
        except TimeoutError:
            return Result(f"{tool.name} took longer than {self._seconds:g} s, and was stopped.", is_error=True)
        except ToolFailed as error:
            return Result(shortened(str(error)), is_error=True)
        except Exception as error:  # A tool is anybody's code.
            return Result(f"{tool.name} failed: {type(error).__name__}", is_error=True)

    async def _hold(self, source: Source, opened: "asyncio.Future[None]") -> None:
        """Keep a source open, in one task from its beginning to its end, as some of them need."""
        try:
            async with asyncio.timeout(self._seconds) as limit, source.open() as tools:
                limit.reschedule(None)
                for tool in tools:
                    if any(fnmatchcase(tool.name, glob) for glob in self._names):
                        self._tools.setdefault(tool.name, tool)
                opened.set_result(None)
                await self._over.wait()
        except Exception as error:  # As above.
            why = str(error) if isinstance(error, ToolFailed) else type(error).__name__
            self.failures.append(why)
        finally:
            if not opened.done():
                opened.set_result(None)


def shortened(text: str, most: int = MOST_CHARACTERS) -> str:
    """At most so many characters."""
    return text if len(text) <= most else text[: most - len(_CUT)] + _CUT
