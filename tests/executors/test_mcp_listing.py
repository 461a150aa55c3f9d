"""How many of the tools that an MCP server lists a run looks at."""

import asyncio
from types import SimpleNamespace
from typing import Any

from streamviz.executors.mcp_tools import McpServer
from streamviz.executors.tools import Tool

TOOLS = 2_000


class Listing:
    """A session with a server that lists the same tools again and again; `asked` counts its pages."""

    def __init__(self) -> None:
        self.asked = 0

    async def list_tools(self, params: Any) -> Any:
        self.asked += 1
        schema = {"type": "object"}
        names = [f"{kind}{number}" for number in range(TOOLS // 2) for kind in ("read", "write")]
        tools = [SimpleNamespace(name=name, description="It does.", input_schema=schema) for name in names]
        return SimpleNamespace(tools=tools, next_cursor="more")


async def listed(server: McpServer, session: Listing) -> list[Tool]:
    return [tool async for tool in server._listed(session)]


async def test_the_first_hundreds_that_may_be_used_are_looked_at() -> None:
    session = Listing()
    tools = await listed(McpServer("files", tools=("read*",)), session)
    assert [tool.name for tool in tools] == [f"mcp__files__read{number}" for number in range(500)]
    assert session.asked == 1


async def test_others_get_on_while_tools_are_looked_through() -> None:
    rounds, session = 0, Listing()
    listing = asyncio.ensure_future(listed(McpServer("files", tools=("none",)), session))
    while not listing.done():
        rounds += 1
        await asyncio.sleep(0)
    assert (session.asked, listing.result()) == (10, [])
    assert rounds > 10 * TOOLS // 100
