"""Texts as clients join them that do not go by blocks."""

from collections.abc import Hashable, Iterator

from streamviz.core.blocks import StreamBlock
from streamviz.core.events import BlockKind

# How much is kept of each text (characters), and of how many.
_LENGTH = 1_000
_MOST = 100
# Members that are opaque if they are strings.
OPAQUE = frozenset(("signature", "thought_signature", "encrypted_content"))
_TEXTS = frozenset((BlockKind.CONTENT, BlockKind.REFUSAL, BlockKind.THINKING))


class JoinedPieces:
    """The texts so far, by their place. `are_too_many` is set if there are more than can be kept."""

    def __init__(self) -> None:
        self._texts: dict[tuple[object, ...], str] = {}
        self.are_too_many = False

    def add(self, value: object, *place: object) -> Iterator[str]:
        """Join texts as SDKs do: they concatenate what deltas have in the same place, whatever its name. Yields each
        text that goes on."""
        if isinstance(value, dict):
            for name, inner in value.items():
                if not (name in OPAQUE and isinstance(inner, str)):
                    yield from self.add(inner, *place, name)
        elif isinstance(value, list):
            for number, inner in enumerate(value):
                yield from self.add(inner, *place, number)
        elif isinstance(value, str) and value:
            before = self._texts.get(place, "")
            if not before and len(self._texts) >= _MOST:
                self.are_too_many = True
                return
            self._texts[place] = (before + value)[-_LENGTH:]
            if before:
                yield self._texts[place]


class ShownTexts:
    """A stream's texts for clients that show each delta as it comes, whatever block it is for: Codex does, and whoever
    prints the texts of Anthropic's SDK. They show each kind apart. Policies read texts in the order of blocks."""

    def __init__(self) -> None:
        self._latest: dict[BlockKind, int] = {}
        self._with_wholes: set[BlockKind] = set()
        self._places: dict[int, tuple[int, ...]] = {}
        self._furthest: dict[Hashable, tuple[int, ...]] = {}

    def place(self, block: StreamBlock, *place: int) -> None:
        """Note where a block is in the answer: clients that go by places join texts in that order."""
        self._places[block.ordinal] = place

    def is_late(self, block: StreamBlock) -> bool:
        """Whether a text that is added to this block comes after one of a later place."""
        return block.kind in _TEXTS and self.comes_late(block.kind, *self._places.get(block.ordinal, ()))

    def comes_late(self, series: Hashable, *place: int) -> bool:
        """Whether what comes now at this place of a series comes after something of a later place."""
        furthest = self._furthest.get(series, place)
        self._furthest[series] = max(furthest, place)
        return place < furthest

    def tell_whole(self, block: StreamBlock) -> None:
        """Note that a block grows by a text that is in no delta: such clients do not show it."""
        self._with_wholes.add(block.kind)

    def differ(self, block: StreamBlock) -> bool:
        """Whether a delta that adds a text to this block makes such a client show something that nobody read: the text
        goes on after a later one, or some of what came before it is not shown."""
        if block.kind not in _TEXTS:
            return False
        latest = self._latest.get(block.kind, 0)
        self._latest[block.kind] = max(latest, block.ordinal)
        return block.ordinal < latest or block.kind in self._with_wholes
