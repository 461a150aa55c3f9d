"""What the composers of all wire formats share: writing events as the bytes that a client of the format can read."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
from types import MappingProxyType
from typing import ClassVar

from streamviz.core.aggregator import DONE, Aggregator, Chunk
from streamviz.core.blocks import StreamBlock
from streamviz.core.events import BlockDelta, BlockSealed, BlockStarted, StreamEvent, StreamFailed
from streamviz.core.json_value import JsonObject


class Composer(ABC):
    """Writes one response in a wire format.

    A response may be part upstream's own bytes and part composed: `passed` tells the composer of the events whose
    bytes went through untouched, so that what it writes next continues them.
    """

    # What a finish_reason that announces tool calls becomes when the client gets none of them.
    finish_without_calls: ClassVar[Mapping[str, str]]
    # The same for one that waits for calls of the provider's own, when the client gets no call at all.
    finish_without_any: ClassVar[Mapping[str, str]] = {}
    # The finish_reason of a response that a policy halted.
    finish_halted: ClassVar[str]
    # Names of the format's events that say nothing about any block.
    markers: ClassVar[frozenset[str]] = frozenset()
    # Whether the client gives up if no event comes for long, and accepts one before the response, too.
    counts_events = False
    # Whether the client retries when an answer is said to be incomplete, in the format that can say so.
    asks_again_for_incomplete = False
    # Whether the client retries after an error in mid-stream, unless that has one of OpenAI's codes for final errors.
    knows_openai_codes_alone = False
    # Whether the client retries after any error in mid-stream, or sees none there: a final one is sent as a text.
    asks_again_after_errors = False
    # Whether the client stops reading at an empty line between events, in the format whose keep-alives those are.
    reads_events_alone = False
    # Whether the client reads an error in mid-stream that is not an event, in the format that has such errors.
    has_bare_errors = False
    # The member of the head that says when an answer was made.
    created: ClassVar[str] = "created"
    # The namespace of each of the client's tools that has one, and its name in that, by the name that upstream knows;
    # for the format that has namespaces.
    namespaces: Mapping[str, tuple[str, str]] = MappingProxyType({})

    @abstractmethod
    def passed(self, events: Sequence[StreamEvent], chunk: Chunk | None = None) -> None:
        """Note that these events reached the client as upstream's own bytes, those of `chunk`."""

    def catch_up(self, aggregator: Aggregator[Chunk, JsonObject], last: Chunk) -> None:
        """Note that the client has all that `aggregator` took in as upstream's own bytes, `last` being the last.

        For a composer that saw none of it, because nothing had to be composed.
        """
        self.passed([event for block in aggregator.state.blocks for event in _events_of(block)])

    @abstractmethod
    def compose(self, events: Sequence[StreamEvent]) -> list[bytes]:
        """The frames for `events`, in order."""

    def carry(self, chunk: Chunk, events: Sequence[StreamEvent]) -> list[bytes] | None:
        """Upstream's own frames for a chunk that no verdict changes, in a response that is otherwise composed:
        everything beside the events stays; only places, counts and repetitions of what was changed are adjusted. It is
        `chunk.raw` itself if nothing had to be, None if `events` are to be composed.

        `events` are the chunk's, with the finish_reason that the client is to get. Called in place of `compose` for
        them.
        """
        return None

    def carry_part(
        self, chunk: Chunk, read: Sequence[StreamEvent], said: Sequence[StreamEvent], touched: Set[int]
    ) -> list[bytes] | None:
        """As `carry`, for a chunk in which verdicts change some blocks, `touched`: the rest stays as upstream sent it.

        `read` are the events that were read in the chunk, `said` what the client is to get of them. None if `said` is
        to be composed.
        """
        return None

    def denied(self, block: BlockStarted) -> None:
        """Note that the client does not get this call, or this medium, as it came: what upstream sends of it later,
        such as a call's result or a whole sound, has no place either."""
        return

    def keeps(self, chunk: Chunk) -> bool:
        """Whether this chunk goes through even if everything else is composed: a comment, an end marker, a ping."""
        return chunk.data is None or chunk.data.startswith(DONE) or chunk.name in self.markers

    def end(self) -> list[bytes]:
        """The frames that end a response that was composed as a whole; nothing may follow them."""
        return []

    def stop(self) -> list[bytes]:
        """What upstream would have sent after the finish_reason; it does not come if a policy halted the stream."""
        return []

    @abstractmethod
    def keep_alive(self) -> bytes:
        """A frame without meaning, which shows the client that the connection is alive."""

    @abstractmethod
    def fail(self, failure: StreamFailed) -> bytes:
        """The frames that end a response that failed in the middle."""


def _events_of(block: StreamBlock) -> list[StreamEvent]:
    """The events of a block as the client has it: one that the end of input truncated has not ended there."""
    started = BlockStarted(block.ordinal, block.kind, block.choice, block.index, block.id, block.name, block.label)
    ended = [BlockSealed(block.ordinal)] if block.is_sealed and not block.is_truncated else []
    return [started, BlockDelta(block.ordinal, block.text), *ended]
