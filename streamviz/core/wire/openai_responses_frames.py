"""What upstream's own frames are about: an item, a whole response, or nothing."""

from collections.abc import Sequence

from streamviz.core.aggregator import Chunk
from streamviz.core.events import BlockSealed, BlockStarted, StreamEvent
from streamviz.core.json_value import JsonObject, as_object, as_text, object_in
from streamviz.core.wire.openai_responses import is_response

ADDED = "response.output_item.added"
ITEM_DONE = "response.output_item.done"
PART_ADDED = "response.reasoning_summary_part.added"
# Names of events that say something about an item without any event here; "" if upstream does not name its events.
_TELLING = ("", ADDED, PART_ADDED)


def id_in(payload: JsonObject) -> str:
    """The id of the item that a frame is about."""
    return as_text(payload.get("item_id")) or as_text(as_object(payload.get("item")).get("id"))


def response_in(payload: JsonObject) -> JsonObject | None:
    """The whole response in a frame, or a body, if there is one."""
    if payload.get("object") == "response" or is_response(payload):
        return payload
    response = payload.get("response")
    return response if isinstance(response, dict) else None


def payload_in(chunk: Chunk) -> JsonObject:
    """The payload of a frame; empty if it cannot be decoded."""
    return object_in(chunk.data)


def tells_items(events: Sequence[StreamEvent], chunk: Chunk) -> bool:
    """Whether a passing chunk may say something about an item; nearly all are text, and not decoded for it."""
    if events:
        return any(isinstance(event, BlockStarted | BlockSealed) for event in events)
    return chunk.name in _TELLING


def says_nothing(payload: JsonObject) -> bool:
    """Whether a frame without an item id concerns no item: it is an error, or has no text."""
    if payload.get("type") == "error":
        return True
    return not any(isinstance(value, str | list | dict) for key, value in payload.items() if key != "type")
