"""An MCP server on standard input: it adds, and it dies when it is told to."""

import os
import time
from pathlib import Path

from mcp.server import MCPServer

server = MCPServer("calculator")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def token() -> str:
    """Says what it was given."""
    return os.environ.get("CALCULATOR_TOKEN", "nothing")


@server.tool()
def die() -> str:
    """Ends the server."""
    os._exit(1)


@server.tool()
def secret() -> str:
    """Not on the list."""
    return "secret"


@server.tool()
def hang(file: str) -> str:
    """Blocks all of the server, and notes its process."""
    Path(file).write_text(str(os.getpid()))
    time.sleep(3600)
    return "never"


if __name__ == "__main__":
    server.run()
