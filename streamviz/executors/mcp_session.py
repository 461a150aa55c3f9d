"""A session with an MCP server, imported only when needed, as the package is."""

from mcp import ClientSession
from mcp_types import CallToolResult


class Session(ClientSession):
    """The package's session, for results that only the model reads."""

    async def validate_tool_result(self, name: str, result: CallToolResult) -> None:
        """Check no result against the schema that the server gave for it: that can take forever, while all other
        streams wait."""
