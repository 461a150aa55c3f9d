"""A server's list of tools, cleaned so that one odd tool does not take the others with it."""

from streamviz.core.json_value import JsonObject, as_object, objects

_ANY: JsonObject = {"type": "object"}


def readable(result: JsonObject) -> JsonObject:
    """A result whose listed tools the package accepts. It would reject all of them for a fault in one, even in a part
    that nobody reads."""
    listed = result.get("tools")
    if not isinstance(listed, list):
        return result
    return {**result, "tools": [_tool(each) for each in objects(listed) if isinstance(each.get("name"), str)]}


def _tool(told: JsonObject) -> JsonObject:
    """Its name, its description and its schema."""
    description = told.get("description")
    described: JsonObject = {"description": description} if isinstance(description, str) else {}
    # Many servers send no schema for a tool without arguments.
    schema = {**_ANY, **as_object(told.get("inputSchema"))}
    return {"name": told["name"], **described, "inputSchema": schema if _is_taken(schema) else _ANY}


def _is_taken(schema: JsonObject) -> bool:
    """Whether it is an object's schema, in all that the package checks."""
    told = {name: value for name, value in schema.items() if value is not None}
    properties, required = told.get("properties", {}), told.get("required", [])
    return (
        told.get("type") == "object"
        and isinstance(told.get("$schema", ""), str)
        and isinstance(properties, dict)
        and all(isinstance(each, dict | bool) for each in properties.values())
        and isinstance(required, list)
        and all(isinstance(each, str) for each in required)
    )
