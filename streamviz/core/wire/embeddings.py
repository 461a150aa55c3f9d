"""OpenAI's embeddings: an answer of numbers, of which what they took is read and nothing else.

Format: https://platform.openai.com/docs/api-reference/embeddings. It may have millions of numbers, so it is looked
through and not taken apart; there is nothing in it that a policy could judge.
"""

import re
from collections.abc import Sequence

import msgspec

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.blocks import StreamState
from streamviz.core.body_composer import BodyComposer
from streamviz.core.events import MALFORMED_CHUNK, StreamEvent, StreamFailed
from streamviz.core.json_value import JsonObject, as_list, encode
from streamviz.core.wire.openai_chat_writer import error_body


class _Answer(msgspec.Struct):
    usage: dict[str, object] | None = None
    error: object = None


# What is no text that is embedded, whatever it says.
_KNOWN = frozenset({"model", "input", "user", "metadata", "provider"})
_LONGEST_WORD = 64
_BLANK = re.compile(r"\s")

_answers = msgspec.json.Decoder(_Answer)


class EmbeddingsAggregator(Aggregator[Chunk, JsonObject]):
    """Reads the usage of an answer, and an error."""

    def aggregate(self, chunk: Chunk) -> list[StreamEvent]:
        self._seen = True
        self.state.begin_chunk(chunk.seq, chunk.received_at)
        try:
            answer = _answers.decode(chunk.data or b"")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self._emit(StreamFailed("upstream sent something that is not a JSON object", kind=MALFORMED_CHUNK))
            return self.state.events
        if answer.error is not None:
            self._fail(answer.error)
        if answer.usage is not None:
            # Nothing is written: that is known, whether it is said or not.
            self._use({"completion_tokens": 0, **answer.usage})
        self._finish("stop")
        return self.state.events

    def _read(self, payload: JsonObject, name: str) -> None:
        """Nothing is read of a payload."""

    def _build(self) -> JsonObject:
        return {"object": "list", "data": [], "usage": self.state.usage}


class EmbeddingsComposer(BodyComposer):
    """Nothing in an answer is ever changed; it can fail."""

    finish_without_calls = {}
    finish_halted = "stop"

    def compose(self, events: Sequence[StreamEvent]) -> list[bytes]:
        return []

    def _anew(self, state: StreamState) -> JsonObject:
        return self._body

    def fail(self, failure: StreamFailed) -> bytes:
        return encode(error_body(failure.message, failure.kind or "upstream_error", failure.code or None))


def unread_in(fields: JsonObject) -> str:
    """The member of a request by which something could be embedded that nobody here reads: numbers of tokens, or what
    stands beside the input, as a provider may take it; "" where there is none."""
    if any(not isinstance(each, str) for each in as_list(fields.get("input"))):
        return "input"
    return next((name for name, value in fields.items() if name not in _KNOWN and not _is_setting(value)), "")


def _is_setting(value: object) -> bool:
    """Whether it is a number or a word, which only says how."""
    if isinstance(value, str):
        return len(value) <= _LONGEST_WORD and not _BLANK.search(value)
    return not isinstance(value, list | dict)


class UnreadAggregator(Aggregator[Chunk, JsonObject]):
    """Reads nothing at all."""

    def aggregate(self, chunk: Chunk) -> list[StreamEvent]:
        self._seen = True
        self.state.begin_chunk(chunk.seq, chunk.received_at)
        return self.state.events

    def _read(self, payload: JsonObject, name: str) -> None:
        """Nothing is read of a payload."""

    def _build(self) -> JsonObject:
        return {}
