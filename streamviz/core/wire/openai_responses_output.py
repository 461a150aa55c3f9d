"""The items of the response that a client has, and which of upstream's items each stands for."""

from collections import deque
from collections.abc import Iterator, Sequence, Set

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import new_block
from streamviz.core.calls import made_id
from streamviz.core.composer import Composer
from streamviz.core.events import (
    BlockCompleted,
    BlockDelta,
    BlockSealed,
    BlockStarted,
    StreamEvent,
    StreamFinished,
    UsageUpdated,
)
from streamviz.core.json_value import JsonObject, as_index, as_list, as_object, as_text, objects
from streamviz.core.wire.openai_responses_calls import is_call
from streamviz.core.wire.openai_responses_frames import ADDED, ITEM_DONE, PART_ADDED, id_in, payload_in, response_in
from streamviz.core.wire.openai_responses_items import OutputBlock, OutputItem
from streamviz.core.wire.openai_responses_matching import KnownItems
from streamviz.core.wire.openai_responses_parts import is_speech
from streamviz.core.wire.openai_responses_places import made_by_call, type_of
from streamviz.core.wire.openai_responses_words import item_type_in
from streamviz.core.wire.translation import OPENAI_RESPONSES

_PREFIXES = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc", "compaction": "cmp"}
_MADE = "_made"
# The beginning of the id of a message that upstream did not send.
MADE_MESSAGE = _PREFIXES["message"] + _MADE


class ClientOutput(Composer):
    """Keeps track of the items that the client has, from upstream's own frames and from composed ones.

    `head` holds the response's fields (id, created_at, model), and is read again for each frame. `source` is the format
    that the events come from, empty if composed frames follow upstream's own.
    """

    created = "created_at"

    def __init__(self, head: JsonObject, source: str = "") -> None:
        self._head = head
        self._source = source
        self._is_foreign = source not in ("", OPENAI_RESPONSES)
        self._items: list[OutputItem] = []
        self._ids: set[str] = set()
        self._blocks: dict[int, OutputBlock] = {}
        # By the place that events give an item, and by its index and id in upstream's frames.
        self._places: dict[int, OutputItem] = {}
        self._by_wire: dict[int, OutputItem] = {}
        self._by_id: dict[str, OutputItem] = {}
        self._known: KnownItems[OutputItem] = KnownItems()
        # The ids of calls that the client does not get, by which their results name them.
        self._gone: set[str] = set()
        # The places of messages whose sound the client does not get as it came.
        self._silenced: set[int] = set()
        # Of the current chunk: its payload, the new items in it, the blocks that are to go out changed.
        self._payload: JsonObject = {}
        self._fresh: deque[tuple[int | None, JsonObject]] = deque()
        self._changed: Set[int] | None = None
        self._is_rewriting = bool(source)
        self._is_cut_off = False
        self._next_place = 0
        self._next_number = 0
        self._has_begun = False
        self._is_finished = False
        self._usage: JsonObject | None = None
        self._decoded: tuple[Chunk, JsonObject] | None = None

    # What the client gets as upstream's own

    def _follow(self, events: Sequence[StreamEvent]) -> OutputItem | None:
        """Keep track of what the client gets as upstream's own; return the item that it is about, if any."""
        item = self._at_hand
        for event in events:
            match event:
                case BlockStarted() if not self._is_of_none(event):
                    item = self._upstreams_item(event)
                    self._hold(event, item)
                case BlockDelta() if (held := self._blocks.get(event.ordinal)) is not None:
                    held.block.grow(event)
                    item = held.item
                case BlockSealed() if (held := self._blocks.get(event.ordinal)) is not None and not held.is_ended:
                    held.is_ended = True
                    held.item.open -= 1
                    item = held.item
                    item.is_done = item.is_done or not item.open
                case UsageUpdated():
                    self._usage = event.usage
                case StreamFinished():
                    self._is_finished = True
                case _:
                    pass
        self._tell(item)
        if item is not None and self._payload.get("type") == ITEM_DONE and not item.open:
            item.is_done = True
        return item

    def _upstreams_item(self, event: BlockStarted) -> OutputItem:
        place = self._next_place if event.index is None else event.index
        item = self._places.get(place)
        if item is None or (item.type != "message" and item.blocks and not made_by_call(event)):
            wire, details = self._next_fresh(event, place)
            type = as_text(details.get("type")) or type_of(event)
            item = self._places[place] = self._add_item(type, wire, details, is_added=True)
        return item

    # What a chunk says about items

    @property
    def _at_hand(self) -> OutputItem | None:
        """The known item that the current chunk is about."""
        index, id = as_index(self._payload.get("output_index")), id_in(self._payload)
        named = self._by_id.get(id)
        if named is not None and (index is None or named.wire == index):
            return named
        return named if index is None else self._by_wire.get(index, named)

    def _look_at(self, payload: JsonObject) -> None:
        """Make a chunk's payload the current one."""
        self._payload = payload
        response = response_in(payload)
        if response is not None:
            self._fresh.extend(self._new_items(response))
            return
        index, details = as_index(payload.get("output_index")), as_object(payload.get("item"))
        # Of the type as which readers match it, whatever a policy puts in its place.
        type = item_type_in(as_text(payload.get("type")))
        told: JsonObject = {"id": id_in(payload), **({"type": type} if type else {})}
        self._fresh.append((index, details or told))
        if payload.get("type") == ADDED and details.get("type") == "message" and self._at_hand is None:
            # For the client it can begin before there is a block in it.
            place = self._next_place if index is None else index
            if place not in self._places:
                self._fresh.clear()
                self._places[place] = self._add_item("message", index, details, is_added=True)
        if payload.get("type") == PART_ADDED and (item := self._at_hand) is not None:
            item.thoughts = max(item.thoughts, (as_index(payload.get("summary_index")) or 0) + 1)

    def _decode(self, chunk: Chunk) -> JsonObject:
        """Decode each chunk only once: it can contain thousands of items."""
        if self._decoded is None or self._decoded[0] is not chunk:
            self._decoded = chunk, payload_in(chunk)
        return self._decoded[1]

    def _look_away(self) -> None:
        self._payload, self._changed = {}, None
        self._fresh.clear()

    def _new_items(self, response: JsonObject) -> Iterator[tuple[int | None, JsonObject]]:
        """The items of a response that no frame announced; the others are now known as a whole."""
        finder = self._known.finder()
        for position, details in enumerate(objects(response.get("output"))):
            item = finder.find(position, details)
            if item is not None:
                item.told, item.is_whole = details, True
            elif details.get("type") != "message" or as_list(details.get("content")):
                yield position, details

    def _next_fresh(self, event: BlockStarted, place: int) -> tuple[int | None, JsonObject]:
        wire, details = self._fresh.popleft() if self._fresh else (place, {})
        return wire, details if "type" in details else {**details, "type": type_of(event)}

    def _tell(self, item: OutputItem | None) -> None:
        """Keep upstream's own item as it came last."""
        if item is None or not (details := as_object(self._payload.get("item"))):
            return
        item.told, item.is_whole = details, self._payload.get("type") == ITEM_DONE
        self._bind(item, as_index(self._payload.get("output_index")), details)

    def _bind(self, item: OutputItem, wire: int | None, details: JsonObject) -> None:
        if wire is not None:
            item.wire = wire
            self._by_wire[wire] = item
        if id := as_text(details.get("id")):
            self._by_id[id] = item

    def _add_item(self, type: str, wire: int | None, details: JsonObject, *, is_added: bool = False) -> OutputItem:
        """Add an item of the client's; `details` are upstream's own, if it stands for one."""
        is_gone = type.endswith("_output") and self._is_of_gone(details)
        place = self._next_place if self._is_rewriting or wire is None else wire
        id = as_text(details.get("id")) if details.get("type") == type else ""
        if not id or (id in self._ids and self._is_rewriting):
            id = made_id(_PREFIXES.get(type, "item") + ("" if self._source else _MADE), place, self._head)
        is_whole = self._payload.get("type") == ITEM_DONE or response_in(self._payload) is not None
        item = OutputItem(place, type, id, wire, details, is_whole=is_whole, is_added=is_added, is_gone=is_gone)
        item.call_id = made_id("call", place, self._head)
        self._known.add(item, details, place if wire is None else wire)
        self._bind(item, wire, details)
        if not is_gone:
            self._ids.add(item.id)
            self._next_place = max(self._next_place, place + 1)
            self._items.append(item)
        return item

    def _is_of_gone(self, details: JsonObject) -> bool:
        return any(as_text(details.get(key)) in self._gone for key in ("call_id", "id"))

    def _is_of_none(self, event: BlockStarted) -> bool:
        """Whether a block has no item: a call that was denied made it, or it is a sound, which its part has."""
        if is_speech(event.kind, event.label):
            return True
        item = None if event.index is None else self._places.get(event.index)
        return made_by_call(event) and (item is None or item.is_done or item.type != event.label)

    def _item_of(self, events: Sequence[StreamEvent]) -> OutputItem | None:
        """The known item that the first event about a block is about."""
        for event in events:
            match event:
                case BlockStarted():
                    return None if event.index is None else self._places.get(event.index)
                case BlockDelta() | BlockCompleted() | BlockSealed():
                    held = self._blocks.get(event.ordinal)
                    return None if held is None else held.item
                case _:
                    pass
        return None

    def _hold(self, event: BlockStarted, item: OutputItem) -> OutputBlock:
        held = self._blocks[event.ordinal] = OutputBlock(new_block(event, 0, 0), item, len(item.blocks), event.label)
        if item.type != "message":
            held.position = item.thoughts
        item.blocks.append(held)
        item.open += 1
        return held

    def _note_gone(self, details: JsonObject) -> None:
        """Note a denied call: if the provider runs it, the client does not get its results either."""
        if is_call(details):
            self._gone.update(text for key in ("call_id", "id") if (text := as_text(details.get(key))))

    def _output(self, response: JsonObject) -> object:
        """The items that the client has, of those that upstream's own response lists."""
        if not isinstance(response.get("output"), list | dict):
            return None
        told = objects(response["output"])
        if not told and any(item.wire is not None for item in self._items):
            # Upstream leaves it to clients to put the items together, which they do if the list is empty.
            return []
        finder, listed, other = self._known.finder(), {}, []
        for position, details in enumerate(told):
            item = finder.find(position, details)
            if item is not None and not item.is_gone:
                listed[item.place] = item.whole()
            elif item is None and details.get("type") == "message" and not details.get("content"):
                other.append(details)
        listed.update({item.place: item.whole() for item in self._items if item.is_ours and item.is_added})
        return [*(listed[place] for place in sorted(listed)), *other]
