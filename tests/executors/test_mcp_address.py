"""What an MCP server at an address answers, piece by piece."""

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest

from streamviz.executors import mcp_bounds
from streamviz.executors.mcp_address import _ANSWER_BYTES, _Bounded
from streamviz.executors.mcp_bounds import LEAST_BYTES, Allowance

PIECES = 1_000


class Pieces(httpx2.AsyncByteStream):
    """All there at once, a byte at a time."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in range(PIECES):
            yield b"x"


def body() -> _Bounded:
    response = httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Pieces())
    return _Bounded(response, Allowance())


async def test_one_in_tiny_pieces_leaves_others_their_turns() -> None:
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
