"""Events for what the readers of all wire formats find: blocks, their text and their end, usage, errors."""

from collections import Counter
from collections.abc import Callable

from streamviz.core import json_value
from streamviz.core.blocks import StreamBlock, StreamState
from streamviz.core.bounds import BlockLimit
from streamviz.core.error_words import with_cause
from streamviz.core.events import (
    CONTRADICTION,
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

OnEvent = Callable[[StreamEvent], None]


class Emitter(BlockLimit):
    """Makes events, which `state` takes in and `on_event` is called with."""

    def __init__(self, on_event: OnEvent | None, most_blocks: int | None) -> None:
        super().__init__(most_blocks)
        self._on_event = on_event
        self.answers_asked: int | None = None
        self.clear()

    def clear(self) -> None:
        """Get ready for the next stream; nothing of the last one is left."""
        self.state = StreamState()
        self._started: Counter[tuple[BlockKind, int]] = Counter()

    def _require_asked(self, answer: int) -> None:
        if self.answers_asked is not None and answer >= self.answers_asked:
            self._contradict("there are more answers than were requested")

    def _emit(self, event: StreamEvent) -> None:
        self.state.apply(event)
        if self._on_event is not None:
            self._on_event(event)

    def _start(
        self,
        kind: BlockKind,
        *,
        choice: int = 0,
        index: int | None = None,
        id: str = "",
        name: str = "",
        label: str = "",
    ) -> StreamBlock:
        """Begin a block; except for calls, its kind replaces a missing id, numbered from the second in a choice."""
        blocks = self.state.blocks
        self._require_room(len(blocks))
        if not id and kind is not BlockKind.TOOL_CALL:
            number = self._started[kind, choice] = self._started[kind, choice] + 1
            id = f"{kind}-{number}" if number > 1 else str(kind)
        self._emit(BlockStarted(len(blocks), kind, choice, index, id, name, label))
        return blocks[-1]

    def _grow(self, block: StreamBlock, text: str = "", *, id: str = "", name: str = "", signature: str = "") -> None:
        self._emit(BlockDelta(block.ordinal, text, id, name, signature))

    def _complete(self, block: StreamBlock) -> None:
        if not block.is_complete:
            self._emit(BlockCompleted(block.ordinal))

    def _end(self, block: StreamBlock, truncated: bool = False) -> None:
        """Complete the block, if it is not complete, and seal it."""
        if not block.is_complete:
            self._emit(BlockCompleted(block.ordinal, truncated))
        if not block.is_sealed:
            self._emit(BlockSealed(block.ordinal))

    def _use(self, usage: object, tier: object = None) -> None:
        if isinstance(usage, dict):
            self._emit(UsageUpdated(usage, json_value.as_text(tier)))

    def _finish(self, reason: str, choice: int = 0) -> None:
        self._emit(StreamFinished(reason, choice))

    def _contradict(self, why: str) -> None:
        """Note that upstream said something that clients may read differently from this aggregator.

        If a policy acts, neither this chunk nor what follows reaches the client; if none does, the stream is only
        marked. To be called while the chunk is read; whatever else is found in it does not matter then. `why` must not
        quote upstream: clients get it, whatever policies mask.
        """
        if not self.state.contradiction:
            self._emit(StreamFailed(f"upstream contradicts itself: {why}", kind=CONTRADICTION))

    def _fail(self, error: object) -> None:
        """Note a failure; `error` is the wire's error object, or just its message."""
        details = json_value.as_object(error)
        words = with_cause(json_value.as_text(details.get("message")), error, as_read=True)
        message = words or json_value.as_json_text(error)
        code = json_value.as_json_text(details.get("code"))
        self._emit(StreamFailed(message, json_value.as_text(details.get("type")), code))
