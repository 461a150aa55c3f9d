"""Tool calls as items of a response, and which members of upstream's own item may stay in them."""

from streamviz.core.blocks import ToolCallStreamBlock
from streamviz.core.calls import name_of
from streamviz.core.json_value import JsonObject, decode, object_in
from streamviz.core.wire.openai_responses_calls import Shape, members_beside, shape_of

# Members that clients require, in case there is no item of upstream's to supply them.
_REQUIRED: dict[str, JsonObject] = {
    "code_interpreter_call": {"code": None, "container_id": "", "outputs": None},
    "computer_call": {"pending_safety_checks": []},
    "file_search_call": {"queries": []},
    "image_generation_call": {"result": None},
    "mcp_approval_request": {"server_label": ""},
    "mcp_call": {"server_label": ""},
    "program": {"fingerprint": ""},
    "shell_call": {"environment": None},
    "tool_search_call": {"execution": "client"},
}


def call_item(block: ToolCallStreamBlock, told: JsonObject) -> JsonObject:
    """The item of a call. `told` are the other members of upstream's item."""
    type = block.label or "function_call"
    details: JsonObject = {**told, "type": type}
    shape = shape_of(details)
    item: JsonObject = {
        "status": "completed",
        **_REQUIRED.get(type, {}),
        **details,
        **_carried(shape, block.text, details),
    }
    if shape.has_name or block.name != name_of(type):
        item["name"] = block.name
    if not shape.has_call_id:
        return {"id": block.id, **item}
    if told.get("call_id", block.id) is not None:
        item["call_id"] = block.id
    return {"id": f"fc_{block.id}", **item}


def kept_of(told: JsonObject) -> JsonObject:
    """The members of upstream's item that stay if the call's arguments do not."""
    shape = shape_of(told)
    names = ("id", "type", "status", *shape.kept, *(("call_id",) if shape.has_call_id else ()))
    return {key: told[key] for key in names if key in told}


def _carried(shape: Shape, text: str, details: JsonObject) -> JsonObject:
    if not shape.carrier:
        said = object_in(text)
        # There is no field of its own for plain text.
        return said or ({"arguments": text} if text else {})
    value = text if shape.is_text else _value(text)
    if not isinstance(value, dict):
        return {shape.carrier: value}
    names = {*shape.beside, *members_beside(details, shape)}
    beside = {key: inner for key, inner in value.items() if key in names}
    return {shape.carrier: {key: inner for key, inner in value.items() if key not in names}, **beside}


def _value(text: str) -> object:
    try:
        return decode(text)
    except ValueError:
        return text
