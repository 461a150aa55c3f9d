"""Texts as clients have them that show each delta as it comes, whatever block it is for: Codex does, and whoever
prints the texts of Anthropic's SDK."""

from streamviz.core.blocks import StreamBlock
from streamviz.core.events import BlockKind

_TEXTS = frozenset((BlockKind.CONTENT, BlockKind.REFUSAL, BlockKind.THINKING))


class ShownTexts:
    """What came of a stream's texts, which are shown apart by their kind: policies read them in the order of blocks."""

    def __init__(self) -> None:
        self._latest: dict[BlockKind, int] = {}
        self._with_wholes: set[BlockKind] = set()

    def tell_whole(self, block: StreamBlock) -> None:
        """Note that a block grows by a text that is in no delta: such clients do not show it."""
        self._with_wholes.add(block.kind)

    def differ(self, block: StreamBlock) -> bool:
        """Whether a delta that adds a text to this block makes such a client show something that nobody read: the text
        goes on behind a later one, or some of what came before it is not shown."""
        if block.kind not in _TEXTS:
            return False
        latest = self._latest.get(block.kind, 0)
        self._latest[block.kind] = max(latest, block.ordinal)
        return block.ordinal < latest or block.kind in self._with_wholes
