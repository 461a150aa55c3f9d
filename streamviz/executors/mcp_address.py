"""An MCP server that is an address, of which no more is read than anybody needs."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from streamviz.executors.mcp_bounds import MESSAGE_BYTES, Allowance, TooMuch

# What an answer counts as at least: a server can have its client come back for one, some 1,000 times in a run.
_ANSWER_BYTES = 256 * 1024
# After so many pieces others get their turn: what has come already is given without a pause.
_PIECES = 32


@asynccontextmanager
async def spoken_to(url: str, credential: str) -> AsyncIterator[Any]:
    """The streams that a session of the package's reads from and writes to. `credential` names the environment variable
    with the bearer token."""
    from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

    # What is unpacked is larger than what was counted.
    headers = {"accept-encoding": "identity"}
    if key := os.environ.get(credential, ""):
        headers["authorization"] = f"Bearer {key}"
    async with create_mcp_http_client(headers) as client:
        # No address is asked that no administrator chose; `follow_redirects` the package does not look at.
        client.max_redirects = 0
        client.event_hooks = {"response": [_Bounding(Allowance())]}
        async with streamable_http_client(url, http_client=client, max_sse_event_size=MESSAGE_BYTES) as streams:
            yield streams


class _Bounding:
    """Bounds each response of one run."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance

    async def __call__(self, response: httpx2.Response) -> None:
        response.stream = _Bounded(response, self._allowance)


class _Bounded(httpx2.AsyncByteStream):
    """A body. An event stream goes on for as long as its run, with events that are bounded where they are read."""

    def __init__(self, response: httpx2.Response, allowance: Allowance) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        self._stream = response.stream
        self._is_packed = response.headers.get("content-encoding", "identity") != "identity"
        self._goes_on = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        self._allowance = allowance

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._is_packed:
            raise httpx2.StreamError("it is compressed, which was not asked for")
        count = pieces = 0
        self._take(_ANSWER_BYTES)
        async for piece in self._stream:
            pieces += 1
            if pieces % _PIECES == 0:
                await asyncio.sleep(0)
            count += len(piece)
            if count > MESSAGE_BYTES and not self._goes_on:
                raise httpx2.StreamError(f"it has more than {MESSAGE_BYTES} bytes")
            self._take(len(piece))
            yield piece

    def _take(self, count: int) -> None:
        try:
            self._allowance.take(count)
        except TooMuch as error:
            # The package ends the call alone for errors of this kind.
            raise httpx2.StreamError(str(error)) from error

    async def aclose(self) -> None:
        await self._stream.aclose()
