"""Tools of MCP servers: real ones on standard input and at an address, and what they can do wrong."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
import uvicorn
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse, ListToolsResult
from mcp_types.methods import validate_server_result

from streamviz.executors import mcp_bounds
from streamviz.executors.builtin_tools import BuiltIn
from streamviz.executors.mcp_bounds import MOST_REQUESTS, Heard
from streamviz.executors.mcp_tools import McpServer
from streamviz.executors.tools import Result, Toolbox
from tests.executors import mcp_server
from tests.services import free_port

pytestmark = pytest.mark.integration

PROGRAM = (sys.executable, "-I", str(Path(__file__).with_name("plain_server.py")))
SERVER = McpServer("calc", PROGRAM, variables=("CALCULATOR_TOKEN", "PRELUDE"), tools=("*",))
ADD = ("mcp__calc__add", '{"a": 2, "b": 3}')
SECONDS = 60.0
TOO_LONG = 5_000_000


def opened(server: McpServer = SERVER, seconds: float = SECONDS) -> Toolbox:
    return Toolbox((server, BuiltIn()), ("*",), seconds)


@pytest.fixture
def note(tmp_path: Path) -> Path:
    """A named pipe to which a server writes its process id: reading it waits for that."""
    os.mkfifo(tmp_path / "note")
    return tmp_path / "note"


async def gone(process: int) -> None:
    """Wait until the process has exited."""
    if psutil.pid_exists(process):
        await asyncio.to_thread(psutil.wait_procs, [psutil.Process(process)], SECONDS)
    assert not psutil.pid_exists(process)


async def test_the_tools_of_a_server_work_if_they_are_in_its_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALCULATOR_TOKEN", "t-1")
    monkeypatch.setenv("OTHER_TOKEN", "t-2")
    server = McpServer("calc", PROGRAM, variables=("CALCULATOR_TOKEN",), tools=("add", "token", "l*"))
    async with Toolbox((server, BuiltIn()), ("mcp__calc__*",), SECONDS) as toolbox:
        assert [tool.name for tool in toolbox.tools] == [
            f"mcp__calc__{name}" for name in ("add", "long", "long_story", "token")
        ]
        assert "integer" in json.dumps(toolbox.tools[0].parameters)
        assert len(toolbox.tools[2].description) == 2_000
        assert await toolbox.run(*ADD) == Result("5")
        assert await toolbox.run("mcp__calc__token", "{}") == Result("t-1")
        assert (await toolbox.run("mcp__calc__add", '{"a": "x"}')).is_error
        assert (await toolbox.run("mcp__calc__secret", "{}")).is_error


LINK = {"type": "resource_link", "name": "Notes", "uri": "file:///notes.txt"}
IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"structured": {"sum": 5}}, '{"sum":5}'),
        ({"structured": {"sum": 5}, "content": [{"type": "text", "text": "It is 5."}]}, "It is 5."),
        ({"content": [LINK, IMAGE]}, "[resource_link file:///notes.txt]\n[image image/png]"),
        ({}, ""),
    ],
)
async def test_a_model_reads_what_is_no_text_too(given: object, told: str) -> None:
    async with opened() as toolbox:
        assert await toolbox.run("mcp__calc__data", json.dumps(given)) == Result(told)


# Variables that are set from files may end in a line break, which programs strip.
@pytest.mark.parametrize("end", ["", "\n"], ids=["plain", "line"])
async def test_the_credential_of_a_server_is_in_nothing_that_it_says(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    monkeypatch.setenv("CALCULATOR_TOKEN", f"precious-0123{end}")
    async with opened() as toolbox:
        assert await toolbox.run("mcp__calc__token", "{}") == Result(f"***{end}")
        failed = await toolbox.run("mcp__calc__add", '{"a": "precious-0123", "b": 1}')
        assert failed.is_error
        assert "precious" not in failed.text


@pytest.mark.parametrize(
    ("secret", "parameters"),
    [
        ("precious-0123", {"type": "object", "properties": {"as": {"enum": ["plain", "***"]}}}),
        ('"precious\\0123"', {"type": "object", "properties": {"as": {"enum": ["plain", "***"]}}}),
        ('"plain","', {}),  # the rest is not JSON
    ],
)
async def test_the_credential_of_a_server_is_in_no_schema(
    monkeypatch: pytest.MonkeyPatch, secret: str, parameters: dict[str, Any]
) -> None:
    monkeypatch.setenv("CALCULATOR_TOKEN", secret)
    async with opened() as toolbox:
        [tool] = [tool for tool in toolbox.tools if tool.name == "mcp__calc__token"]
        assert tool.parameters == parameters


async def test_all_values_that_are_named_for_it_are_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://user:pass%2Fphrase@db.example.com/data")
    said = "At postgres://user:pass%2Fphrase@db.example.com/data with pass%2Fphrase, pass/phrase"
    given = json.dumps({"content": [{"type": "text", "text": said}]})
    async with opened(McpServer("calc", PROGRAM, variables=("DATABASE_URL",), tools=("data",))) as toolbox:
        assert await toolbox.run("mcp__calc__data", given) == Result("At *** with ***, ***")


async def test_what_has_a_credential_in_its_name_is_no_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALCULATOR_TOKEN", "long_sto")
    async with opened() as toolbox:
        assert not [tool for tool in toolbox.tools if "story" in tool.name]


async def test_a_server_that_changes_its_tools_meanwhile_is_an_error_of_their_calls_alone() -> None:
    async with opened() as toolbox:
        told = [tool.name for tool in toolbox.tools]
        assert await toolbox.run("mcp__calc__forget", "{}") == Result("done")
        forgotten = await toolbox.run(*ADD)
        assert (forgotten.is_error, "there is no add" in forgotten.text) == (True, True)
        assert await toolbox.run("mcp__calc__token", "{}") == Result("nothing")
        assert [tool.name for tool in toolbox.tools] == told


@pytest.mark.parametrize(("messages", "is_too_much"), [(2_000, False), (500, True)])
async def test_short_messages_are_counted_as_longer_ones(
    monkeypatch: pytest.MonkeyPatch, messages: int, is_too_much: bool
) -> None:
    monkeypatch.setattr(mcp_bounds, "RUN_BYTES", messages * mcp_bounds.LEAST_BYTES)
    async with opened() as toolbox:
        said = await toolbox.run("mcp__calc__chatty", '{"count": 1000}')
        assert said.is_error == is_too_much


async def test_a_server_that_dies_is_an_error_of_its_call_alone() -> None:
    async with opened() as toolbox:
        assert (await toolbox.run("mcp__calc__die", "{}")).is_error
        assert (await toolbox.run(*ADD)).is_error
        assert await toolbox.run("count_words", '{"text": "a b"}') == Result("2")


async def test_a_server_that_is_killed_in_a_call_is_an_error_of_it(note: Path) -> None:
    async with opened() as toolbox:
        running = asyncio.ensure_future(toolbox.run("mcp__calc__hang", json.dumps({"file": str(note)})))
        os.kill(int(await asyncio.to_thread(note.read_text)), signal.SIGKILL)
        assert (await running).is_error


async def test_a_server_that_hangs_is_stopped_with_its_process(note: Path) -> None:
    async with opened() as toolbox:
        running = asyncio.ensure_future(toolbox.run("mcp__calc__hang", json.dumps({"file": str(note)})))
        process = int(await asyncio.to_thread(note.read_text))
        running.cancel()
    await gone(process)


async def test_what_a_server_started_ends_with_it() -> None:
    async with opened() as toolbox:
        started = await toolbox.run("mcp__calc__child", "{}")
    await gone(int(started.text))


async def test_what_is_no_message_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PRELUDE", "Hello! I am no JSON.")
    async with opened() as toolbox:
        assert await toolbox.run("mcp__calc__garbage", "{}") == Result("done")
        assert await toolbox.run(*ADD) == Result("5")
    assert "notification" not in caplog.text


async def test_an_answer_that_is_no_message_is_an_error_of_its_call_at_once() -> None:
    async with opened() as toolbox:
        assert "its answer is not a message" in (await toolbox.run("mcp__calc__broken", "{}")).text
        assert await toolbox.run(*ADD) == Result("5")


async def test_a_servers_own_requests_without_end_are_passed_over() -> None:
    """Each of them would be a task, which would wait forever if the server accepts no answer."""
    ping = SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=1, method="ping"))
    answer = SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=1, result={}))
    said, from_server = anyio.create_memory_object_stream[SessionMessage](3_000)
    for each in (*[ping] * 2_000, answer):
        said.send_nowait(each)
    said.close()
    async with Heard(from_server) as heard:
        assert [each async for each in heard] == [*[ping] * MOST_REQUESTS, answer]


async def heard(*messages: Any) -> list[Any]:
    """What a session receives of these messages."""
    said, from_server = anyio.create_memory_object_stream[SessionMessage](len(messages))
    for each in messages:
        said.send_nowait(SessionMessage(each))
    said.close()
    async with Heard(from_server) as stream:
        return [each.message async for each in stream]


NUMBERED: dict[str, Any] = {f"p{number}": {} for number in range(60_000)}


@pytest.mark.parametrize(
    "result",
    [
        {"content": [{}] * 30_000},
        {"content": [{"type": "text", "text": "x", "annotations": {"audience": [1] * 100_000}}]},
        {"tools": [{"name": "x", "inputSchema": {"required": [[1] * 100] * 100}}]},
        {"tools": [{"name": "x", "inputSchema": {"properties": NUMBERED}}]},
        {"capabilities": {"experimental": NUMBERED}},
    ],
)
async def test_an_answer_of_countless_values_is_an_error_of_its_call_alone(result: dict[str, Any]) -> None:
    """The package would report several errors for each value."""
    other = JSONRPCResponse(jsonrpc="2.0", id=2, result={})
    refused, kept = await heard(JSONRPCResponse(jsonrpc="2.0", id=1, result=result), other)
    assert isinstance(refused, JSONRPCError)
    assert (refused.id, kept) == (1, other)


async def test_other_messages_of_countless_values_are_passed_over() -> None:
    params: dict[str, Any] = {"messages": [{}] * 30_000}
    request = JSONRPCRequest(jsonrpc="2.0", id=1, method="sampling/createMessage", params=params)
    notification = JSONRPCNotification(jsonrpc="2.0", method="notifications/message", params=params)
    assert await heard(request, notification) == []


def rich_tool(number: int) -> dict[str, Any]:
    kinds = {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "description": "What it is for."}
    members = {f"field_{each}": kinds for each in range(10)}
    return {"name": f"tool_{number}", "inputSchema": {"type": "object", "properties": members, "required": [*members]}}


@pytest.mark.parametrize(
    "result",
    [
        {"content": [{"type": "text", "text": "x" * 900_000}]},
        {"content": [], "structuredContent": {"rows": [[1, 2]] * 50_000}},
        {"tools": [rich_tool(number) for number in range(300)]},
    ],
    ids=["text", "data", "tools"],
)
async def test_a_large_answer_is_heard(result: dict[str, Any]) -> None:
    answer = JSONRPCResponse(jsonrpc="2.0", id=1, result=result)
    assert await heard(answer) == [answer]


ODD_TOOLS: list[Any] = [
    {"name": "bare"},
    {"name": "empty", "description": None, "inputSchema": {}},
    {"name": "text", "inputSchema": {"type": "string"}},
    {"name": "odd", "inputSchema": {"type": "object", "properties": [], "required": "a", "$schema": 1}},
    {"name": "made", "inputSchema": {"type": "object"}, "outputSchema": {"type": "array"}, "icons": [{"src": 1}]},
    {"name": 5},
    "none",
]


async def test_a_tool_that_says_odd_things_takes_no_other_with_it() -> None:
    """The package alone would reject all of them."""
    fine = rich_tool(1)
    [message] = await heard(JSONRPCResponse(jsonrpc="2.0", id=1, result={"tools": [*ODD_TOOLS, fine]}))
    validate_server_result("tools/list", "2025-11-25", message.result)
    found = {tool.name: tool.input_schema for tool in ListToolsResult.model_validate(message.result).tools}
    assert found.pop("tool_1") == fine["inputSchema"]
    assert found == {name: {"type": "object"} for name in ("bare", "empty", "text", "odd", "made")}


async def test_an_answer_of_no_sense_is_told_in_few_words() -> None:
    async with opened() as toolbox:
        broken = await toolbox.run("mcp__calc__data", json.dumps({"content": [{}] * 10}))
        countless = await toolbox.run("mcp__calc__data", json.dumps({"content": [{}] * 20_000}))
        wrong = await toolbox.run("mcp__calc__data", json.dumps({"content": 5}))
        assert broken.text == "mcp__calc__data did not answer: CallToolResult has 130 errors"
        assert wrong.text.endswith(": CallToolResult has 1 error")
        assert countless.text == "mcp__calc__data did not answer: its answer has too many values"
        assert await toolbox.run(*ADD) == Result("5")


async def test_an_answer_without_end_is_an_error_of_its_call_alone() -> None:
    async with opened() as toolbox:
        long, other = await asyncio.gather(
            toolbox.run("mcp__calc__long", json.dumps({"bytes": TOO_LONG})), toolbox.run(*ADD)
        )
        assert "more than 1048576 bytes" in long.text
        assert long.is_error
        assert other == Result("5")


async def test_a_server_that_writes_without_end_and_sense_is_read_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened() as toolbox:
        assert (await toolbox.run("mcp__calc__nameless", json.dumps({"bytes": TOO_LONG}))).is_error
        assert (await toolbox.run(*ADD)).is_error


async def test_a_server_that_cannot_be_had_is_told_and_the_others_work() -> None:
    gone = (McpServer("gone", ("/nowhere/server",)), McpServer("deaf", url=f"http://127.0.0.1:{free_port()}/mcp"))
    async with Toolbox((*gone, BuiltIn()), ("*",), SECONDS) as toolbox:
        assert sorted(failure.split(",")[0] for failure in toolbox.failures) == ["mcp__deaf__*", "mcp__gone__*"]
        assert [tool.name for tool in toolbox.tools] == ["count_words", "wait"]


async def test_a_server_whose_tools_nobody_may_use_is_not_asked() -> None:
    async with Toolbox((McpServer("gone", ("/nowhere/server",)),), ("mcp__other__*", "wait"), SECONDS) as toolbox:
        assert not toolbox.failures


async def test_a_credential_goes_to_no_other_machine_unencrypted() -> None:
    server = McpServer("far", url="http://mcp.example.com/mcp", credential="MCP_KEY", tools=("*",))
    async with opened(server) as toolbox:
        assert toolbox.failures == ["mcp__far__*, its credential would go to another machine over http://"]


@pytest.fixture(params=[True, False], ids=["events", "json"])
async def address(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """The package's server, which answers with event streams or in one piece."""
    port = free_port()
    served_app = mcp_server.made().streamable_http_app(json_response=not request.param)
    served = uvicorn.Server(uvicorn.Config(served_app, port=port, log_level="error", lifespan="on"))
    running = asyncio.ensure_future(served.serve())
    while not served.started:
        await asyncio.sleep(0.01)
    yield f"http://127.0.0.1:{port}/mcp"
    served.should_exit = True
    await running


async def test_a_server_at_an_address_works_too(address: str) -> None:
    async with opened(McpServer("calc", url=address, tools=("*",))) as toolbox:
        assert await toolbox.run(*ADD) == Result("5")
        assert (await toolbox.run("mcp__calc__long", '{"bytes": 5000000}')).is_error
        assert "too many values" in (await toolbox.run("mcp__calc__many", '{"count": 11000}')).text
        assert await toolbox.run(*ADD) == Result("5")


async def test_no_redirect_is_followed_not_even_to_the_same_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_KEY", "precious-0123")
    asked = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1])
        writer.write(b"HTTP/1.1 308 Moved\r\nlocation: /theirs\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", port := free_port()):
        server = McpServer("moved", url=f"http://127.0.0.1:{port}/mcp", credential="MCP_KEY", tools=("*",))
        async with opened(server) as toolbox:
            assert len(toolbox.failures) == 1
    assert asked == [b"/mcp"]
