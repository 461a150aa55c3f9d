"""Tools of MCP servers: programs on this machine, or addresses, that an administrator configured."""

import asyncio
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from streamviz.core.base_urls import is_loopback
from streamviz.core.json_value import JsonObject, encode, object_in
from streamviz.core.model_names import fits
from streamviz.executors import mcp_process
from streamviz.executors.mcp_bounds import MESSAGE_BYTES, Heard
from streamviz.executors.mcp_secrets import masked, secrets_in
from streamviz.executors.tools import Tool, ToolFailed, shortened

PREFIX = "mcp__"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_DESCRIPTION_CHARACTERS = 2_000
_SCHEMA_BYTES = 8_000
_WHY_CHARACTERS = 300
_MOST_PAGES = 10
# More than any run can tell its model about; and how many tools are looked at before other tasks get a turn.
_MOST_LISTED = 500
_TURN_TOOLS = 50


@dataclass(frozen=True, slots=True)
class McpServer:
    """A source of tools, with a `command` or a `url`. `variables` names the environment variables that the command
    gets, `credential` the one that an address gets as a bearer token. `tools` are globs of the tools that may be used,
    by the server's own names for them."""

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

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Sequence[Tool]]:
        # Loading the package and what it imports takes a second; other streams go on meanwhile.
        await asyncio.to_thread(load)
        from streamviz.executors.mcp_session import Session

        async with self._transport() as (read, write), Session(Heard(read), write) as session:
            yield await self._begun(session)

    def _transport(self) -> AbstractAsyncContextManager[Any]:
        if self.tells_secret:
            raise ToolFailed("its credential would go to another machine over http://")
        if self.url:
            from streamviz.executors import mcp_address

            return mcp_address.spoken_to(self.url, self.credential)
        from mcp.client.stdio import get_default_environment

        told = {name: os.environ[name] for name in self.variables if name in os.environ}
        return mcp_process.spoken_to(self.command, {**get_default_environment(), **told}, MESSAGE_BYTES)

    async def _begun(self, session: Any) -> list[Tool]:
        """Its tools, once the session is open. Raises ToolFailed if that fails, or the tools cannot be listed."""
        try:
            await session.initialize()
            return [tool async for tool in self._listed(session)]
        except Exception as error:  # As in `McpTool.run`.
            raise ToolFailed(shortened(masked(_why(error), self._secrets), _WHY_CHARACTERS)) from error

    @property
    def _secrets(self) -> list[str]:
        return secrets_in((*self.variables, self.credential))

    async def _listed(self, session: Any) -> AsyncIterator[Tool]:
        """The tools that may be used, at most _MOST_LISTED."""
        secrets, found = self._secrets, 0
        async with aclosing(_told_of(session)) as told:
            async for each in told:
                if self._may_be_used(each.name) and masked(each.name, secrets) == each.name:
                    yield McpTool(self.prefix, each, session, secrets)
                    found += 1
                    if found == _MOST_LISTED:
                        return

    def _may_be_used(self, name: str) -> bool:
        return bool(_NAME.fullmatch(name)) and any(fits(name, glob) for glob in self.tools)


class McpTool:
    """A tool of an open server. Models, clients and the record get what it says, so `secrets` are masked."""

    def __init__(self, prefix: str, told: Any, session: Any, secrets: Sequence[str]) -> None:
        self.name = prefix + told.name
        self.description = shortened(masked(told.description or "", secrets), _DESCRIPTION_CHARACTERS)
        self.parameters = _schema(told.input_schema, secrets)
        self._own_name = told.name
        self._session = session
        self._secrets = secrets

    async def run(self, arguments: JsonObject) -> str:
        try:
            result = await self._session.call_tool(self._own_name, arguments)
        except Exception as error:  # The package's errors share no base, and some are of the transport.
            raise ToolFailed(f"{self.name} did not answer: {masked(_why(error), self._secrets)}") from error
        text = masked(_told(result), self._secrets)
        if getattr(result, "is_error", True):
            raise ToolFailed(text or f"{self.name} failed.")
        return text


async def _told_of(session: Any) -> AsyncGenerator[Any]:
    """All tools that a server lists, as the package's objects."""
    from mcp_types import PaginatedRequestParams

    cursor = None
    for _ in range(_MOST_PAGES):
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        for number, each in enumerate(page.tools):
            if number % _TURN_TOOLS == 0:
                await asyncio.sleep(0)
            yield each
        cursor = page.next_cursor
        if not cursor:
            return


def load() -> None:
    """Import the package."""
    import mcp.client.stdio
    import mcp.client.streamable_http  # noqa: F401


def _schema(told: object, secrets: Sequence[str]) -> JsonObject:
    """A schema as models get it; empty if it is too long, or not JSON once the secrets are masked."""
    schema = encode(told)
    if len(schema) > _SCHEMA_BYTES:
        return {}
    return object_in(masked(schema.decode(), secrets))


def _why(error: Exception) -> str:
    """What went wrong. Printing everything that pydantic found in an answer can take seconds."""
    from pydantic import ValidationError  # imported late, with the package

    if isinstance(error, ValidationError):
        count = error.error_count()
        return f"{error.title} has {count} error{'s' * (count > 1)}"
    return str(error) or type(error).__name__


def _told(result: Any) -> str:
    """What a model can read of a result; the data, if the result has nothing else."""
    content = "\n".join(_words(part) for part in getattr(result, "content", ()))
    data = getattr(result, "structured_content", None)
    return encode(data).decode() if data and not content else content


def _words(part: Any) -> str:
    """What a model can read of a part of a result; if the part is not text, what it is."""
    text = part.text if part.type == "text" else getattr(getattr(part, "resource", None), "text", None)
    if text is not None:
        return str(text)
    what = getattr(part, "uri", None) or getattr(part, "mime_type", None) or getattr(part, "resource", None)
    return f"[{part.type} {getattr(what, 'uri', what)}]"
