"""Translating a stream of one wire format into another."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

import msgspec

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.blocks import StreamState
from streamviz.core.composer import Composer
from streamviz.core.events import CONTRADICTION, BlockDelta, BlockStarted, StreamEvent, StreamFailed
from streamviz.core.json_value import JsonObject, encode
from streamviz.core.sse import SSEParser
from streamviz.core.wire import AGGREGATORS, WIRE_FORMATS
from streamviz.core.wire.compaction import Summary
from streamviz.core.wire.plain_text import PlainCalls
from streamviz.core.wire.translation import has_no_place_elsewhere

# Limits on `left_out`, as upstream decides what is in it.
_MOST_NAMED = 20
_LONGEST_NAME = 50


def translating_composer(source: str, target: str, head: JsonObject) -> Composer:
    """A composer that writes all of a stream of the format `source` in the format `target`."""
    return WIRE_FORMATS[target].composer(head, source=source)


@dataclass(slots=True)
class Translator:
    """Translates chunks of the format `source` into bytes of the format `target`.

    `tool_names` has the client's own names of tools that upstream knows by other names. `most_blocks` is the number of
    blocks that there may be: `take` raises UpstreamError for more. `plain` are the names of functions in place of tools
    that take plain text. `namespaces` has, by the name that upstream knows, a tool's namespace and its name in that.
    `summary` is set if the answer shortens the conversation.
    `left_out` names the parts of the answer that have no place in `target`.
    """

    source: str
    target: str
    tool_names: Mapping[str, str] = field(default_factory=dict)
    most_blocks: int | None = None
    plain: Set[str] = frozenset()
    namespaces: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    summary: Summary | None = None
    _plain_calls: PlainCalls = field(init=False)
    _aggregator: Aggregator[Chunk, JsonObject] = field(init=False)
    _composer: Composer = field(init=False)
    _head: JsonObject = field(init=False)
    _left_out: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._aggregator = AGGREGATORS[self.source](most_blocks=self.most_blocks)
        self._aggregator.is_judged = False  # policies judge what it is translated to
        self._plain_calls = PlainCalls(self.plain, self.source)
        self._head = {}
        self._composer = translating_composer(self.source, self.target, self._head)
        self._composer.namespaces = self.namespaces

    @property
    def state(self) -> StreamState:
        """What has come so far."""
        return self._aggregator.state

    @property
    def left_out(self) -> tuple[str, ...]:
        """What has been left out so far, in the terms of `source`."""
        return tuple(self._left_out)

    def take(self, chunk: Chunk) -> bytes:
        """The bytes for one more chunk; there may be none yet."""
        # The output is written from what was read here, so it can only be read in one way.
        events = [event for event in self._aggregator.aggregate(chunk) if not _is_contradiction(event)]
        if not self._head:
            self._read_head()
        self._note_left_out(events)
        return b"".join(self._composer.compose(self._in_clients_words(events)))

    def end(self) -> bytes:
        """The bytes that end the stream, once all has come."""
        events = self._in_clients_words(self._aggregator.close())
        return b"".join([*self._composer.compose(events), *self._composer.end()])

    def keep_alive(self) -> bytes:
        """Bytes without meaning, for a client that waits while nothing of what comes can be written yet."""
        return self._composer.keep_alive()

    def _read_head(self) -> None:
        head = self._aggregator.head
        self._head.update({key: head[key] for key in ("id", "model") if key in head})
        if (created := head.get("created") or head.get("created_at")) is not None:
            self._head[self._composer.created] = created

    def _note_left_out(self, events: Sequence[StreamEvent]) -> None:
        for event in events:
            if isinstance(event, BlockStarted) and has_no_place_elsewhere(event) and len(self._left_out) < _MOST_NAMED:
                self._left_out[f"{(event.label or event.kind)[:_LONGEST_NAME]} of the answer"] = None

    def _in_clients_words(self, events: Sequence[StreamEvent]) -> Sequence[StreamEvent]:
        if self.plain:
            events = list(self._plain_calls.said_by(events))
        if self.summary is not None:
            events = list(self.summary.said_by(events))
        if not self.tool_names:
            return events
        return [
            msgspec.structs.replace(event, name=self.tool_names.get(event.name, event.name))
            if isinstance(event, BlockStarted | BlockDelta) and event.name
            else event
            for event in events
        ]


def collected(stream: bytes, wire_format: str) -> bytes:
    """The non-streaming answer that a whole stream adds up to."""
    parser, aggregator = SSEParser(), WIRE_FORMATS[wire_format].aggregator()
    for event in (*parser.feed(stream), *parser.close()):
        aggregator.aggregate(Chunk(0, 0, event.raw, event.data, event.name))
    return encode(aggregator.build())


def _is_contradiction(event: StreamEvent) -> bool:
    return isinstance(event, StreamFailed) and event.kind == CONTRADICTION
