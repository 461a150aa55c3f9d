"""An MCP server built with the package, for use at an address: it adds, and it sends answers longer than any limit."""

from mcp.server import MCPServer


def made() -> MCPServer:
    """A new server; each can be served once."""
    server = MCPServer("calculator")
    server.tool()(add)
    server.tool()(long)
    server.tool()(many)
    return server


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def long(bytes: int) -> str:
    """Answers so many bytes."""
    return "x" * bytes


def many(count: int) -> list[str]:
    """Answers in so many pieces."""
    return ["x"] * count
