"""A session with an MCP server, imported only when needed, as the package is."""

from typing import Any

import anyio
from mcp import ClientSession, MCPError
from mcp_types import CallToolResult, InitializedNotification, InitializeRequest, InitializeResult

from streamviz.executors.mcp_bounds import FORGOTTEN


class Session(ClientSession):
    """The package's, which begins anew where its server has forgotten it, as the protocol wants, and has results read
    by nobody but the model."""

    def __init__(self, read: Any, write: Any) -> None:
        super().__init__(read, write)
        self._first: InitializeRequest | None = None
        self._beginnings = 0
        self._beginning = anyio.Lock()

    async def send_request(self, request: Any, *given: Any, **options: Any) -> Any:
        if isinstance(request, InitializeRequest):
            self._first = request
        beginnings = self._beginnings
        try:
            return await super().send_request(request, *given, **options)
        except MCPError as error:
            if error.code != FORGOTTEN or self._first is None:
                raise
        await self._begin_anew(self._first, beginnings)
        return await super().send_request(request, *given, **options)

    async def _begin_anew(self, first: InitializeRequest, beginnings: int) -> None:
        """Unless it was since: several calls at once may have found it forgotten."""
        async with self._beginning:
            if self._beginnings == beginnings:
                self.adopt(await super().send_request(first, InitializeResult))
                await self.send_notification(InitializedNotification())
                self._beginnings += 1

    async def validate_tool_result(self, name: str, result: CallToolResult) -> None:
        """Check no result against the schema that the server gave for it: that can take forever, while all other
        streams wait."""
