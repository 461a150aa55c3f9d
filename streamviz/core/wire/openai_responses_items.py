"""The items of a composed response, and the frames of each.

A frame here is an event's name and its fields; the composer numbers it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.events import BlockDelta, BlockKind
from streamviz.core.json_value import JsonObject, as_list, as_object
from streamviz.core.wire.openai_responses_block_items import item_of
from streamviz.core.wire.openai_responses_call_item import kept_of
from streamviz.core.wire.openai_responses_parts import part_of

Frame = tuple[str, JsonObject]

ITEM_TYPES = {
    BlockKind.CONTENT: "message",
    BlockKind.REFUSAL: "message",
    BlockKind.THINKING: "reasoning",
    BlockKind.TOOL_CALL: "function_call",
}
# The middle word of the events that have a block's text, and the field that has all of it at its end.
_CALL_WORDS = {
    "function_call": ("function_call_arguments", "arguments"),
    "custom_tool_call": ("custom_tool_call_input", "input"),
}
_TEXT_WORDS = {
    BlockKind.CONTENT: ("output_text", "text"),
    BlockKind.REFUSAL: ("refusal", "refusal"),
    BlockKind.THINKING: ("reasoning_summary_text", "text"),
}
# The members of upstream's item that stay if its text does not; for a call see `kept_of`.
_KEPT = {"message": ("id", "type", "role", "status", "phase"), "reasoning": ("id", "type", "status")}
_NEW_PART: JsonObject = {"annotations": [], "logprobs": []}


@dataclass(slots=True, eq=False)
class OutputItem:
    """An item at its place in the client's output.

    `told` is upstream's own item as far as the client has it, all of it if `is_whole`; `wire` is its place in
    upstream's output. `is_ours` says that the client gets something in it changed, `is_gone` that it gets none of it.
    """

    place: int
    type: str
    id: str
    wire: int | None = None
    told: JsonObject = field(default_factory=dict)
    blocks: list["OutputBlock"] = field(default_factory=list)
    open: int = 0
    status: str = "completed"
    thoughts: int = 0
    is_whole: bool = False
    is_ours: bool = False
    is_gone: bool = False
    is_added: bool = False
    # For a call that has none of its own.
    call_id: str = ""
    is_done: bool = False

    def whole(self) -> JsonObject:
        """The whole item; upstream's own if nothing in it was changed."""
        if self.is_whole and not self.is_ours:
            return self.told
        item = {**item_of([held.block for held in self.blocks], self._kept()), "id": self.id}
        if "status" in item:
            item["status"] = self.status
        return item

    def _kept(self) -> JsonObject:
        """What is kept of upstream's item beside what was changed."""
        if self.type == "message":
            return {**self._fields("message"), "content": [held.own_part() for held in self.blocks]}
        if self.type == "reasoning":
            return self._fields("reasoning")
        if self.blocks and isinstance(self.blocks[0].block, ToolCallStreamBlock):
            return kept_of({**self.told, "type": self.type})
        return {} if self.is_ours else self.told

    def _fields(self, type: str) -> JsonObject:
        told = self.told if self.told.get("type") == type else {}
        return {"type": type, **{key: told[key] for key in _KEPT[type] if key in told}}


@dataclass(slots=True, eq=False)
class OutputBlock:
    """What a block adds to its item; `position` is its place among the parts of a message, or of the thinking.

    `start` is where in the block's text the part begins; `is_told` says that some of the text was composed, `is_cut`
    that it is known to be cut off.
    """

    block: StreamBlock
    item: OutputItem
    position: int
    label: str = ""
    start: int = 0
    is_ours: bool = False
    is_told: bool = False
    is_cut: bool = False
    is_ended: bool = False

    @property
    def words(self) -> tuple[str, str] | None:
        """The middle word of the events with its text, and its field; None for a block written as a whole."""
        return _TEXT_WORDS.get(self.block.kind) or _CALL_WORDS.get(self.item.type)

    @property
    def at(self) -> JsonObject:
        """The fields that say where a text belongs."""
        place: JsonObject = {"item_id": self.item.id, "output_index": self.item.place}
        if self.item.type == "message":
            place["content_index"] = self.position
        elif self.block.kind is BlockKind.THINKING:
            place["summary_index"] = self.position
        return place

    def own_part(self) -> JsonObject:
        """Upstream's own part of a message if nothing in it was changed, or else an empty one."""
        parts = as_list(self.item.told.get("content"))
        if self.is_ours or not self.item.is_whole or self.position >= len(parts):
            return {"type": self.label} if self.block.kind.is_opaque else _NEW_PART
        return as_object(parts[self.position])


def begin(held: OutputBlock) -> Iterator[Frame]:
    """The frames that can be written when a block begins; a call's start waits until its id and name have come."""
    item = held.item
    if item.type == "message":
        yield from add(item)
        yield "response.content_part.added", {**held.at, "part": _part(held, is_whole=False)}
    elif held.words and (not isinstance(held.block, ToolCallStreamBlock) or (held.block.id and held.block.name)):
        yield from add(item)


def grow(held: OutputBlock, delta: BlockDelta) -> Iterator[Frame]:
    """Add a delta to its block, and write it."""
    if held.item.is_added:
        # A call keeps the id that it was written with.
        delta = BlockDelta(delta.ordinal, delta.text, name=delta.name, signature=delta.signature)
    if held.block.kind is BlockKind.THINKING and not held.is_told and delta.text:
        yield from _begin_thought(held)
    held.block.grow(delta)
    held.is_told = held.is_told or bool(delta.text)
    if held.words is None or not delta.text:
        return
    yield from add(held.item)
    word, _ = held.words
    yield f"response.{word}.delta", {**held.at, "delta": delta.text, **_logprobs(word)}


def _begin_thought(held: OutputBlock) -> Iterator[Frame]:
    """Begin a part for composed thinking, after those that upstream sent."""
    held.position, held.start = held.item.thoughts, held.block.length
    yield from add(held.item)
    yield "response.reasoning_summary_part.added", {**held.at, "part": {"type": "summary_text", "text": ""}}


def end(held: OutputBlock) -> Iterator[Frame]:
    """The ends of a block's text and of its part."""
    if held.is_ended:
        return
    held.is_ended = True
    held.item.open -= 1
    block = held.block
    if held.words is None or (block.kind is BlockKind.THINKING and not held.is_told):
        # The whole item says it, or there is nothing to say.
        return
    yield from add(held.item)
    word, field = held.words
    text = block.text[held.start :]
    yield f"response.{word}.done", {**held.at, field: text, **_name(held), **_logprobs(word)}
    if held.item.type == "message":
        yield "response.content_part.done", {**held.at, "part": _part(held, is_whole=True)}
    elif block.kind is BlockKind.THINKING:
        yield "response.reasoning_summary_part.done", {**held.at, "part": {"type": "summary_text", "text": text}}


def close(item: OutputItem, status: str = "completed") -> Iterator[Frame]:
    """The end of an item."""
    if item.is_done:
        return
    for held in item.blocks:
        yield from end(held)
    yield from add(item)
    item.is_done, item.status = True, status
    yield "response.output_item.done", {"output_index": item.place, "item": item.whole()}


def add(item: OutputItem) -> Iterator[Frame]:
    """The start of an item, unless it was written already."""
    if item.is_added:
        return
    item.is_added = True
    for held in item.blocks:
        if isinstance(held.block, ToolCallStreamBlock) and not held.block.id:
            # Clients answer a call by its id.
            held.block.id = item.call_id
    yield "response.output_item.added", {"output_index": item.place, "item": _empty(item)}


def _empty(item: OutputItem) -> JsonObject:
    """An item as it is first written: with everything but its text."""
    whole = {**item.whole()}
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
    if is_whole:
        return part_of(held.block, held.own_part())
    if held.block.kind.is_opaque:
        return {"type": held.label}
    is_refusal = held.block.kind is BlockKind.REFUSAL
    return {"type": "refusal", "refusal": ""} if is_refusal else {"type": "output_text", "text": "", **_NEW_PART}


def _logprobs(word: str) -> JsonObject:
    return {"logprobs": []} if word == "output_text" else {}


def _name(held: OutputBlock) -> JsonObject:
    """The name of a function, which the SDK reads at the end of its arguments."""
    is_function = held.item.type == "function_call" and isinstance(held.block, ToolCallStreamBlock)
    return {"name": held.block.name} if is_function and isinstance(held.block, ToolCallStreamBlock) else {}
