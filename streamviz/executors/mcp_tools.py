"""Tools of MCP servers: programs on this machine, or addresses, that an administrator named."""

import os
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from streamviz.core.json_value import JsonObject, as_object, encode
from streamviz.executors.tools import Tool, ToolFailed, shortened

PREFIX = "mcp__"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_DESCRIPTION_CHARACTERS = 2_000
_SCHEMA_BYTES = 8_000
_MOST_PAGES = 10
_END_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class McpServer:
    """A source of tools. It has a `command` or a `url`; `variables` names what of this process's environment the
    command gets, `credential` the one that an address is sent as a bearer token. `tools` are globs of those that may be
    used, by the server's own names for them."""

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    variables: tuple[str, ...] = ()
    credential: str = ""
    tools: tuple[str, ...] = ()

    @property
    def prefix(self) -> str:
        """What the names of its tools begin with."""
        return f"{PREFIX}{self.name}__"

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Sequence[Tool]]:
        from mcp import ClientSession  # with all that it imports it is loaded where it is needed

        async with AsyncExitStack() as stack:
            read, write = await stack.enter_async_context(self._transport(stack))
            session = await stack.enter_async_context(ClientSession(read, write))
            await session.initialize()
            yield [tool async for tool in self._listed(session)]

    def _transport(self, stack: AsyncExitStack) -> AbstractAsyncContextManager[Any]:
        if self.url:
            return self._at_address()
        from mcp import StdioServerParameters
        from mcp.client import stdio

        # What a program gets to end by itself before it is killed: a client that left waits for nobody.
        stdio.PROCESS_TERMINATION_TIMEOUT = _END_SECONDS
        told = {name: os.environ[name] for name in self.variables if name in os.environ}
        environment = {**stdio.get_default_environment(), **told}
        nowhere = stack.enter_context(open(os.devnull, "w"))  # noqa: SIM115 - the stack closes it
        parameters = StdioServerParameters(command=self.command[0], args=list(self.command[1:]), env=environment)
        return stdio.stdio_client(parameters, errlog=nowhere)

    @asynccontextmanager
    async def _at_address(self) -> AsyncIterator[Any]:
        from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

        key = os.environ.get(self.credential, "")
        async with create_mcp_http_client({"authorization": f"Bearer {key}"} if key else None) as client:
            client.follow_redirects = False  # no address is asked that no administrator chose
            async with streamable_http_client(self.url, http_client=client) as streams:
                yield streams

    async def _listed(self, session: Any) -> AsyncIterator[Tool]:
        cursor = None
        for _ in range(_MOST_PAGES):
            page = await session.list_tools(cursor=cursor) if cursor else await session.list_tools()
            for each in page.tools:
                if _NAME.fullmatch(each.name) and any(fnmatchcase(each.name, glob) for glob in self.tools):
                    yield McpTool(self.prefix, each, session)
            cursor = page.next_cursor
            if not cursor:
                return


class McpTool:
    """A tool of an open server."""

    def __init__(self, prefix: str, told: Any, session: Any) -> None:
        self.name = prefix + told.name
        self.description = shortened(told.description or "", _DESCRIPTION_CHARACTERS)
        schema = as_object(told.input_schema)
        self.parameters: JsonObject = schema if len(encode(schema)) <= _SCHEMA_BYTES else {}
        self._own_name = told.name
        self._session = session

    async def run(self, arguments: JsonObject) -> str:
        try:
            result = await self._session.call_tool(self._own_name, arguments)
        except Exception as error:  # The package's errors share no base, and some are of the transport.
            raise ToolFailed(f"{self.name} did not answer: {error or type(error).__name__}") from error
        text = "\n".join(_words(part) for part in getattr(result, "content", ()))
        if getattr(result, "is_error", True):
            raise ToolFailed(text or f"{self.name} failed.")
        return text


def _words(part: Any) -> str:
    """What a model can read of a part of a result."""
    return str(part.text) if part.type == "text" else f"[{part.type}]"
