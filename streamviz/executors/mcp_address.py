"""An MCP server at an address, with bounds on what is read from it."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import httpx2

from streamviz.core.json_value import as_object, as_text, encode, object_in
from streamviz.executors.mcp_bounds import FORGOTTEN, MESSAGE_BYTES, Allowance, TooMuch, failed
from streamviz.executors.tools import ToolFailed

_SESSION = "mcp-session-id"
# JSON-RPC's code for a method that the server does not have: some servers send it with a 404.
_NO_METHOD = -32601
# The least that a response counts as: a server can make its client come back for another, some 1,000 times in a run.
_ANSWER_BYTES = 256 * 1024
# In seconds. A read may take as long as the tool, which has a time limit of its own.
_TIMEOUT = httpx2.Timeout(30.0, read=3600.0)
# After this many pieces other tasks get a turn: what has already arrived is delivered without a pause.
_PIECES = 32


@asynccontextmanager
async def spoken_to(url: str, credential: str) -> AsyncIterator[Any]:
    """The streams that an MCP client session reads from and writes to. `credential` names the environment variable with
    the bearer token. Raises ToolFailed if the token cannot be sent."""
    from mcp.client.streamable_http import streamable_http_client

    # Unpacked, a response would be larger than what was counted.
    headers = {"accept-encoding": "identity"}
    # A variable set from a file may end with a line break.
    if key := os.environ.get(credential, "").strip():
        headers["authorization"] = f"Bearer {_sendable(key)}"
    hooks: dict[str, list[Callable[..., Any]]] = {"response": [partial(_bound, Allowance())]}
    # Only the address that an administrator chose may be called. The package ignores `follow_redirects`.
    async with (
        _Client(headers=headers, timeout=_TIMEOUT, event_hooks=hooks, max_redirects=0) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MESSAGE_BYTES) as streams,
    ):
        yield streams


def _sendable(key: str) -> str:
    """The same key. Checked here, because errors raised later would quote it."""
    if not (key.isascii() and key.isprintable()):
        raise ToolFailed("its credential cannot be sent in a header")
    return key


class _Client(httpx2.AsyncClient):
    """Reports what goes wrong with a call as its answer: the package would end the session when a connection breaks,
    and report of a refusal only that it is one."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        if _SESSION in request.headers and object_in(request.content).get("method") == "initialize":
            # A new session is wanted, and the package would name the old one.
            del request.headers[_SESSION]
        try:
            response = await super().send(request, **options)
            if request.method == "POST" and response.status_code >= 400:
                return await _refused(response)
        except (httpx2.TransportError, httpx2.StreamError) as error:
            return _error(request, str(error) or type(error).__name__)
        return response


async def _refused(response: httpx2.Response) -> httpx2.Response:
    """A refusal in words: the server's own if it speaks the protocol. Only JSON is read; others may have no end."""
    try:
        told = object_in(await response.aread()) if _type(response).startswith("application/json") else {}
    finally:
        await response.aclose()
    error = as_object(told.get("error"))
    if response.status_code == 404 and _SESSION in response.request.headers and error.get("code") != _NO_METHOD:
        why = as_text(error.get("message")) or "it has forgotten the session"
        return _error(response.request, why, FORGOTTEN)
    return response if "jsonrpc" in told else _error(response.request, f"it answered {response.status_code}")


def _type(response: httpx2.Response) -> str:
    return str(response.headers.get("content-type", "")).lower()


def _error(request: httpx2.Request, why: str, code: int | None = None) -> httpx2.Response:
    """An answer with this error; the package knows which call it belongs to."""
    told = encode(failed(None, why, code).model_dump(mode="json", exclude_unset=True))
    return httpx2.Response(502, headers={"content-type": "application/json"}, content=told, request=request)


async def _bound(allowance: Allowance, response: httpx2.Response) -> None:
    response.stream = _Bounded(response, allowance)


class _Bounded(httpx2.AsyncByteStream):
    """A response body. An event stream lasts as long as its run; its events are bounded where they are parsed."""

    def __init__(self, response: httpx2.Response, allowance: Allowance) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        self._stream = response.stream
        self._is_packed = response.headers.get("content-encoding", "identity") != "identity"
        self._goes_on = _type(response).startswith("text/event-stream")
        self._allowance = allowance

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._is_packed:
            raise httpx2.StreamError("it is compressed, which was not asked for")
        count = pieces = 0
        self._take(_ANSWER_BYTES)
        async for piece in self._read():
            pieces += 1
            if pieces % _PIECES == 0:
                await asyncio.sleep(0)
            count += len(piece)
            if count > MESSAGE_BYTES and not self._goes_on:
                raise httpx2.StreamError(f"it has more than {MESSAGE_BYTES} bytes")
            self._take(len(piece))
            yield piece

    async def _read(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._stream:
                yield piece
        except httpx2.TransportError as error:
            # For the same reason as in `_take`.
            raise httpx2.StreamError(f"it broke off: {error}") from error

    def _take(self, count: int) -> None:
        try:
            self._allowance.take(count)
        except TooMuch as error:
            # For an error of this type the package ends only the call.
            raise httpx2.StreamError(str(error)) from error

    async def aclose(self) -> None:
        await self._stream.aclose()
