"""The items of a response as they come: which of them an event is about."""

from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_index, as_text
from streamviz.core.wire.openai_responses_calls import CALLS, given_name, id_of, is_call, label_of, tool_name
from streamviz.core.wire.openai_responses_incoming import Item
from streamviz.core.wire.openai_responses_item_reader import ItemReader
from streamviz.core.wire.openai_responses_matching import KnownItems


class ItemFinder(ItemReader):
    """Finds the item that an event is about, or begins it; `items` are upstream's own, by place."""

    def clear(self) -> None:
        super().clear()
        self.items: dict[int, JsonObject] = {}
        self._known: KnownItems[Item] = KnownItems()
        self._unsealed: dict[int, Item] = {}
        self._items: dict[int, Item] = {}
        self._by_id: dict[str, Item] = {}
        self._latest: Item | None = None
        self._next_place = 0
        # The places of items that upstream gave no place, or one already taken.
        self._given: set[int] = set()

    def _find_item(self, index: int | None, id: str) -> Item | None:
        """Find an item by its id while it is open, or else by its place; without a place it is the latest.

        Some providers give an item another id in each event, some give all items the same place.
        """
        named = self._by_id.get(id)
        if named is not None and not named.is_done and (index is None or named.wire == index):
            return named
        placed = self._latest if index is None else self._items.get(index)
        if named is not None and not named.is_done:
            if placed is not None:
                self._contradict("an item is not the one at its place")
            return placed or named
        return placed

    def _start_item(self, index: int | None, payload: JsonObject) -> Item:
        if index in self._given:
            self._contradict("an item is at the place of another")
        place = self._next_place if index is None or index in self.items else index
        if place != index:
            self._given.add(place)
        self._next_place = max(self._next_place, place + 1)
        item = Item(place, index, as_text(payload.get("type")), as_text(payload.get("id")))
        self._items[place if index is None else index] = self._latest = self._unsealed[place] = item
        self._known.add(item, payload, place if index is None else index)
        self.items[place] = payload
        if item.id:
            self._by_id[item.id] = item
        if item.type != "message":
            item.block = self._start_block(item, payload)
            item.unsealed.append(item.block)
        return item

    def _start_block(self, item: Item, payload: JsonObject) -> StreamBlock:
        if item.type == "reasoning":
            thinking = self._start(BlockKind.THINKING, index=item.place, id=item.id)
            self._shown.place(thinking, item.place)
            return thinking
        if not is_call(payload):
            name = as_text(payload.get("name"))
            return self._start(BlockKind.OTHER, index=item.place, id=item.id, name=name, label=item.type)
        item.name, item.call_id = given_name(payload), as_text(payload.get("call_id"))
        # A call is answered by its call_id; the item's own id is only for the item.
        label = label_of(item.type)
        id, name = id_of(payload), tool_name(payload)
        block = self._start(BlockKind.TOOL_CALL, index=item.place, id=id, name=name, label=label)
        block.namespace = as_text(payload.get("namespace"))
        return block

    def _item(self, payload: JsonObject, wanted: str) -> Item:
        """The item of this type that an event is about, started now if no event has started it."""
        index, id = as_index(payload.get("output_index")), as_text(payload.get("item_id"))
        item = self._find_item(index, id)
        is_alike = item is not None and wanted in CALLS and isinstance(item.block, ToolCallStreamBlock)
        if item is not None and (item.type == wanted or is_alike):
            return item
        return self._start_item(index, {"type": wanted, "id": id})
