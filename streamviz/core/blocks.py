"""Blocks and the state of a stream: what events add up to."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import msgspec

from streamviz.core.call_runners import Runner, runner_of
from streamviz.core.calls import FREE_TEXT
from streamviz.core.errors import IllegalTransition
from streamviz.core.events import (
    CONTRADICTION,
    PROCESSING_ERROR,
    BlockCompleted,
    BlockDelta,
    BlockKind,
    BlockSealed,
    BlockStarted,
    StreamEvent,
    StreamFailed,
    StreamFinished,
    UsageUpdated,
)
from streamviz.core.tokens import Tokens, tokens_of


@dataclass(slots=True, eq=False)
class StreamBlock:
    """A contiguous typed unit of a response.

    `id` is upstream's if it has one, or else made from the kind. `name` is the tool that a call, or a block of another
    kind, calls, within `namespace` if the request put it in one; `label` is the wire's own word for it; text has
    neither. `first_seq` and `last_seq` are the first and last chunk that belong to it, `started_at` and `completed_at`
    when those came (µs since the epoch). A complete block may still grow until it is sealed. `before` is the end of the
    previous text of its kind, if policies read texts: many clients join the texts of several blocks.
    """

    kind: ClassVar[BlockKind]

    ordinal: int
    id: str
    choice: int = 0
    index: int | None = None
    name: str = ""
    label: str = ""
    namespace: str = ""
    is_complete: bool = False
    is_sealed: bool = False
    is_truncated: bool = False
    first_seq: int = 0
    last_seq: int = 0
    started_at: int = 0
    completed_at: int | None = None
    before: str = ""
    # Pieces are joined only when read, so that a delta costs no more in a long block than in a short one.
    _pieces: list[str] = field(default_factory=list)
    _length: int = 0

    @property
    def text(self) -> str:
        """All that has come so far: text, or for a tool call its arguments."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def beginning(self, most: int) -> str:
        """The first `most` characters, without joining all that come after them."""
        pieces, length = [], 0
        for piece in self._pieces:
            pieces.append(piece)
            length += len(piece)
            if length >= most:
                break
        return "".join(pieces)[:most]

    def ending(self, most: int) -> str:
        """The last `most` characters, without joining all that came before them."""
        pieces, length = [], 0
        for piece in reversed(self._pieces):
            pieces.append(piece)
            length += len(piece)
            if length >= most:
                break
        return "".join(reversed(pieces))[-most:] if most else ""

    @property
    def length(self) -> int:
        """Characters so far, without joining the pieces."""
        return self._length

    def grow(self, delta: BlockDelta) -> None:
        """Take a delta in. Raises IllegalTransition on a sealed block."""
        if self.is_sealed:
            raise IllegalTransition(f"block {self.ordinal} is sealed and cannot grow")
        self.is_complete = False
        self.completed_at = None
        if delta.text:
            self._pieces.append(delta.text)
            self._length += len(delta.text)

    def complete(self, at: int, truncated: bool) -> None:
        """Raises IllegalTransition if the block is complete already."""
        if self.is_complete:
            raise IllegalTransition(f"block {self.ordinal} is complete already")
        self.is_complete = True
        self.is_truncated = truncated
        self.completed_at = at

    def seal(self) -> None:
        """Raises IllegalTransition if the block is open, or sealed already."""
        if self.is_sealed or not self.is_complete:
            raise IllegalTransition(f"block {self.ordinal} cannot be sealed now")
        self.is_sealed = True


@dataclass(slots=True, eq=False)
class ContentStreamBlock(StreamBlock):
    """Text for the reader."""

    kind = BlockKind.CONTENT

    @property
    def content(self) -> str:
        return self.text


@dataclass(slots=True, eq=False)
class RefusalStreamBlock(StreamBlock):
    """The model's words for why it will not answer."""

    kind = BlockKind.REFUSAL


@dataclass(slots=True, eq=False)
class ThinkingStreamBlock(StreamBlock):
    """The model's reasoning; `signature` is what the provider wants back with it, opaque."""

    kind = BlockKind.THINKING

    _signature_pieces: list[str] = field(default_factory=list)

    @property
    def signature(self) -> str:
        return "".join(self._signature_pieces)

    def grow(self, delta: BlockDelta) -> None:
        StreamBlock.grow(self, delta)
        if delta.signature:
            self._signature_pieces.append(delta.signature)


@dataclass(slots=True, eq=False)
class ToolCallStreamBlock(StreamBlock):
    """A tool call, the client's or the provider's. `arguments` is raw JSON text, perhaps incomplete, and never parsed
    here. `label` (`core.calls`) is empty for an ordinary function call."""

    kind = BlockKind.TOOL_CALL

    @property
    def arguments(self) -> str:
        return self.text

    @property
    def runner(self) -> Runner:
        """Who runs the call."""
        return runner_of(self.label)

    @property
    def is_free_text(self) -> bool:
        """Whether the arguments are plain text, not JSON."""
        return self.label in FREE_TEXT

    def grow(self, delta: BlockDelta) -> None:
        StreamBlock.grow(self, delta)
        self.id = delta.id or self.id
        self.name = delta.name or self.name


@dataclass(slots=True, eq=False)
class OtherStreamBlock(StreamBlock):
    """Anything else; `label` is its type, such as `web_search_tool_result`, `text` its payload as JSON text."""

    kind = BlockKind.OTHER


@dataclass(slots=True, eq=False)
class MediaStreamBlock(OtherStreamBlock):
    """Images or sounds; `core.media` reads them in its `text`."""

    kind = BlockKind.MEDIA


def new_block(event: BlockStarted, seq: int, at: int) -> StreamBlock:
    """The empty block that `event` starts."""
    common = (event.ordinal, event.id, event.choice, event.index)
    block: StreamBlock
    match event.kind:
        case BlockKind.CONTENT:
            block = ContentStreamBlock(*common)
        case BlockKind.THINKING:
            block = ThinkingStreamBlock(*common)
        case BlockKind.REFUSAL:
            block = RefusalStreamBlock(*common)
        case BlockKind.TOOL_CALL:
            block = ToolCallStreamBlock(*common, name=event.name, label=event.label)
        case BlockKind.MEDIA:
            block = MediaStreamBlock(*common, label=event.label, name=event.name)
        case BlockKind.OTHER:
            block = OtherStreamBlock(*common, label=event.label, name=event.name)
    block.first_seq = block.last_seq = seq
    block.started_at = at
    return block


class Told(msgspec.Struct, frozen=True, gc=False):
    """A text that is in no block: of an id, a count, an error. `is_word` says whether it is a single word, or a
    number, `is_summary` whether a block has it too: one that shortens a conversation."""

    text: str
    is_word: bool
    is_summary: bool = False


@dataclass(slots=True, eq=False)
class StreamState:
    """A stream as far as it has come.

    `events`, `just_completed` and `just_sealed` are what the latest chunk brought; several blocks can complete in one
    chunk. `finish_reasons` is by choice. `usage` is the last that upstream sent, never a sum, and `service_tier` the
    tier that it named with it. `length` counts the characters of all blocks, `begun` the blocks, `tool_calls` the calls
    among them. `contradiction` is the first thing that upstream said in two ways, or must not say, empty if there is
    none; `fault` is the first failure of streamviz itself. `beside` is what the latest chunk said about the answer
    itself that was new. `spoilt` are the blocks that have something from a chunk that does not go on: the client has
    them differently. `is_suspect` is set if there is a `failure`, which came in the chunk `failed_seq`, a contradiction
    or a fault.
    """

    blocks: list[StreamBlock] = field(default_factory=list)
    current_block: StreamBlock | None = None
    events: list[StreamEvent] = field(default_factory=list)
    finish_reasons: dict[int, str] = field(default_factory=dict)
    usage: dict[str, object] | None = None
    service_tier: str = ""
    failure: StreamFailed | None = None
    contradiction: str = ""
    fault: str = ""
    failed_seq: int = -1
    is_suspect: bool = False
    is_truncated: bool = False
    last_seq: int = 0
    last_at: int = 0
    length: int = 0
    begun: int = 0
    tool_calls: int = 0
    beside: Sequence[Told] = ()
    spoilt: frozenset[int] = frozenset()
    # By ordinal: thousands of calls can come in one chunk, and each may be opened again in it.
    _just_completed: dict[int, StreamBlock] = field(default_factory=dict)
    _just_sealed: list[StreamBlock] = field(default_factory=list)
    # Kept so that the reasons, of which there can be thousands, need not be searched.
    _first_finished: int | None = None

    @property
    def just_completed(self) -> tuple[StreamBlock, ...]:
        return tuple(self._just_completed.values())

    @property
    def just_sealed(self) -> tuple[StreamBlock, ...]:
        return tuple(self._just_sealed)

    @property
    def finish_reason(self) -> str | None:
        """Upstream's word for why the first choice ended; None while it has not said."""
        return None if self._first_finished is None else self.finish_reasons[self._first_finished]

    @property
    def tokens(self) -> Tokens:
        """The tokens as upstream reported them, in the normal form."""
        return tokens_of(self.usage, self.service_tier)

    def begin_chunk(self, seq: int, at: int) -> None:
        """Begin another chunk; `at` is when it came (µs since the epoch)."""
        self.events = []
        if self.beside:
            self.beside = ()
        if self._just_completed:
            self._just_completed = {}
        if self._just_sealed:
            self._just_sealed = []
        self.last_seq, self.last_at = seq, at

    def apply(self, event: StreamEvent) -> None:
        """Take one event in. Raises IllegalTransition for one that cannot follow the previous ones."""
        self.events.append(event)
        match event:
            case BlockDelta():
                self._grow(self.blocks[event.ordinal], event)
            case BlockStarted():
                self._start(event)
            case BlockCompleted():
                block = self.blocks[event.ordinal]
                block.complete(self.last_at, event.truncated)
                self._just_completed[block.ordinal] = block
            case BlockSealed():
                block = self.blocks[event.ordinal]
                block.seal()
                self._just_sealed.append(block)
            case UsageUpdated():
                self.usage, self.service_tier = event.usage, event.tier
            case StreamFinished():
                self._finish(event.choice, event.reason)
            case StreamFailed(kind=kind) if kind == PROCESSING_ERROR:
                self.is_suspect = True
                self.fault = self.fault or event.message
            case StreamFailed(kind=kind) if kind == CONTRADICTION:
                self.is_suspect = True
                self.contradiction = self.contradiction or event.message
            case StreamFailed():
                self.is_suspect = True
                self.failure, self.failed_seq = event, self.last_seq

    def _start(self, event: BlockStarted) -> None:
        if event.ordinal != len(self.blocks):
            raise IllegalTransition(f"block {event.ordinal} started where {len(self.blocks)} was next")
        self.current_block = new_block(event, self.last_seq, self.last_at)
        self.blocks.append(self.current_block)
        self.begun += 1
        self.tool_calls += event.kind is BlockKind.TOOL_CALL

    def _finish(self, choice: int, reason: str) -> None:
        self.finish_reasons[choice] = reason
        if self._first_finished is None or choice < self._first_finished:
            self._first_finished = choice

    def _grow(self, block: StreamBlock, delta: BlockDelta) -> None:
        if block.is_complete:
            self._just_completed.pop(block.ordinal, None)
        block.grow(delta)
        self.length += len(delta.text)
        block.last_seq = self.last_seq
        self.current_block = block
