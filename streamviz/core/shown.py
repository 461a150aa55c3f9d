"""A chunk as policies see it."""

import re

import msgspec

from streamviz.core.aggregator import Chunk
from streamviz.core.json_value import as_list, as_object, decode, encode, objects

# Some providers put it beside each piece of a tool call: read as text, it would begin a block that does not exist.
_EMPTY = re.compile(rb'"content"\s*:\s*""')


def as_shown(chunk: Chunk) -> Chunk:
    """The chunk without empty content strings beside tool calls in its `data`; what goes on, and what is recorded, is
    its `raw`."""
    data = chunk.data
    if data is None or b'"tool_calls"' not in data or _EMPTY.search(data) is None:
        return chunk
    try:
        payload = as_object(decode(data))
    except ValueError:
        return chunk
    has_changed = False
    for choice in objects(payload.get("choices")):
        for said in (as_object(choice.get("delta")), as_object(choice.get("message"))):
            if said.get("content") == "" and as_list(said.get("tool_calls")):
                del said["content"]
                has_changed = True
    return msgspec.structs.replace(chunk, data=encode(payload)) if has_changed else chunk
