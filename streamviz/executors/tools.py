"""The tools that a run may use, and a call of one: bounded in time and length, and never more than its own error."""

import asyncio
import re
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from fnmatch import fnmatchcase
from math import inf
from typing import NamedTuple, Protocol

import anyio

from streamviz.core.json_value import JsonObject, decode

# What a model is told of a tool's answer.
MOST_CHARACTERS = 20_000
_CUT = " […]"
# What a source gets to close while its run waits; a client that has left waits for nobody.
_CLOSE_SECONDS = 0.5
# The event loop itself keeps no task alive.
_closing: set[asyncio.Task[None]] = set()


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
    """Where tools come from. `prefix` is what all their names begin with. Entering what `open` gives has them; they
    work until it is left."""

    @property
    def prefix(self) -> str: ...

    def open(self) -> AbstractAsyncContextManager[Sequence[Tool]]:
        """Raises whatever keeps them from being had."""


class Result(NamedTuple):
    """What came of a call of a tool."""

    text: str
    is_error: bool = False


class Toolbox:
    """The tools of one run, by name. `seconds` is how long a call of one may take."""

    def __init__(self, sources: Sequence[Source], names: Sequence[str], seconds: float) -> None:
        self._sources = [source for source in sources if _may_have(source.prefix, names)]
        self._names = names
        self._seconds = seconds
        self._tools: dict[str, Tool] = {}
        self._holding: list[asyncio.Task[None]] = []
        self._scopes: list[anyio.CancelScope] = []
        self.failures: list[str] = []

    async def __aenter__(self) -> "Toolbox":
        """Open all sources side by side. Of one that fails, or takes too long, `failures` says so."""
        opened = [asyncio.get_running_loop().create_future() for _ in self._sources]
        self._holding = [
            asyncio.ensure_future(self._hold(source, future))
            for source, future in zip(self._sources, opened, strict=True)
        ]
        for task in self._holding:
            task.add_done_callback(_closing.discard)
        try:
            await asyncio.gather(*opened)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close them; nobody waits long for one that takes its time."""
        for scope in self._scopes:
            scope.cancel()
        if self._holding:
            _closing.update(self._holding)
            await asyncio.wait(self._holding, timeout=_CLOSE_SECONDS)

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
        """Keep a source open, in one task from its beginning to its end, as some of them need.

        The scope ends it, and not a cancelled task: what a source does in order to close, and bounds itself, is done.
        """
        with anyio.CancelScope(deadline=anyio.current_time() + self._seconds) as scope:
            self._scopes.append(scope)
            try:
                async with source.open() as tools:
                    scope.deadline = inf
                    for tool in tools:
                        if any(fnmatchcase(tool.name, glob) for glob in self._names):
                            self._tools.setdefault(tool.name, tool)
                    opened.set_result(None)
                    await anyio.sleep_forever()
            except Exception as error:  # As above.
                self.failures.append(f"{source.prefix}*, {type(error).__name__}")
        if not opened.done():
            if scope.cancelled_caught:
                self.failures.append(f"{source.prefix}*, after {self._seconds:g} s")
            opened.set_result(None)


def _may_have(prefix: str, globs: Sequence[str]) -> bool:
    """Whether any name that begins so can match."""
    starts = [re.split(r"[*?\[]", glob, maxsplit=1)[0] for glob in globs]
    return any(start.startswith(prefix) or prefix.startswith(start) for start in starts)


def shortened(text: str, most: int = MOST_CHARACTERS) -> str:
    """At most so many characters."""
    return text if len(text) <= most else text[: most - len(_CUT)] + _CUT
