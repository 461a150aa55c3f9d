"""Tools of MCP servers: a real one on standard input, one at an address, one that dies, one that is not there."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
import uvicorn

from streamviz.executors.builtin_tools import BuiltIn
from streamviz.executors.mcp_tools import McpServer
from streamviz.executors.tools import Result, Toolbox
from tests.executors import mcp_server
from tests.services import free_port

PROGRAM = (sys.executable, str(Path(mcp_server.__file__)))
SERVER = McpServer("calc", PROGRAM, variables=("CALCULATOR_TOKEN",), tools=("add", "token", "die"))
SECONDS = 60.0


async def test_its_tools_work_within_their_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALCULATOR_TOKEN", "t-1")
    monkeypatch.setenv("OTHER_TOKEN", "t-2")
    async with Toolbox((SERVER, BuiltIn()), ("mcp__calc__*",), SECONDS) as toolbox:
        assert [tool.name for tool in toolbox.tools] == ["mcp__calc__add", "mcp__calc__die", "mcp__calc__token"]
        assert "integer" in json.dumps(toolbox.tools[0].parameters)
        assert await toolbox.run("mcp__calc__add", '{"a": 2, "b": 3}') == Result("5")
        assert await toolbox.run("mcp__calc__token", "{}") == Result("t-1")
        assert (await toolbox.run("mcp__calc__add", '{"a": "x"}')).is_error
        assert (await toolbox.run("mcp__calc__secret", "{}")).is_error


async def test_one_that_dies_is_an_error_of_its_call_alone() -> None:
    async with Toolbox((SERVER, BuiltIn()), ("mcp__*", "count_words"), SECONDS) as toolbox:
        assert (await toolbox.run("mcp__calc__die", "{}")).is_error
        assert (await toolbox.run("mcp__calc__add", '{"a": 2, "b": 3}')).is_error
        assert await toolbox.run("count_words", '{"text": "a b"}') == Result("2")


async def test_one_that_hangs_is_stopped_with_its_process(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    server = McpServer("calc", PROGRAM, tools=("hang",))
    async with Toolbox((server,), ("mcp__*",), SECONDS) as toolbox:
        running = asyncio.ensure_future(toolbox.run("mcp__calc__hang", json.dumps({"file": str(note)})))
        while not note.exists() or not note.read_text():
            await asyncio.sleep(0.01)
        running.cancel()
    process = psutil.Process(int(note.read_text())) if psutil.pid_exists(int(note.read_text())) else None
    if process is not None:
        await asyncio.to_thread(process.wait, SECONDS)


async def test_one_that_cannot_be_had_is_told_and_the_others_work() -> None:
    gone = (McpServer("gone", ("/nowhere/server",)), McpServer("deaf", url=f"http://127.0.0.1:{free_port()}/mcp"))
    async with Toolbox((*gone, BuiltIn()), ("*",), SECONDS) as toolbox:
        assert sorted(failure.split(",")[0] for failure in toolbox.failures) == ["mcp__deaf__*", "mcp__gone__*"]
        assert [tool.name for tool in toolbox.tools] == ["count_words", "wait"]


async def test_one_whose_tools_nobody_may_use_is_not_asked() -> None:
    async with Toolbox((McpServer("gone", ("/nowhere/server",)),), ("mcp__other__*", "wait"), SECONDS) as toolbox:
        assert not toolbox.failures


@pytest.fixture
async def address() -> AsyncIterator[str]:
    port = free_port()
    config = uvicorn.Config(mcp_server.server.streamable_http_app(), port=port, log_level="error", lifespan="on")
    served = uvicorn.Server(config)
    running = asyncio.ensure_future(served.serve())
    while not served.started:
        await asyncio.sleep(0.01)
    yield f"http://127.0.0.1:{port}/mcp"
    served.should_exit = True
    await running


async def test_one_at_an_address_works_too(address: str) -> None:
    async with Toolbox((McpServer("web", url=address, tools=("add",)),), ("mcp__web__*",), SECONDS) as toolbox:
        assert await toolbox.run("mcp__web__add", '{"a": 2, "b": 3}') == Result("5")
