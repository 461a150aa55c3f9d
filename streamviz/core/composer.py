"""What the composers of all wire formats share: writing events as the bytes that a client of the format can read."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
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
    # What one becomes that waits for calls of the provider's own, when the client gets no call at all.
    finish_without_any: ClassVar[Mapping[str, str]] = {}
    # The finish_reason of a response that a policy halted.
    finish_halted: ClassVar[str]
    # Names of the format's events that say nothing about any block.
    markers: ClassVar[frozenset[str]] = frozenset()
    # Whether the client gives up where no event comes for long, and takes one before the response, too.
    counts_events = False
    # Whether the client asks again for an answer that is told to be incomplete, in the format that tells that so.
    asks_again_for_incomplete = False
    # Whether the client asks again after an error amid a stream, unless that has a code of OpenAI's for what is final.
    knows_openai_codes_alone = False
    # Whether the client reads an error amid a stream where it is no event, in the format that has such errors.
    has_bare_errors = False

    @abstractmethod
    def passed(self, events: Sequence[StreamEvent], chunk: Chunk | None = None) -> None:
        """These events reached the client as upstream's own bytes, those of `chunk`."""

    def catch_up(self, aggregator: Aggregator[Chunk, JsonObject], last: Chunk) -> None:
        """All that `aggregator` took in reached the client as upstream's own bytes, `last` as the last of it.

        For a composer that saw none of it, because nothing had to be composed.
        """
        self.passed([event for block in aggregator.state.blocks for event in _events_of(block)])

    @abstractmethod
    def compose(self, events: Sequence[StreamEvent]) -> list[bytes]:
        """The frames that say `events`, in order."""

    def carry(self, chunk: Chunk, events: Sequence[StreamEvent]) -> list[bytes] | None:
        """Upstream's own frames for a chunk of which no verdict changes anything, in a response that is composed
        otherwise: all that upstream says beside the events stays, only places, counts and repetitions of what was
        changed are adjusted. `chunk.raw` itself where nothing had to be. None where `events` are to be composed.

        `events` are the chunk's, with a finish_reason as the client is to get it. Called in place of `compose` for
        them.
        """
        return None

    def carry_part(
        self, chunk: Chunk, read: Sequence[StreamEvent], said: Sequence[StreamEvent], touched: Set[int]
    ) -> list[bytes] | None:
        """As `carry`, for a chunk of which verdicts change some blocks, `touched`: upstream's own words for the rest.

        `read` are the events that were read in the chunk, `said` what the client is to get of them. None where `said`
        is to be composed.
        """
        return None

    def denied(self, block: BlockStarted) -> None:
        """The client does not get this call, or this medium, as it came: what upstream says of it later, a call's
        result, a sound as a whole, has no place either."""
        return

    def keeps(self, chunk: Chunk) -> bool:
        """Whether this chunk goes through even where all else is composed: a comment, an end marker, a ping."""
        return chunk.data is None or chunk.data.startswith(DONE) or chunk.name in self.markers

    def end(self) -> list[bytes]:
        """The frames that end a response of which all was composed; nothing may follow them."""
        return []

    def stop(self) -> list[bytes]:
        """What upstream itself would have sent behind the finish_reason; it does not come where a policy halted it."""
        return []

    @abstractmethod
    def keep_alive(self) -> bytes:
        """A frame that means nothing: it shows the client that the connection lives."""

    @abstractmethod
    def fail(self, failure: StreamFailed) -> bytes:
        """The frames that end a response which broke in the middle."""


def _events_of(block: StreamBlock) -> list[StreamEvent]:
    """What led to a block as the client has it: one that the end of input truncated has not ended there."""
    started = BlockStarted(block.ordinal, block.kind, block.choice, block.index, block.id, block.name, block.label)
    ended = [BlockSealed(block.ordinal)] if block.is_sealed and not block.is_truncated else []
    return [started, BlockDelta(block.ordinal, block.text), *ended]
