"""A session with an MCP server, imported only when needed, as the package is."""

from typing import Any

import anyio
from mcp import ClientSession, MCPError
from mcp_types import CallToolResult, InitializeRequest

from streamviz.executors.mcp_bounds import FORGOTTEN


class Session(ClientSession):
    """The package's session, for results that only the model reads. If the server has forgotten it, a new one is
    started, as the protocol demands, and the request is sent again."""

    def __init__(self, read: Any, write: Any) -> None:
        super().__init__(read, write)
        self._restarts = 0
        self._restarting = anyio.Lock()

    async def send_request(self, request: Any, *given: Any, **options: Any) -> Any:
        restarts = self._restarts
        try:
            return await super().send_request(request, *given, **options)
        except MCPError as error:
            if error.code != FORGOTTEN or isinstance(request, InitializeRequest):
                raise
        await self._restart(restarts)
        return await super().send_request(request, *given, **options)

    async def _restart(self, restarts: int) -> None:
        """Start a new session, unless another request has done so since there were this many restarts."""
        async with self._restarting:
            if self._restarts == restarts:
                self._initialize_result = None  # otherwise the package would return this again
                await self.initialize()
                self._restarts += 1

    async def validate_tool_result(self, name: str, result: CallToolResult) -> None:
        """Check no result against the schema that the server gave for it: that can take forever, while all other
        streams wait."""
