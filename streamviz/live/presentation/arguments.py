"""A tool call's arguments as a tree, while they are still arriving."""

from dataclasses import dataclass

import jiter

from streamviz.core.json_value import has_more_values
from streamviz.live.presentation.cutting import markup_bytes
from streamviz.live.presentation.text import printable

# Beyond these limits a tree costs more than it is worth; the raw text is always there.
LIVE_CHARACTERS = 64 * 1024
_MOST_VALUES = 150_000
_NODES = 1_000
_VALUE_CHARACTERS = 4_000
_KEY_CHARACTERS = 200
# Bytes of a page: what all lines together may take, and the markup around each.
_ROOM = 200_000
_LINE_BYTES = 150
_FEWEST = 40


@dataclass(slots=True)
class Node:
    """One line of the tree. `opens`: a list begins below it; `closes`: how many lists end after it."""

    key: str
    text: str = ""
    note: str = ""
    is_partial: bool = False
    opens: bool = False
    closes: int = 0

    @property
    def closing(self) -> range:
        return range(self.closes)


@dataclass(frozen=True, slots=True)
class ArgumentTree:
    """The lines of a tree; none if the text is not JSON, or too long (`tail` is then its end)."""

    nodes: list[Node]
    tail: str = ""
    note: str = ""


def tree_of(arguments: str, *, is_arriving: bool, room: int = _ROOM) -> ArgumentTree:
    """The tree of a JSON text whose end may be missing, in about `room` bytes of a page."""
    if not arguments.strip():
        return ArgumentTree([], note="" if is_arriving else "no arguments")
    if is_arriving and len(arguments) > LIVE_CHARACTERS:
        return ArgumentTree([], _tail(arguments, room), "too long to show as a tree until complete")
    raw = arguments.encode("utf-8", "replace")
    if has_more_values(raw, _MOST_VALUES):
        return ArgumentTree([], _tail(arguments, room), "too long to show as a tree")
    try:
        value = jiter.from_json(raw, partial_mode="trailing-strings")
        is_last_whole = _is_last_whole(raw, value)
    except ValueError:
        return ArgumentTree([], _tail(arguments, room), "" if is_arriving else "not JSON")
    writer = _Writer(room)
    is_open = not _is_whole(raw)
    writer.write("", value, is_open=is_open, is_partial=is_open and not is_last_whole, is_root=True)
    return ArgumentTree(writer.nodes)


def _tail(arguments: str, room: int) -> str:
    """The end of a text that is not shown as a tree. A character takes at most 12 bytes."""
    return printable(arguments[-min(_VALUE_CHARACTERS, max(1, room // 12)) :])


def _is_whole(raw: bytes) -> bool:
    try:
        jiter.from_json(raw)
    except ValueError:
        return False
    return True


def _is_last_whole(raw: bytes, value: object) -> bool:
    """Whether the last value that has begun has also ended: a number at the very end may still continue."""
    if raw.rstrip()[-1:].isdigit():
        return _is_whole(raw) and raw.rstrip() != raw
    try:
        return bool(jiter.from_json(raw, partial_mode="on") == value)
    except ValueError:
        return False


class _Writer:
    """Writes the lines of a value, as many as a tree may have."""

    def __init__(self, room: int) -> None:
        self.nodes: list[Node] = []
        self._room = room

    @property
    def _is_full(self) -> bool:
        return len(self.nodes) >= _NODES or self._room <= 0

    def _add(self, node: Node) -> None:
        self.nodes.append(node)
        self._room -= _LINE_BYTES + markup_bytes(node.key) + markup_bytes(node.text)

    def write(self, key: str, value: object, *, is_open: bool, is_partial: bool, is_root: bool = False) -> None:
        """`is_open`: the value may still grow; `is_partial`: its last value is incomplete."""
        match value:
            case dict():
                items = [(str(name), item) for name, item in value.items()]
                note = "object"
            case list():
                items = [(str(position), item) for position, item in enumerate(value)]
                note = f"list, {len(items)} {'so far' if is_open else 'item' if len(items) == 1 else 'items'}"
            case _:
                self._add(Node(self._key(key), self._literal(value, is_partial), is_partial=is_partial))
                return
        if not is_root or not items:
            self._add(Node(self._key(key), note=note, opens=bool(items)))
        self._write_items(items, is_open, is_partial)
        if items and not is_root:
            self.nodes[-1].closes += 1

    def _write_items(self, items: list[tuple[str, object]], is_open: bool, is_partial: bool) -> None:
        for position, (name, item) in enumerate(items):
            if self._is_full:
                self.nodes.append(Node("…", note=f"{len(items) - position} more in the raw text"))
                return
            is_last = position == len(items) - 1
            self.write(name, item, is_open=is_open and is_last, is_partial=is_partial and is_last)

    def _most(self, characters: int) -> int:
        """As many characters as there is room for; each may take several bytes."""
        return min(characters, max(_FEWEST, self._room // 6))

    def _key(self, key: str) -> str:
        return printable(key[: self._most(_KEY_CHARACTERS)])

    def _literal(self, value: object, is_partial: bool) -> str:
        most = self._most(_VALUE_CHARACTERS)
        match value:
            case str() if is_partial:
                return f'"{printable(value[-most:])}'
            case str():
                more = f"… {len(value):,} characters" if len(value) > most else ""
                return f'"{printable(value[:most])}"{more}'
            case None:
                return "null"
            case bool():
                return "true" if value else "false"
            case _:
                return str(value)
