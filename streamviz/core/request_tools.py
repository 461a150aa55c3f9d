"""The tools that a request offers: wherever they are, and by whatever names a provider may accept them."""

from collections.abc import Iterator

from streamviz.core.json_value import JsonObject, as_object, as_text, objects
from streamviz.core.wire.gemini_schemas import camel, declared, snake

# Types of the client's own tools, which it describes in its own words. Others are the provider's, and some call a
# model.
OWN_KINDS = ("", "custom", "function")
# What an MCP server lists is not offered by the request.
_LISTING = ("mcp_list_tools",)


def declared_in(fields: JsonObject) -> list[JsonObject]:
    """The tools that a request declares, wherever: also those that a search for tools found, and those that were added
    in the course of a conversation."""
    items = [item for item in objects(fields.get("input")) if item.get("type") not in _LISTING]
    said = [part for message in objects(fields.get("messages")) for part in objects(message.get("content"))]
    return [*objects(fields.get("tools")), *objects(fields.get("functions")), *_within(items), *_added(said)]


def every_tool(fields: JsonObject) -> Iterator[JsonObject]:
    """Each tool as the request has it, including those of namespaces."""
    level = declared_in(fields)
    while level:
        yield from level
        level = _within(level)


def _added(blocks: list[JsonObject]) -> Iterator[JsonObject]:
    """The tools that Anthropic's blocks add. A summary tells what the conversation that it replaces had added."""
    summaries = (block for block in blocks if block.get("type") == "compaction")
    for change in (*blocks, *(change for each in summaries for change in objects(each.get("tool_changes")))):
        tool = as_object(as_object(change.get("tool")).get("definition"))
        if tool and change.get("type") == "tool_addition":
            yield tool


def _within(holding: list[JsonObject]) -> list[JsonObject]:
    return [tool for each in holding if "tools" in each for tool in objects(each["tools"])]


def told_by(tool: JsonObject) -> Iterator[JsonObject]:
    """The declarations of a tool, with its type. If it is declared in two places, the provider decides which counts, so
    both are given."""
    within = [own for place in ("function", "custom") if (own := as_object(tool.get(place)))]
    yield from ({**own, "type": tool.get("type")} for own in within)
    yield from declared(tool)
    names = [] if "name" in tool or within or as_text(tool.get("type")) not in OWN_KINDS else _googles(tool)
    for name in names:
        yield {"name": name}
    if "name" in tool or not (within or names or "functionDeclarations" in tool or "function_declarations" in tool):
        yield tool


def _googles(tool: JsonObject) -> list[str]:
    """The names of tools that Google runs, from their members, in both spellings."""
    members = tool.keys() - {"type", "functionDeclarations", "function_declarations", *OWN_KINDS}
    return sorted({name for member in members for name in (camel(member), snake(member))})
