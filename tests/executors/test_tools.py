"""A run's tools: no more than a model can be told about, and no waiting for those that hang."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from streamviz.core.json_value import JsonObject
from streamviz.executors import tools
from streamviz.executors.tools import Tool, Toolbox


class Stubborn:
    """A tool that does not stop when it is cancelled."""

    description = "Takes its time."
    parameters: JsonObject = {}

    def __init__(self, name: str, description: str = "") -> None:
        self.name = name
        self.description = description
        self.has_begun, self.may_end = asyncio.Event(), asyncio.Event()

    async def run(self, arguments: JsonObject) -> str:
        self.has_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await self.may_end.wait()
        return "never"


class Given:
    """A source of these tools."""

    def __init__(self, prefix: str, *given: Tool) -> None:
        self.prefix = prefix
        self._given = given

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Sequence[Tool]]:
        yield self._given


async def test_nobody_waits_for_a_tool_that_does_not_stop() -> None:
    tool = Stubborn("a")
    async with Toolbox((Given("", tool),), ("*",), 0.01) as toolbox:
        assert (await toolbox.run("a", "{}")).text == "a took longer than 0.01 s, and was stopped."
    async with Toolbox((Given("", tool),), ("*",), 60) as toolbox:
        tool.has_begun.clear()
        running = asyncio.ensure_future(toolbox.run("a", "{}"))
        await tool.has_begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    tool.may_end.set()


async def test_there_are_no_more_tools_than_a_model_can_be_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "MOST_TOOLS", 3)
    monkeypatch.setattr(tools, "MOST_DESCRIBED", 1_000)
    few = Given("a__", *(Stubborn(f"a__{number}") for number in range(2)))
    many = Given("b__", *(Stubborn(f"b__{number}") for number in range(5)))
    large = Given("b__", Stubborn("b__large", "x" * 1_000), Stubborn("b__small"))
    for source, kept, left_out in ((many, "b__0", 4), (large, "b__small", 1)):
        async with Toolbox((few, source), ("*",), 60) as toolbox:
            assert [tool.name for tool in toolbox.tools] == ["a__0", "a__1", kept]
            assert toolbox.failures == [f"b__*, {left_out} more than a model can be told of"]


async def test_a_bracket_in_a_tools_name_is_a_bracket() -> None:
    source = Given("a[b]__", Stubborn("a[b]__c"), Stubborn("a[b]__d"))
    async with Toolbox((source,), ("a[b]__c",), 60) as toolbox:
        assert [tool.name for tool in toolbox.tools] == ["a[b]__c"]


class Broken:
    """A source that fails with a BaseException that is no Exception."""

    prefix = "c__"

    def __init__(self, error: BaseException) -> None:
        self._error = error

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Sequence[Tool]]:
        raise self._error
        yield ()


@pytest.mark.parametrize("error", [asyncio.CancelledError(), BaseExceptionGroup("", [asyncio.CancelledError()])])
async def test_nobody_waits_for_a_source_that_ended_itself(error: BaseException) -> None:
    async with asyncio.timeout(60), Toolbox((Broken(error), Given("", Stubborn("a"))), ("*",), 600) as toolbox:
        assert [tool.name for tool in toolbox.tools] == ["a"]
        assert toolbox.failures == ["c__*, CancelledError"]
