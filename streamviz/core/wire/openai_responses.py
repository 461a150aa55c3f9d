"""OpenAI's responses, as OpenAI and the providers that speak its format stream them.

Format: https://platform.openai.com/docs/api-reference/responses-streaming. A response is a list of items, each with
its place in the output; messages hold parts. The same text comes up to four times (in deltas, in the part's end, in
the item's end and in the whole response): it counts once, from wherever it is first told.
"""

from dataclasses import dataclass, field

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_index, as_json_text, as_list, as_object, as_text, objects
from streamviz.core.wire.arguments import as_arguments
from streamviz.core.wire.openai_responses_message import build_response, payload_of

PARTS = {
    "output_text": BlockKind.CONTENT,
    "text": BlockKind.CONTENT,
    "refusal": BlockKind.REFUSAL,
    "reasoning_text": BlockKind.THINKING,
    "summary_text": BlockKind.THINKING,
}
# By item type: the field that holds the arguments of a call of one of the client's tools.
CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
# By the event's middle word: the item that its text belongs to, and the part where the item is a message.
_TEXTS = {
    "output_text": ("message", "output_text"),
    "refusal": ("message", "refusal"),
    "reasoning_text": ("reasoning", ""),
    "reasoning_summary_text": ("reasoning", ""),
    "reasoning_summary": ("reasoning", ""),
    "function_call_arguments": ("function_call", ""),
    "custom_tool_call_input": ("custom_tool_call", ""),
}
_ENDED = ("completed", "incomplete", "failed", "cancelled")


@dataclass(slots=True)
class _Item:
    """An item of the output: its one block, or a message's blocks by the number of their part.

    `place` is the wire's index for it, or the next that is free where the wire uses one twice.
    """

    place: int
    type: str
    id: str
    block: StreamBlock | None = None
    parts: dict[int, StreamBlock] = field(default_factory=dict)
    # Thinking comes in parts that make one block: how much of each has come, by which list and which number.
    thoughts: dict[tuple[str, int], int] = field(default_factory=dict)
    is_done: bool = False


class OpenAIResponsesAggregator(Aggregator[Chunk, JsonObject]):
    """Reads the events of a response stream, and a whole `response` as one chunk.

    `head` is the response without its output and usage, `items` the items of the output by place, both as far as
    they have come; they stay the same objects for the whole stream.
    """

    def clear(self) -> None:
        super().clear()
        self.head: JsonObject = {}
        self.items: dict[int, JsonObject] = {}
        self._all: list[_Item] = []
        self._items: dict[int, _Item] = {}
        self._by_id: dict[str, _Item] = {}
        self._latest: _Item | None = None
        self._next_place = 0

    def _read(self, payload: JsonObject, name: str) -> None:
        kind = as_text(payload.get("type")) or name
        match kind.split("."):
            case ["response", "output_item", step]:
                self._read_item(payload, as_object(payload.get("item")), is_done=step == "done")
            case ["response", "content_part", _]:
                self._read_part(payload, as_object(payload.get("part")))
            case ["response", word, "delta"]:
                self._read_delta(word, payload)
            case ["response", word, "done"]:
                self._read_whole_text(word, payload)
            case ["response", status]:
                self._read_response(as_object(payload.get("response")), status)
            case ["error"]:
                error = payload.get("error")
                self._fail(error or {key: value for key, value in payload.items() if key != "type"})
            case _ if payload.get("object") == "response":
                self._read_response(payload, "")
            case [""] if error := payload.get("error"):
                self._fail(error)

    def _read_response(self, response: JsonObject, word: str) -> None:
        self.head.update({key: value for key, value in response.items() if key not in ("output", "usage")})
        self._use(response.get("usage"))
        status = word if word in _ENDED else as_text(response.get("status"))
        if status not in _ENDED:
            return
        for position, item in enumerate(objects(response.get("output"))):
            self._read_final_item(position, item)
        if error := response.get("error"):
            self._fail(error)
        for known in self._all:
            self._seal(known, is_broken=status in ("failed", "cancelled"))
        self.has_end_mark = True
        self._finish(as_text(response.get("status")) or status)

    def _read_final_item(self, position: int, payload: JsonObject) -> None:
        """An item of the finished response: what of it was never streamed is read now."""
        # Ids are told anew by some providers and places shift where an item is left out: a match of either will do.
        item = self._by_id.get(as_text(payload.get("id"))) or self._items.get(position)
        if item is not None and item.type != payload.get("type"):
            item = next((other for other in self._all if other.type == payload.get("type")), item)
        self._fill(item or self._start_item(position, payload), payload)

    def _find_item(self, index: int | None, id: str) -> _Item | None:
        """By its id while that item is open, else by its place, without one the latest.

        Some providers give an item another id in each event, some give all items the same place.
        """
        item = self._by_id.get(id)
        if item is not None and not item.is_done:
            return item
        return self._latest if index is None else self._items.get(index)

    def _start_item(self, index: int | None, payload: JsonObject) -> _Item:
        place = self._next_place if index is None or index in self.items else index
        self._next_place = max(self._next_place, place + 1)
        item = _Item(place, as_text(payload.get("type")), as_text(payload.get("id")))
        self._all.append(item)
        self._items[place if index is None else index] = self._latest = item
        self.items[place] = payload
        if item.id:
            self._by_id[item.id] = item
        if item.type != "message":
            item.block = self._start_block(item, payload)
        return item

    def _start_block(self, item: _Item, payload: JsonObject) -> StreamBlock:
        if item.type == "reasoning":
            return self._start(BlockKind.THINKING, index=item.place, id=item.id)
        name = as_text(payload.get("name"))
        if item.type in CALLS:
            # A call is answered by its call_id; the item's own id is only for the item.
            return self._start(BlockKind.TOOL_CALL, index=item.place, id=as_text(payload.get("call_id")), name=name)
        return self._start(BlockKind.OTHER, index=item.place, id=item.id, name=name, label=item.type)

    def _read_item(self, payload: JsonObject, details: JsonObject, is_done: bool) -> None:
        index, id = as_index(payload.get("output_index")), as_text(details.get("id"))
        item = self._find_item(index, id) if is_done else self._by_id.get(id)
        if item is None or _is_other(item, details, is_done):
            item = self._start_item(index, details)
        if is_done:
            item.is_done = True
            self.items[item.place] = details
            self._fill(item, details)
            self._seal(item)
        else:
            self._fill_parts(item, details)

    def _fill(self, item: _Item, details: JsonObject) -> None:
        """Take from a whole item what no event before it told."""
        block = item.block
        if block is None:
            self._fill_parts(item, details)
        elif block.is_sealed:
            return
        elif isinstance(block, ToolCallStreamBlock):
            self._fill_call(block, item, details)
        elif block.kind is BlockKind.THINKING:
            self._fill_thinking(item, block, details)
        elif not block.length and (payload := payload_of(details)):
            self._grow(block, as_json_text(payload))

    def _fill_call(self, block: ToolCallStreamBlock, item: _Item, details: JsonObject) -> None:
        id, name = as_text(details.get("call_id")), as_text(details.get("name"))
        if (id and id != block.id) or (name and name != block.name):
            self._grow(block, id=id, name=name)
        self._complete_with(block, as_arguments(details.get(CALLS[item.type])))

    def _fill_thinking(self, item: _Item, block: StreamBlock, details: JsonObject) -> None:
        for key in ("summary", "content"):
            for position, part in enumerate(objects(details.get(key))):
                self._think(item, block, (key, position), as_text(part.get("text")))
        if signature := as_text(details.get("encrypted_content")):
            self._grow(block, signature=signature)

    def _think(self, item: _Item, block: StreamBlock, part: tuple[str, int], whole: str) -> None:
        """Add what of a part of the thinking has not come yet."""
        known = item.thoughts.get(part, 0)
        if len(whole) > known and not block.is_sealed:
            item.thoughts[part] = len(whole)
            self._grow(block, whole[known:])

    def _fill_parts(self, item: _Item, details: JsonObject) -> None:
        for position, part in enumerate(as_list(details.get("content")) if item.type == "message" else ()):
            self._fill_part(item, position, as_object(part))

    def _read_part(self, payload: JsonObject, part: JsonObject) -> None:
        if PARTS.get(as_text(part.get("type"))) is BlockKind.THINKING:
            item = self._find_item(as_index(payload.get("output_index")), as_text(payload.get("item_id")))
            if item is None or item.type != "message":
                # The parts of a reasoning item make one block, which its texts fill.
                return
        else:
            item = self._item(payload, "message")
        self._fill_part(item, as_index(payload.get("content_index")) or 0, part)

    def _fill_part(self, item: _Item, position: int, part: JsonObject) -> None:
        label = as_text(part.get("type"))
        block = self._part(item, position, label)
        if block.kind is BlockKind.OTHER:
            if not block.length and (payload := payload_of(part)):
                self._grow(block, as_json_text(payload))
        else:
            self._complete_with(block, as_text(part.get("text")) or as_text(part.get("refusal")), is_whole=False)

    def _part(self, item: _Item, position: int, label: str) -> StreamBlock:
        block = item.parts.get(position)
        if block is None:
            kind = PARTS.get(label, BlockKind.OTHER)
            other = label if kind is BlockKind.OTHER else ""
            block = item.parts[position] = self._start(kind, index=item.place, id=item.id, label=other)
        return block

    def _item(self, payload: JsonObject, wanted: str) -> _Item:
        """The item of this type that an event is about, begun now where no event began it."""
        index, id = as_index(payload.get("output_index")), as_text(payload.get("item_id"))
        item = self._find_item(index, id)
        if item is not None and (item.type == wanted or (wanted in CALLS and item.block is not None)):
            return item
        return self._start_item(index, {"type": wanted, "id": id})

    def _text_block(self, word: str, payload: JsonObject) -> tuple[_Item, StreamBlock]:
        wanted, label = _TEXTS[word]
        item = self._item(payload, wanted)
        return item, item.block or self._part(item, as_index(payload.get("content_index")) or 0, label)

    def _read_delta(self, word: str, payload: JsonObject) -> None:
        text = as_json_text(payload.get("delta"))
        if word not in _TEXTS:
            self._read_other_delta(word, payload, text)
            return
        item, block = self._text_block(word, payload)
        if block.is_sealed or not text:
            return
        if block.kind is BlockKind.THINKING:
            part = _thought(word, payload)
            item.thoughts[part] = item.thoughts.get(part, 0) + len(text)
        self._grow(block, text)

    def _read_other_delta(self, word: str, payload: JsonObject, text: str) -> None:
        """Text of a server tool, or of a kind that is new; it never counts to a block of a known kind."""
        index, id = as_index(payload.get("output_index")), as_text(payload.get("item_id"))
        item = self._find_item(index, id) or self._start_item(index, {"type": word, "id": id})
        block = item.block
        if text and block is not None and block.kind is BlockKind.OTHER and not block.is_sealed:
            self._grow(block, text)

    def _read_whole_text(self, word: str, payload: JsonObject) -> None:
        """The end of a text, or of a part of it, which is told once more as a whole."""
        if word not in _TEXTS:
            return
        whole = next((as_text(payload[key]) for key in ("text", "arguments", "refusal", "input") if key in payload), "")
        item, block = self._text_block(word, payload)
        if block.kind is BlockKind.THINKING:
            self._think(item, block, _thought(word, payload), whole)
        else:
            self._complete_with(block, whole)

    def _complete_with(self, block: StreamBlock, whole: str, is_whole: bool = True) -> None:
        """Add what of `whole` has not come yet; the block is then complete unless only a beginning was told."""
        if block.is_sealed:
            return
        if len(whole) > block.length and whole.startswith(block.text):
            self._grow(block, whole[block.length :])
        if is_whole:
            self._complete(block)

    def _seal(self, item: _Item, is_broken: bool = False) -> None:
        for block in (*item.parts.values(), *([item.block] if item.block is not None else [])):
            self._end(block, truncated=is_broken)

    def _build(self) -> JsonObject:
        return build_response(self.state, self.head, self.items)


def _thought(word: str, payload: JsonObject) -> tuple[str, int]:
    """Which part of the thinking an event is about: the list that holds it, and its number there."""
    if word == "reasoning_text":
        return "content", as_index(payload.get("content_index")) or 0
    return "summary", as_index(payload.get("summary_index")) or 0


def _is_other(item: _Item, details: JsonObject, is_done: bool) -> bool:
    """Whether `details` are of another item than the one at their place."""
    told = as_text(details.get("type"))
    if item.type != told and not (item.type in CALLS and told in CALLS):
        return True
    return item.is_done and (not is_done or as_text(details.get("id")) != item.id)
