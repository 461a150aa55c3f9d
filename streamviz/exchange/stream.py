"""A running stream, as the worker that runs it knows it."""

import uuid
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from streamviz.core.blocks import StreamState
from streamviz.core.json_value import JsonObject, as_object
from streamviz.core.judgements import ChainContext
from streamviz.core.tokens import Tokens
from streamviz.core.verdicts import Decision
from streamviz.core.wire import WIRE_FORMATS
from streamviz.exchange.life import Life, State
from streamviz.records.verdict_record import VerdictRecord
from streamviz.traces import Trace


@dataclass(slots=True)
class Place:
    """Where a stream stands in its conversation. `parent` is the stream that it continues, `is_named` says that its
    client named the session.

    `asked` has the marks of a surer parent and those that leave this one in doubt (`records/links.py`), `marks` those
    by which later streams may find it.
    """

    parent: uuid.UUID | None = None
    relation: str = ""
    is_named: bool = False
    asked: list[int] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class TapeTimes:
    """When what is on a stream's two tapes came and went, in µs since the epoch.

    `received_at` holds one time per chunk, in order. `passed_seqs` and `passed_at` hold, in upstream's order, the
    chunks that the client was sent unchanged, and when; `made_at` has the times of all other frames.
    `upstream_first_at` and `client_first_at` say when there was something of a block for the first time.
    `sending_since` is when the client's socket was given what it has not taken yet; `client_waits` has the start and
    end of each wait that was long enough to call the client slow.
    """

    received_at: "array[int]" = field(default_factory=lambda: array("q"))
    passed_seqs: "array[int]" = field(default_factory=lambda: array("q"))
    passed_at: "array[int]" = field(default_factory=lambda: array("q"))
    made_at: "array[int]" = field(default_factory=lambda: array("q"))
    upstream_first_at: int | None = None
    client_first_at: int | None = None
    sending_since: int | None = None
    client_waits: list[tuple[int, int]] = field(default_factory=list)

    @property
    def frame_count(self) -> int:
        """How many frames the client was sent."""
        return len(self.passed_seqs) + len(self.made_at)

    @property
    def last_received_at(self) -> int | None:
        """When the newest chunk came."""
        return self.received_at[-1] if self.received_at else None

    @property
    def last_sent_at(self) -> int | None:
        """When the client was last sent anything."""
        return max((*self.passed_at[-1:], *self.made_at[-1:]), default=None)


@dataclass(slots=True, eq=False)
class LiveStream:
    """All that is known of a stream so far. Its exchange fills it in; the feed and the recorder read it.

    `session_label` says what its session is about, `session_name` is what its client calls that; either may be empty.
    `decide(asks, decision, by)` answers a question, given by its number, with a person's decision; it returns False if
    nobody is waiting for one (any more). It is None while nothing is judged.
    `cancel(by)` stops the stream on behalf of a person; it returns False if it is too late.
    `request` is empty until its policies have settled what goes upstream. `request_headers` are those of its headers
    that are kept, except the user agent.
    `tokens` and `cost` (US dollars) are the totals once it is over. `hides_usage`: upstream was asked for usage that
    the client did not want. `left_out` names what its provider could not take of the request, and what of the answer
    has no place in the client's format. `is_entered` says that limits count what it may use,
    `tallies` names what its worker adds it to at its end, beside its session's.
    `executor` is what answers it with calls of its own, which makes it a run; `calls` are those calls, in the order in
    which they began; `part` is what a call of a run is for.
    `calls_model` is false if no model answers it itself: then it takes no tokens.
    `head` has upstream's own words for the answer as a whole, such as its id and its model. `trace` is its span, if a
    collector is told of it.
    `ended_at` is when the client had all that it gets, in µs since the epoch. `state` and `context` are the ones that
    the core works on, not copies.
    """

    id: uuid.UUID
    session_id: uuid.UUID
    session_label: str
    key_id: int | None
    key_name: str
    endpoint: str
    wire_format: str
    is_streaming: bool
    requested_model: str
    requested_at: int
    state: StreamState
    context: ChainContext
    session_name: str = ""
    upstream_model: str = ""
    provider: str = ""
    client: str = ""
    user_agent: str = ""
    request_headers: dict[str, str] = field(default_factory=dict)
    request: bytes = b""
    times: TapeTimes = field(default_factory=TapeTimes)
    ended_at: int | None = None
    status: int | None = None
    error: str = ""
    tokens: Tokens | None = None
    cost: float | None = None
    hides_usage: bool = False
    left_out: tuple[str, ...] = ()
    is_entered: bool = False
    tallies: set[uuid.UUID] = field(default_factory=set)
    place: Place = field(default_factory=Place)
    executor: str = ""
    part: str = ""
    calls_model: bool = True
    calls: "list[LiveStream]" = field(default_factory=list)
    head: JsonObject = field(default_factory=dict)
    trace: Trace | None = None
    cancel: Callable[[str], bool] | None = None
    decide: Callable[[int, Decision, str], bool] | None = None
    life: Life = field(default_factory=Life)
    _verdicts: list[VerdictRecord] = field(default_factory=list)

    @property
    def verdicts(self) -> list[VerdictRecord]:
        """What its policies have decided, in the form in which it is recorded."""
        given, judgements = self._verdicts, self.context.judgements
        if len(given) < len(judgements):
            given += map(VerdictRecord.of, range(len(given), len(judgements)), judgements[len(given) :])
        return given

    @property
    def outcome(self) -> str:
        """How it ended; empty while it runs."""
        return self.life.outcome or ""

    def release(self) -> None:
        """Free memory once the stream is closed: keep only the few fields of its request and of its answer's head that
        describe it. Pages keep the stream for a while, and either can be a hundred thousand objects."""
        context = self.context
        fields, settings = context.request.fields, WIRE_FORMATS[self.wire_format].settings
        nested = {settings: _numbers_in(as_object(fields.get(settings)))} if settings else {}
        context.request = replace(context.request, fields={**_numbers_in(fields), **nested})
        self.head = {name: value for name, value in self.head.items() if isinstance(value, str)}

    @property
    def is_closed(self) -> bool:
        """Whether the stream is final. Until then policies in shadow may still judge what the client already has."""
        return self.life.state is State.CLOSED


def _numbers_in(fields: JsonObject) -> JsonObject:
    """A request's limits, sampling parameters and the like."""
    return {name: value for name, value in fields.items() if isinstance(value, int | float)}
