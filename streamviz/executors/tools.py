"""The tools that a run may use. A call is bounded in time and length, and a failure is only its result."""

import asyncio
import re
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from math import inf
from typing import Any, NamedTuple, Protocol

import anyio

from streamviz.core.json_value import JsonObject, decode, encode
from streamviz.core.model_names import fits

# How much of a tool's answer a model gets.
MOST_CHARACTERS = 20_000
# How much a model is told about all tools, in each step.
MOST_TOOLS = 128
MOST_DESCRIBED = 100_000
_CUT = " […]"
# How long a run waits for its sources to close, and how long each of them may take for it.
_WAIT_SECONDS = 0.4
_CLOSE_SECONDS = 2.0
# The event loop keeps only weak references to tasks.
_ending: set[asyncio.Task[Any]] = set()


class ToolFailed(Exception):
    """A tool could not do what it was called for; the model is told why."""


class Tool(Protocol):
    """`parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: JsonObject

    async def run(self, arguments: JsonObject) -> str:
        """The tool's answer. Raises ToolFailed; may be cancelled at any moment."""


class Source(Protocol):
    """Where tools come from. `prefix` is what all their names begin with. The tools work inside the context manager
    that `open` returns."""

    @property
    def prefix(self) -> str: ...

    def open(self) -> AbstractAsyncContextManager[Sequence[Tool]]:
        """The tools, in a context manager; entering it raises whatever keeps them from working."""


class Result(NamedTuple):
    """The result of a tool call."""

    text: str
    is_error: bool = False


class Toolbox:
    """The tools of one run, by name. `seconds` is the time limit of a call, and of opening a source."""

    def __init__(self, sources: Sequence[Source], names: Sequence[str], seconds: float) -> None:
        self._sources = [source for source in sources if _may_have(source.prefix, names)]
        self._names = names
        self._seconds = seconds
        self._tools: dict[str, Tool] = {}
        self._holding: list[asyncio.Task[None]] = []
        self._opening: set[anyio.CancelScope] = set()
        self._is_over = asyncio.Event()
        self.failures: list[str] = []

    async def __aenter__(self) -> "Toolbox":
        """Open all sources at the same time. `failures` names those that fail or take too long."""
        opened: list[asyncio.Future[Sequence[Tool]]] = [asyncio.Future() for _ in self._sources]
        self._holding = [
            asyncio.ensure_future(self._hold(source, future))
            for source, future in zip(self._sources, opened, strict=True)
        ]
        try:
            found = await asyncio.gather(*opened)
        except BaseException:
            await self.__aexit__()
            raise
        for source, tools in zip(self._sources, found, strict=True):
            self._list(source, tools)
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close them, without waiting long for one that takes its time."""
        self._is_over.set()
        for scope in self._opening:
            scope.cancel()
        for task in self._holding:
            _leave(task)
        if self._holding:
            await asyncio.wait(self._holding, timeout=_WAIT_SECONDS)

    def _list(self, source: Source, tools: Sequence[Tool]) -> None:
        """Take the tools that may be used, as long as there is room to describe them."""
        room = MOST_DESCRIBED - sum(map(_length, self._tools.values()))
        left_out = 0
        for tool in tools:
            if tool.name in self._tools or not any(fits(tool.name, glob) for glob in self._names):
                continue
            if len(self._tools) < MOST_TOOLS and (length := _length(tool)) <= room:
                self._tools[tool.name] = tool
                room -= length
            else:
                left_out += 1
        if left_out:
            self.failures.append(f"{source.prefix}*, {left_out} more than a model can be told of")

    @property
    def tools(self) -> list[Tool]:
        """The tools that may be used, sorted by name."""
        return [self._tools[name] for name in sorted(self._tools)]

    def __contains__(self, name: str) -> bool:
        return name in self._tools

    async def run(self, name: str, arguments: str) -> Result:
        """Call a tool. Whatever goes wrong becomes its result."""
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
        # In a task of its own: a tool is third-party code, and may be slow to react to cancellation.
        running = asyncio.ensure_future(tool.run(arguments))
        try:
            await asyncio.wait((running,), timeout=self._seconds)
            if not running.done():
                return Result(f"{tool.name} took longer than {self._seconds:g} s, and was stopped.", is_error=True)
            if running.cancelled():
                return Result(f"{tool.name} was stopped.", is_error=True)
            return Result(shortened(running.result()))
        except ToolFailed as error:
            return Result(shortened(str(error)), is_error=True)
        except Exception as error:
            return Result(f"{tool.name} failed: {type(error).__name__}", is_error=True)
        finally:
            running.cancel()
            _leave(running)

    async def _hold(self, source: Source, opened: "asyncio.Future[Sequence[Tool]]") -> None:
        """Keep a source open in one task, from beginning to end, as some sources require.

        It is ended by a scope, not by cancelling the task, so that what a source does to close, within bounds of its
        own, still happens.
        """
        scope = anyio.CancelScope(deadline=anyio.current_time() + self._seconds)
        try:
            with scope:
                await self._keep_open(source, opened, scope)
        finally:
            if not opened.done():
                if scope.cancelled_caught:
                    self.failures.append(f"{source.prefix}*, after {self._seconds:g} s")
                opened.set_result(())

    async def _keep_open(
        self, source: Source, opened: "asyncio.Future[Sequence[Tool]]", scope: anyio.CancelScope
    ) -> None:
        self._opening.add(scope)
        try:
            async with source.open() as tools:
                self._opening.discard(scope)
                scope.deadline = inf
                opened.set_result(tools)
                await self._is_over.wait()
                scope.deadline = anyio.current_time() + _CLOSE_SECONDS
        except BaseException as error:  # Sources are third-party code too, and may cancel themselves.
            if scope.cancel_called and not isinstance(error, Exception):
                raise
            self.failures.append(f"{source.prefix}*, {_why(error)}")


def _leave(task: "asyncio.Task[Any]") -> None:
    """Let a task end by itself; nobody needs its result."""
    _ending.add(task)
    task.add_done_callback(_gone)


def _gone(task: "asyncio.Task[Any]") -> None:
    _ending.discard(task)
    if not task.cancelled():
        task.exception()


def _why(error: BaseException) -> str:
    """The message of a source's own error, otherwise the type of the error; for a group, that of the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) if isinstance(error, ToolFailed) else type(error).__name__


def _length(tool: Tool) -> int:
    """The length of what a model is told about it."""
    return len(tool.name) + len(tool.description) + len(encode(tool.parameters))


def _may_have(prefix: str, globs: Sequence[str]) -> bool:
    """Whether any name with this prefix can match."""
    starts = [re.split(r"[*?]", glob, maxsplit=1)[0] for glob in globs]
    return any(start.startswith(prefix) or prefix.startswith(start) for start in starts)


def shortened(text: str, most: int = MOST_CHARACTERS) -> str:
    """A text cut to at most `most` characters."""
    return text if len(text) <= most else text[: most - len(_CUT)] + _CUT
