"""What a client has in place of blocks that it did not get as upstream sent them, and will send back as theirs."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from streamviz.core.blocks import StreamBlock
from streamviz.core.events import BlockDelta, BlockKind, BlockStarted, StreamEvent


@dataclass(slots=True)
class Instead:
    """What replaces a block. `kind` is the kind that the client sees (a denied call is a text to it), `choice` the
    choice in which it sees it."""

    kind: BlockKind
    pieces: list[str] = field(default_factory=list)
    choice: int = 0

    @property
    def text(self) -> str:
        """The text, or the arguments."""
        return "".join(self.pieces)


def note(
    instead: dict[int, Instead],
    said: Iterable[StreamEvent],
    replaced: Set[int],
    edited: Set[int],
    before: Mapping[int, str],
    blocks: Sequence[StreamBlock],
) -> None:
    """Note what was sent for blocks that were `replaced` as a whole, or `edited` as they came; of the latter the client
    already had some of upstream's text, in `before` by ordinal."""
    for event in said:
        if isinstance(event, BlockStarted) and event.ordinal in replaced:
            instead[event.ordinal] = Instead(event.kind, choice=event.choice)
        elif isinstance(event, BlockDelta) and (event.ordinal in edited or event.ordinal in instead):
            if event.ordinal not in instead:
                block = blocks[event.ordinal]
                instead[event.ordinal] = Instead(block.kind, [before.get(event.ordinal, "")], block.choice)
            instead[event.ordinal].pieces.append(event.text)


def cut_off(
    instead: dict[int, Instead], blocks: Iterable[StreamBlock], started: Set[int], waiting: Counter[int]
) -> None:
    """Note, for a stream that ends early, that the client gets no more of its blocks; `waiting` is how much of each it
    does not have."""
    for block in blocks:
        if block.ordinal not in started:
            instead[block.ordinal] = Instead(BlockKind.CONTENT, choice=block.choice)
        elif block.ordinal not in instead and waiting[block.ordinal]:
            had = block.text[: block.length - waiting[block.ordinal]]
            instead[block.ordinal] = Instead(block.kind, [had], block.choice)
