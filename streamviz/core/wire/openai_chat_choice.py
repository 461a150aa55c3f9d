"""One choice of a chat stream while it is read: what is open in it, and the call that clients add a piece to."""

from dataclasses import dataclass, field

from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.calls import is_input
from streamviz.core.wire.openai_chat_calls import Piece


@dataclass(slots=True)
class Places:
    """The calls of a choice as the vendor's Python SDK has them: it takes a piece's index for an index of its list, and
    appends a call that the list does not have yet. An index that is out of range even then makes it raise, after which
    nothing matters."""

    calls: list[int] = field(default_factory=list)
    has_raised: bool = False

    def differ(self, pieces: list[tuple[int | None, int]]) -> bool:
        """Whether the SDK adds one of a chunk's pieces, (index, call), to a different call."""
        is_other = False
        for index, call in pieces:
            is_other = self._put(index, call) or is_other
        self.has_raised = self.has_raised or any(index is None or index >= len(self.calls) for index, _ in pieces)
        return is_other and not self.has_raised

    def _put(self, index: int | None, call: int) -> bool:
        if index is None:
            return False
        if index < len(self.calls):
            return self.calls[index] != call
        is_known = bool(self.calls) and self.calls[-1] == call
        self.calls.append(call)
        return is_known


@dataclass(slots=True)
class Choice:
    """What is open in one choice, and how its tool calls are found again."""

    number: int
    open: list[StreamBlock] = field(default_factory=list)
    unsealed: list[StreamBlock] = field(default_factory=list)
    text: StreamBlock | None = None
    calls: dict[int, ToolCallStreamBlock] = field(default_factory=dict)
    calls_by_id: dict[str, ToolCallStreamBlock] = field(default_factory=dict)
    legacy: ToolCallStreamBlock | None = None
    sound: StreamBlock | None = None
    places: Places = field(default_factory=Places)
    # The latest call that some clients have at index 0, which is also what many take for the index of one without any.
    at_zero: ToolCallStreamBlock | None = None
    is_ambiguous: bool = False
    has_delta: bool = False
    is_finished: bool = False
    # Whether content came as a string, not as a list; whether it was spoken, and is in a transcript only.
    has_text: bool = False
    is_spoken: bool = False
    # The index under which it came, and the fields of its thinking: clients add up what they find in one place.
    said_where: tuple[object, ...] = ()
    thinks_in: frozenset[str] = frozenset()

    def is_elsewhere(self, index: object) -> bool:
        """Whether the choice now comes with a different index from before."""
        self.said_where = self.said_where or (index,)
        return self.said_where != (index,)

    def thinks_elsewhere(self, fields: frozenset[str]) -> bool:
        """Whether its thinking now comes in different fields from before."""
        self.thinks_in = self.thinks_in or fields
        return self.thinks_in != fields

    def find_call(self, index: int | None, id: str, name: str, position: int) -> ToolCallStreamBlock | None:
        """The call that a piece belongs to: by index, or else by id, or else by position."""
        if index is None and id:
            block = self.calls_by_id.get(id)
        else:
            block = self.calls.get(position if index is None else index)
        if block is None or block.is_sealed:
            return None
        is_other_call = bool(id and block.id and id != block.id)
        # Whole calls that come one after another with neither index nor id.
        is_next_call = bool(name and not id and block.length and block.name and (index is None or name != block.name))
        return None if is_other_call or is_next_call else block

    def begin_call(self, piece: Piece, block: ToolCallStreamBlock, position: int) -> bool:
        """Note a new call by its first piece. Returns whether clients that add up by index add it to another."""
        key = position if piece.place is None else piece.place
        before = self.calls.get(key)
        self.calls[key] = block
        return before is not None and piece.place is not None and not before.is_sealed

    def is_joined(self, piece: Piece, block: ToolCallStreamBlock, *, is_new: bool) -> bool:
        """Whether clients of a stream may join a call without an index with another, or split it: some take no index
        for 0, others take each piece without one for a call of its own, even if its arguments are cut off. Two whole
        calls that are joined are no JSON, so nobody runs them. To be asked before the piece is added to its call."""
        if piece.place or self.is_ambiguous:
            return False
        before, self.at_zero = self.at_zero, block
        if piece.place is None and not is_new and (piece.name or piece.arguments):
            self.is_ambiguous = True
        elif before is not None and before is not block and None in (piece.place, before.index):
            self.is_ambiguous = not (is_input(piece.arguments) and is_input(before.text))
        return self.is_ambiguous
