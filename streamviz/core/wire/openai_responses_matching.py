"""Matching the items of a whole response with those already known: what counts is that reader and writer agree."""

from collections.abc import Hashable
from typing import Generic, TypeVar

from streamviz.core.json_value import JsonObject, as_text

T = TypeVar("T")


class KnownItems(Generic[T]):
    """The items that have come, by everything that may identify them."""

    def __init__(self) -> None:
        self._keyed: dict[Hashable, int] = {}
        self._by_type: dict[str, list[int]] = {}
        self._items: list[T] = []

    def add(self, item: T, payload: JsonObject, place: int) -> None:
        """Add an item; `payload` is the item as it first came, `place` the wire's index for it."""
        number, type = len(self._items), as_text(payload.get("type"))
        self._items.append(item)
        self._by_type.setdefault(type, []).append(number)
        for key in _keys(place, payload):
            self._keyed[key] = number

    def finder(self) -> "ItemFinder[T]":
        """A finder for one whole response."""
        return ItemFinder(self._items, self._keyed, self._by_type)


class ItemFinder(Generic[T]):
    """Finds each item once: one that comes twice in a response is two items."""

    def __init__(self, items: list[T], keyed: dict[Hashable, int], by_type: dict[str, list[int]]) -> None:
        self._items, self._keyed, self._by_type = items, keyed, by_type
        self._taken: set[int] = set()
        self._next: dict[str, int] = {}

    def find(self, position: int, payload: JsonObject) -> T | None:
        """The known item that `payload`, at this position of the output, is; None for a new one, which has to be added
        before the next is looked up. Some providers change ids, and places shift if an item is left out: any match will
        do, the surest first."""
        numbers = (self._keyed.get(key) for key in _keys(position, payload))
        number = next((each for each in numbers if each is not None and each not in self._taken), None)
        if number is None:
            number = self._next_of(as_text(payload.get("type")))
        # An unknown item is the next to be added, and is then taken, too.
        self._taken.add(len(self._items) if number is None else number)
        return None if number is None else self._items[number]

    def _next_of(self, type: str) -> int | None:
        known, at = self._by_type.get(type, []), self._next.get(type, 0)
        while at < len(known) and known[at] in self._taken:
            at += 1
        self._next[type] = at
        return known[at] if at < len(known) else None


def _keys(place: int, payload: JsonObject) -> list[Hashable]:
    type, id, call_id = (as_text(payload.get(key)) for key in ("type", "id", "call_id"))
    named = [(type, name, value) for name, value in (("id", id), ("call_id", call_id)) if value]
    return [*named, (type, place)]
