"""OpenAI's embeddings: an answer of numbers, of which only the usage, or an error, is read.

Format: https://platform.openai.com/docs/api-reference/embeddings. An answer may have millions of numbers, which are
skipped and not decoded; there is nothing in it for a policy to judge.
"""

import re
from collections.abc import Sequence

import msgspec

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.blocks import StreamState
from streamviz.core.body_composer import BodyComposer
from streamviz.core.events import MALFORMED_CHUNK, StreamEvent, StreamFailed
from streamviz.core.json_value import JsonObject, as_list
from streamviz.core.wire.openai_chat_writer import failed_body


class _Answer(msgspec.Struct):
    usage: dict[str, object] | None = None
    error: object = None


# The input, which is read, and members that are not embedded, whatever they contain.
_KNOWN = frozenset({"model", "input", "user", "metadata", "provider"})
_LONGEST_WORD = 64
_BLANK = re.compile(r"\s")

_answers = msgspec.json.Decoder(_Answer)


class EmbeddingsAggregator(Aggregator[Chunk, JsonObject]):
    """Reads an answer's usage, or its error."""

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
            # Embeddings have no output tokens, whether or not the answer says so.
            self._use({"completion_tokens": 0, **answer.usage})
        self._finish("stop")
        return self.state.events

    def _read(self, payload: JsonObject, name: str) -> None:
        """Read nothing of a payload."""

    def _build(self) -> JsonObject:
        return {"object": "list", "data": [], "usage": self.state.usage}


class EmbeddingsComposer(BodyComposer):
    """Answers are never changed; they can only fail."""

    finish_without_calls = {}
    finish_halted = "stop"

    def compose(self, events: Sequence[StreamEvent]) -> list[bytes]:
        return []

    def _anew(self, state: StreamState) -> JsonObject:
        return self._body

    def fail(self, failure: StreamFailed) -> bytes:
        return failed_body(failure)


def unread_in(fields: JsonObject) -> str:
    """The member of a request that may contain something to embed that is not read here: numbers of tokens as input, or
    a member beside the input that a provider may accept; "" if there is none."""
    if any(not isinstance(each, str) for each in as_list(fields.get("input"))):
        return "input"
    return next((name for name, value in fields.items() if name not in _KNOWN and not _is_setting(value)), "")


def _is_setting(value: object) -> bool:
    """Whether a value is a number or a single word, which can only be a setting."""
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
        """Read nothing of a payload."""

    def _build(self) -> JsonObject:
        return {}
