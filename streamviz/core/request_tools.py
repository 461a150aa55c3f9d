"""The tools that a request offers: wherever they stand, and by whatever names a provider may take them."""

from collections.abc import Iterator

from streamviz.core.json_value import JsonObject, as_object, as_text, objects
from streamviz.core.wire.gemini_requests import camel, declared, snake

# A client's own, whose members are its words. Others are the provider's, and some call a model.
OWN_KINDS = ("", "custom", "function")
# What an MCP server has is not offered by the request.
_LISTING = ("mcp_list_tools",)


def every_tool(fields: JsonObject) -> Iterator[JsonObject]:
    """Each tool as the request has it, those of namespaces and those that a search for tools found too."""
    items = [item for item in objects(fields.get("input")) if item.get("type") not in _LISTING]
    level = [*objects(fields.get("tools")), *objects(fields.get("functions")), *_within(items)]
    while level:
        yield from level
        level = _within(level)


def _within(holding: list[JsonObject]) -> list[JsonObject]:
    return [tool for each in holding if "tools" in each for tool in objects(each["tools"])]


def told_by(tool: JsonObject) -> Iterator[JsonObject]:
    """What a tool is told by, with its type. Where it is told in two places, which of them counts is the provider's
    choice, so both are."""
    within = [own for place in ("function", "custom") if (own := as_object(tool.get(place)))]
    yield from ({**own, "type": tool.get("type")} for own in within)
    yield from declared(tool)
    names = [] if "name" in tool or within or as_text(tool.get("type")) not in OWN_KINDS else _googles(tool)
    for name in names:
        yield {"name": name}
    if "name" in tool or not (within or names or "functionDeclarations" in tool or "function_declarations" in tool):
        yield tool


def _googles(tool: JsonObject) -> list[str]:
    """Tools that Google runs, by their members in both ways to write them."""
    members = tool.keys() - {"type", "functionDeclarations", "function_declarations", *OWN_KINDS}
    return sorted({name for member in members for name in (camel(member), snake(member))})
