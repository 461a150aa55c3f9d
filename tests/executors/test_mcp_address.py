"""What an MCP server at an address answers, piece by piece."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from streamviz.executors import mcp_bounds
from streamviz.executors.mcp_address import _ANSWER_BYTES, _Bounded
from streamviz.executors.mcp_bounds import LEAST_BYTES, Allowance
from streamviz.executors.mcp_tools import McpServer
from streamviz.executors.tools import Result, Toolbox

PIECES = 1_000


class Pieces(httpx2.AsyncByteStream):
    """All bytes are available at once, but arrive one at a time."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in range(PIECES):
            yield b"x"


def body() -> _Bounded:
    response = httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Pieces())
    return _Bounded(response, Allowance())


async def test_an_answer_in_tiny_pieces_leaves_others_their_turns() -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    running = asyncio.create_task(others())
    assert len([piece async for piece in body()]) == PIECES
    running.cancel()
    assert turns >= PIECES // 100


async def test_tiny_pieces_are_counted_as_larger_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_bounds, "RUN_BYTES", _ANSWER_BYTES + 10 * LEAST_BYTES)
    read = 0
    with pytest.raises(httpx2.StreamError):
        async for _ in body():
            read += 1
    assert read == 10


LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
SESSION = re.compile(rb"mcp-session-id: (\S+)", re.IGNORECASE)
VERSION = "2025-11-25"
RESULTS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": VERSION,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "5"}]},
}


def written(status: int, told: object = "", kind: str = "application/json") -> bytes:
    body = json.dumps(told).encode()
    head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


@asynccontextmanager
async def toolbox_of(method: str, *odd: bytes, credential: str = "") -> AsyncIterator[Toolbox]:
    """The tools of a server that answers the first calls of a method with these bytes, and later ones properly. It
    keeps the connection open after an endless answer."""
    answers, over = [*odd], asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        length = LENGTH.search(await reader.readuntil(b"\r\n\r\n"))
        asked = json.loads(await reader.readexactly(int(length[1]))) if length else {}
        known = asked.get("method") in RESULTS
        usual = (
            written(200, {"jsonrpc": "2.0", "id": asked["id"], "result": RESULTS[asked["method"]]}) if known else b""
        )
        data = answers.pop(0) if answers and asked.get("method") == method else usual or written(202)
        writer.write(data)
        if data == ENDLESS:
            await over.wait()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        source = McpServer("calc", url=f"http://127.0.0.1:{port}/mcp", credential=credential, tools=("*",))
        try:
            async with Toolbox((source,), ("*",), 60.0) as toolbox:
                yield toolbox
        finally:
            over.set()


OURS = {"jsonrpc": "2.0", "id": None, "error": {"code": -32602, "message": "there is no a"}}
CUT = written(200, {"jsonrpc": "2.0"})[:-5]
ENDLESS = b"HTTP/1.1 500 X\r\ncontent-type: text/event-stream\r\n\r\n: more\n\n"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "disconnected"),
        (CUT, "it broke off"),
        (written(503, "<html>", "text/html"), "it answered 503"),
        (written(401, {"error": "invalid_token"}), "it answered 401"),
        (written(400, OURS), "there is no a"),
        (ENDLESS, "it answered 500"),
    ],
    ids=["closed", "cut", "page", "json", "protocol", "endless"],
)
async def test_what_goes_wrong_with_a_call_is_an_error_of_it_alone(data: bytes, why: str) -> None:
    async with toolbox_of("tools/call", data) as toolbox:
        failed = await toolbox.run("mcp__calc__add", "{}")
        assert (failed.is_error, why in failed.text) == (True, True), failed.text
        assert await toolbox.run("mcp__calc__add", "{}") == Result("5")


@pytest.mark.parametrize("method", ["initialize", "tools/list"])
async def test_why_its_tools_cannot_be_had_is_told(method: str) -> None:
    async with toolbox_of(method, written(401, "<html>", "text/html")) as toolbox:
        assert toolbox.failures == ["mcp__calc__*, it answered 401"]


async def test_a_credential_may_end_with_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_KEY", "precious-0123\n")
    async with toolbox_of("", credential="MCP_KEY") as toolbox:
        assert await toolbox.run("mcp__calc__add", "{}") == Result("5")


async def test_a_credential_that_cannot_be_sent_in_a_header_is_not_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_KEY", "precious'0123\"\n456")
    async with toolbox_of("", credential="MCP_KEY") as toolbox:
        assert toolbox.failures == ["mcp__calc__*, its credential cannot be sent in a header"]


def refusal(code: int, message: str) -> bytes:
    return written(404, {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}})


class Forgetful:
    """A server that can forget its sessions: `known` are those that it has, `named` the sessions that `initialize` came
    in."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.named: list[str] = []
        self.version = VERSION
        self.refusal = b""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length, found = LENGTH.search(head), SESSION.search(head)
        asked = json.loads(await reader.readexactly(int(length[1]))) if length else {}
        writer.write(self._answer(asked, found[1].decode() if found else ""))
        writer.close()

    def _answer(self, asked: dict[str, Any], session: str) -> bytes:
        method = asked.get("method", "")
        if method == "initialize":
            self.named.append(session)
        elif session not in self.known:
            return refusal(-32001, "no session")
        elif method == "tools/call" and self.refusal:
            return self.refusal
        if method not in RESULTS:
            return written(202)
        result = RESULTS[method] | ({"protocolVersion": self.version} if method == "initialize" else {})
        told = written(200, {"jsonrpc": "2.0", "id": asked["id"], "result": result})
        return told.replace(b"\r\n", f"\r\nmcp-session-id: {self._start()}\r\n".encode(), 1)

    def _start(self) -> str:
        self.known.add(session := f"session-{len(self.named)}")
        return session


@asynccontextmanager
async def forgetful_toolbox() -> AsyncIterator[tuple[Forgetful, Toolbox]]:
    forgetful = Forgetful()
    async with await asyncio.start_server(forgetful.answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        source = McpServer("calc", url=f"http://127.0.0.1:{port}/mcp", tools=("*",))
        async with Toolbox((source,), ("*",), 60.0) as toolbox:
            yield forgetful, toolbox


async def test_a_session_that_its_server_has_forgotten_is_started_again_once() -> None:
    async with forgetful_toolbox() as (forgetful, toolbox):
        for _ in range(2):
            forgetful.known.clear()
            called = [toolbox.run("mcp__calc__add", "{}") for _ in range(3)]
            assert await asyncio.gather(*called) == [Result("5")] * 3
    assert forgetful.named == ["", "", ""]


async def test_a_session_that_is_started_again_is_checked_like_the_first() -> None:
    async with forgetful_toolbox() as (forgetful, toolbox):
        forgetful.known.clear()
        forgetful.version = "1999-01-01"
        result = await toolbox.run("mcp__calc__add", "{}")
        assert result.is_error
        assert "Unsupported protocol version" in result.text


@pytest.mark.parametrize(("code", "named"), [(-32601, [""]), (-32001, ["", ""])], ids=["no such method", "no session"])
async def test_a_404_in_a_session_keeps_the_servers_words(code: int, named: list[str]) -> None:
    async with forgetful_toolbox() as (forgetful, toolbox):
        forgetful.refusal = refusal(code, "there is no add")
        assert (await toolbox.run("mcp__calc__add", "{}")).text == "mcp__calc__add did not answer: there is no add"
    assert forgetful.named == named
