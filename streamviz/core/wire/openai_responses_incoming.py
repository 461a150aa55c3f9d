"""An item of a response, as far as it has come from upstream."""

from dataclasses import dataclass, field

from streamviz.core.blocks import StreamBlock
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject
from streamviz.core.wire.openai_responses_arguments_writer import ArgumentsWriter


@dataclass(slots=True)
class Thought:
    """The text so far of a part of the thinking."""

    pieces: list[str] = field(default_factory=list)
    length: int = 0


@dataclass(slots=True)
class Item:
    """An item of the output: its one block, or a message's blocks by the number and the kind of their parts.

    `place` is its index on the wire, `wire`, or the next free one if the wire has none or uses one twice.
    """

    place: int
    wire: int | None
    type: str
    id: str
    call_id: str = ""
    name: str = ""
    block: StreamBlock | None = None
    parts: dict[tuple[int, BlockKind], StreamBlock] = field(default_factory=dict)
    # The sounds of a message's parts, by their number.
    sounds: dict[int, StreamBlock] = field(default_factory=dict)
    # Those of its blocks that may still grow.
    unsealed: list[StreamBlock] = field(default_factory=list)
    # The parts of the thinking, which make up one block, by their list and number.
    thoughts: dict[tuple[str, int], Thought] = field(default_factory=dict)
    latest_thought: Thought | None = None
    # What blocks of unknown kinds were announced with, by their ordinals.
    told: dict[int, JsonObject] = field(default_factory=dict)
    # The arguments that a call was announced with; `writer` writes those whose fields come piece by piece.
    begun: object = None
    # The images that a call made, a block beside the call, and those of them that are finished.
    media: StreamBlock | None = None
    picture: str = ""
    writer: ArgumentsWriter | None = None
    has_deltas: bool = False
    # The ids by which the first and the latest delta of a text named it.
    first_id: str = ""
    latest_id: str = ""
    is_done: bool = False
