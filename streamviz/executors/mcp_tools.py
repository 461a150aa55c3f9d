"""Tools of MCP servers: programs on this machine, or addresses, that an administrator named."""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from streamviz.core.base_urls import is_loopback
from streamviz.core.json_value import JsonObject, as_object, encode
from streamviz.executors import mcp_process
from streamviz.executors.mcp_bounds import MESSAGE_BYTES, Heard
from streamviz.executors.tools import Tool, ToolFailed, shortened
from streamviz.upstream.redaction import names_credential, without

PREFIX = "mcp__"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_DESCRIPTION_CHARACTERS = 2_000
_SCHEMA_BYTES = 8_000
_MOST_PAGES = 10


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

    @property
    def tells_secret(self) -> bool:
        """Whether its credential would leave this machine unencrypted."""
        parts = urlsplit(self.url)
        return bool(self.credential) and parts.scheme == "http" and not is_loopback(parts.hostname or "")

    @property
    def secrets(self) -> list[str]:
        """The credentials that it is given, the longest first, as one may begin another."""
        names = {*filter(names_credential, self.variables), self.credential}
        return sorted((os.environ[name] for name in names if name in os.environ), key=len, reverse=True)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Sequence[Tool]]:
        # With all that it imports the package takes a second to load: other streams go on meanwhile.
        await asyncio.to_thread(_load)
        from streamviz.executors.mcp_session import Session

        async with self._transport() as (read, write), Session(Heard(read), write) as session:
            await session.initialize()
            yield [tool async for tool in self._listed(session)]

    def _transport(self) -> AbstractAsyncContextManager[Any]:
        if self.tells_secret:
            raise ToolFailed("its credential would go to another machine over http://")
        if self.url:
            from streamviz.executors import mcp_address

            return mcp_address.spoken_to(self.url, self.credential)
        from mcp.client.stdio import get_default_environment

        told = {name: os.environ[name] for name in self.variables if name in os.environ}
        return mcp_process.spoken_to(self.command, {**get_default_environment(), **told}, MESSAGE_BYTES)

    async def _listed(self, session: Any) -> AsyncIterator[Tool]:
        from mcp_types import PaginatedRequestParams

        cursor = None
        for _ in range(_MOST_PAGES):
            page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            for each in page.tools:
                if _NAME.fullmatch(each.name) and any(fnmatchcase(each.name, glob) for glob in self.tools):
                    yield McpTool(self, each, session)
            cursor = page.next_cursor
            if not cursor:
                return


class McpTool:
    """A tool of an open server. What that says models, clients and the record have, so its credentials are masked."""

    def __init__(self, server: McpServer, told: Any, session: Any) -> None:
        self.name = server.prefix + told.name
        self._secrets = server.secrets
        self.description = shortened(self._masked(told.description or ""), _DESCRIPTION_CHARACTERS)
        schema = as_object(told.input_schema)
        self.parameters: JsonObject = schema if len(encode(schema)) <= _SCHEMA_BYTES else {}
        self._own_name = told.name
        self._session = session

    async def run(self, arguments: JsonObject) -> str:
        try:
            result = await self._session.call_tool(self._own_name, arguments)
        except Exception as error:  # The package's errors share no base, and some are of the transport.
            raise ToolFailed(f"{self.name} did not answer: {self._masked(_why(error))}") from error
        text = self._masked(_told(result))
        if getattr(result, "is_error", True):
            raise ToolFailed(text or f"{self.name} failed.")
        return text

    def _masked(self, text: str) -> str:
        for secret in self._secrets:
            text = without(secret, text)
        return text


def _load() -> None:
    import mcp.client.stdio
    import mcp.client.streamable_http  # noqa: F401


def _why(error: Exception) -> str:
    """What went wrong. To say all that pydantic found in an answer can take seconds."""
    from pydantic import ValidationError  # loaded where it is needed, with the package

    if isinstance(error, ValidationError):
        return f"{error.title} has {error.error_count()} errors"
    return str(error) or type(error).__name__


def _told(result: Any) -> str:
    """What a model can read of a result: of one that has data alone, the data."""
    content = "\n".join(_words(part) for part in getattr(result, "content", ()))
    data = getattr(result, "structured_content", None)
    return encode(data).decode() if data and not content else content


def _words(part: Any) -> str:
    """What a model can read of a part of a result; of what is no text, what it is."""
    text = part.text if part.type == "text" else getattr(getattr(part, "resource", None), "text", None)
    if text is not None:
        return str(text)
    what = getattr(part, "uri", None) or getattr(part, "mime_type", None) or getattr(part, "resource", None)
    return f"[{part.type} {getattr(what, 'uri', what)}]"
