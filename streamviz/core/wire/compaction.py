"""Shortening a conversation for OpenAI's clients, by a model that has no way of its own to do it.

Codex asks for that with an item of the type `compaction_trigger`, and goes on from the `compaction` item that it gets.
OpenAI's own are encrypted. Any other model writes a summary, which is in the item as LiteLLM writes those of
Anthropic's models: as JSON, which policies read (`openai_responses_seals.py`).
"""

from collections.abc import Iterator, Sequence

from streamviz.core.events import (
    BlockCompleted,
    BlockDelta,
    BlockKind,
    BlockSealed,
    BlockStarted,
    StreamEvent,
    StreamFinished,
)
from streamviz.core.json_value import encode
from streamviz.core.wire.openai_responses_seals import SEAL

TRIGGER, COMPACTION = "compaction_trigger", "compaction"


class Summary:
    """Reads the events of an answer whose texts are the summary."""

    def __init__(self) -> None:
        self._pieces: dict[int, list[str]] = {}

    def said_by(self, events: Sequence[StreamEvent]) -> Iterator[StreamEvent]:
        """The same events, with one compaction at the end of the answer in place of its texts."""
        for event in events:
            match event:
                case BlockStarted(kind=BlockKind.CONTENT):
                    self._pieces[event.ordinal] = []
                case BlockDelta() if event.ordinal in self._pieces:
                    self._pieces[event.ordinal].append(event.text)
                case BlockCompleted() | BlockSealed() if event.ordinal in self._pieces:
                    pass
                case StreamFinished():
                    yield from self._compaction()
                    yield event
                case _:
                    yield event

    def _compaction(self) -> Iterator[StreamEvent]:
        text = "\n".join(map("".join, self._pieces.values())).strip()
        if text:
            at = max(self._pieces)
            sealed = encode({"type": COMPACTION, "content": text}).decode()
            yield BlockStarted(at, BlockKind.OTHER, label=COMPACTION)
            yield BlockDelta(at, encode({SEAL: sealed}).decode())
            yield BlockSealed(at)
        self._pieces.clear()  # some providers repeat the end
