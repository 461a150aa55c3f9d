"""The items of a composed response, and the frames that tell of each.

A frame here is an event's name and its fields; the composer numbers it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.events import BlockDelta, BlockKind
from streamviz.core.json_value import JsonObject, as_list, as_object, as_text
from streamviz.core.wire.openai_responses_message import item_of, part_of

Frame = tuple[str, JsonObject]

ITEM_TYPES = {
    BlockKind.CONTENT: "message",
    BlockKind.REFUSAL: "message",
    BlockKind.THINKING: "reasoning",
    BlockKind.TOOL_CALL: "function_call",
}
_PREFIXES = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}
# The middle word of the events that tell a block's text, and the field that holds the whole of it at its end.
_CALL_WORDS = {
    "function_call": ("function_call_arguments", "arguments"),
    "custom_tool_call": ("custom_tool_call_input", "input"),
}
_TEXT_WORDS = {
    BlockKind.CONTENT: ("output_text", "text"),
    BlockKind.REFUSAL: ("refusal", "refusal"),
    BlockKind.THINKING: ("reasoning_summary_text", "text"),
}


@dataclass(slots=True, eq=False)
class OutputItem:
    """An item at its place in the client's output; `source` is its place in upstream's, where it comes from there."""

    place: int
    type: str
    source: int | None
    upstream: Mapping[int, JsonObject]
    id: str = ""
    blocks: list["OutputBlock"] = field(default_factory=list)
    is_added: bool = False
    is_done: bool = False

    def __post_init__(self) -> None:
        self.id = as_text(self.told.get("id")) or f"{_PREFIXES.get(self.type, 'item')}_{self.place}"

    @property
    def told(self) -> JsonObject:
        """Upstream's own item, as far as it has come."""
        return {} if self.source is None else self.upstream.get(self.source, {})

    def whole(self) -> JsonObject:
        """The item with all that it has."""
        item = {**item_of([held.block for held in self.blocks], self.told), "id": self.id}
        if "status" in item:
            item["status"] = "completed"
        return item


@dataclass(slots=True, eq=False)
class OutputBlock:
    """What a block adds to its item; `position` is its place among the parts of a message."""

    block: StreamBlock
    item: OutputItem
    position: int
    label: str = ""
    is_ended: bool = False

    @property
    def words(self) -> tuple[str, str]:
        return _TEXT_WORDS.get(self.block.kind) or _CALL_WORDS[self.item.type]

    @property
    def at(self) -> JsonObject:
        """The fields that say where a text belongs."""
        place: JsonObject = {"item_id": self.item.id, "output_index": self.item.place}
        if self.item.type == "message":
            place["content_index"] = self.position
        elif self.block.kind is BlockKind.THINKING:
            place["summary_index"] = 0
        return place


def begin(held: OutputBlock) -> Iterator[Frame]:
    """What can be told of a block when it has just begun; a call's start waits until its id and name have come."""
    item = held.item
    if item.type == "message":
        yield from add(item)
        yield "response.content_part.added", {**held.at, "part": _part(held, is_whole=False)}
    elif not isinstance(held.block, ToolCallStreamBlock) or (held.block.id and held.block.name):
        yield from add(item)


def grow(held: OutputBlock, delta: BlockDelta) -> Iterator[Frame]:
    """Take a delta in, and tell it."""
    is_first = not held.block.length
    if held.item.is_added:
        # A call keeps the id that it was told with.
        delta = BlockDelta(delta.ordinal, delta.text, name=delta.name, signature=delta.signature)
    held.block.grow(delta)
    if held.block.kind is BlockKind.OTHER or not delta.text:
        return
    yield from add(held.item)
    if held.block.kind is BlockKind.THINKING and is_first:
        yield "response.reasoning_summary_part.added", {**held.at, "part": {"type": "summary_text", "text": ""}}
    word, _ = held.words
    logprobs: JsonObject = {"logprobs": []} if word == "output_text" else {}
    yield f"response.{word}.delta", {**held.at, "delta": delta.text, **logprobs}


def end(held: OutputBlock) -> Iterator[Frame]:
    """The ends of a block's text and of its part."""
    if held.is_ended:
        return
    held.is_ended = True
    block = held.block
    if block.kind is BlockKind.OTHER or (block.kind is BlockKind.THINKING and not block.length):
        # Upstream's own item, or none, says it all.
        return
    yield from add(held.item)
    word, field = held.words
    logprobs: JsonObject = {"logprobs": []} if word == "output_text" else {}
    yield f"response.{word}.done", {**held.at, field: block.text, **logprobs}
    if held.item.type == "message":
        yield "response.content_part.done", {**held.at, "part": _part(held, is_whole=True)}
    elif block.kind is BlockKind.THINKING:
        yield "response.reasoning_summary_part.done", {**held.at, "part": {"type": "summary_text", "text": block.text}}


def close(item: OutputItem) -> Iterator[Frame]:
    """The end of an item."""
    if item.is_done:
        return
    for held in item.blocks:
        yield from end(held)
    yield from add(item)
    item.is_done = True
    yield "response.output_item.done", {"output_index": item.place, "item": item.whole()}


def add(item: OutputItem) -> Iterator[Frame]:
    """The beginning of an item, unless it was told already."""
    if item.is_added:
        return
    item.is_added = True
    for held in item.blocks:
        if isinstance(held.block, ToolCallStreamBlock) and not held.block.id:
            # Clients answer a call by its id.
            held.block.id = f"call_{item.place}"
    yield "response.output_item.added", {"output_index": item.place, "item": _empty(item)}


def _empty(item: OutputItem) -> JsonObject:
    """An item as it is told first: with all but its text."""
    whole = item.whole()
    for key in ("content", "summary"):
        if key in whole:
            whole[key] = []
    if item.type in _CALL_WORDS:
        _, field = _CALL_WORDS[item.type]
        whole[field] = ""
    if "status" in whole:
        whole["status"] = "in_progress"
    return whole


def _part(held: OutputBlock, *, is_whole: bool) -> JsonObject:
    if held.block.kind is BlockKind.OTHER:
        return {"type": held.label}
    if not is_whole:
        is_refusal = held.block.kind is BlockKind.REFUSAL
        return (
            {"type": "refusal", "refusal": ""} if is_refusal else {"type": "output_text", "text": "", "annotations": []}
        )
    parts = as_list(held.item.told.get("content"))
    return part_of(held.block, as_object(parts[held.position]) if held.position < len(parts) else {})
