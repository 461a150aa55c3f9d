"""A session with an MCP server, loaded where it is needed, as the package is."""

from mcp import ClientSession
from mcp_types import CallToolResult


class Session(ClientSession):
    """The package's, which has results read by nobody but the model."""

    async def validate_tool_result(self, name: str, result: CallToolResult) -> None:
        """Nothing is held against the schema that a server gives its own results: to do so can take for ever, and all
        other streams wait meanwhile."""
