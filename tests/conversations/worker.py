"""Workers that handle the calls of agent runs, and what each records."""

import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from streamviz.core.errors import UpstreamError
from streamviz.core.events import BlockKind
from streamviz.core.instead import Instead
from streamviz.core.json_value import encode
from streamviz.core.judgements import ChainContext
from streamviz.core.outcome import Outcome
from streamviz.core.request import ModelCall
from streamviz.core.wire import WIRE_FORMATS
from streamviz.exchange import recording
from streamviz.exchange.exchange import Exchange
from streamviz.exchange.reading import Means
from streamviz.exchange.stream import LiveStream
from streamviz.policies import build
from streamviz.proxy.requests import read_request
from streamviz.proxy.said import said_of
from streamviz.proxy.sessions import Sessions
from streamviz.records.ids import uuid7
from streamviz.records.recorder import AnyEntry
from tests.conversations.agents import Call, Run
from tests.conversations.providers import BODIES, Ids, Json
from tests.core.support import active
from tests.exchange.support import BOUNDS, JSON, run

SECRET = "of the installation"
START = 1_790_000_000_000_000  # µs since the epoch


@dataclass
class Streamed:
    """A call as a worker handled it."""

    stream: LiveStream
    call: Call
    body: Json


@dataclass
class Made:
    """A run so far."""

    name: str
    run: Run
    port: int
    calls: list[Streamed] = field(default_factory=list)
    answer: Json | None = None

    def next(self) -> Call | None:
        """Its next call; None if it is over."""
        try:
            return next(self.run) if self.answer is None else self.run.send(self.answer)
        except StopIteration:
            return None


class Host:
    """The part of a worker that concerns conversations. `entries` is what it has recorded but not stored yet. It is
    behind with the ends of `behind` streams."""

    clock = START

    def __init__(self, ids: Ids, behind: int = 0) -> None:
        self.sessions = Sessions(SECRET)
        self.entries: list[AnyEntry] = []
        self._ids = ids
        self._behind = behind
        self._over: list[LiveStream] = []

    def take(self, call: Call, port: int) -> Streamed:
        """Handle a whole call."""
        streamed, exchange = self.begin(call, port)
        self.end(streamed, exchange)
        return streamed

    def begin(self, call: Call, port: int) -> tuple[Streamed, Exchange]:
        """Begin a call whose answer is still to come; also returns the exchange that will end it."""
        wire_format = WIRE_FORMATS[call.format]
        Host.clock += 1_000
        request = read_request(encode(call.body), wire_format)
        headers = [(name.encode(), value.encode()) for name, value in call.headers.items()]
        scope: Any = {"headers": headers, "client": ("10.0.0.1", port)}
        said = said_of(wire_format, scope, request.fields)
        aggregator = wire_format.new_aggregator(BOUNDS)
        stream_id = uuid7()
        session, place = self.sessions.begin(stream_id, said, request.fields, "alice", Host.clock, aggregator)
        stream = LiveStream(
            id=stream_id,
            session_id=session,
            session_label="",
            key_id=None,
            key_name="alice",
            endpoint=wire_format.path,
            wire_format=call.format,
            is_streaming=False,
            requested_model="m",
            requested_at=Host.clock,
            state=aggregator.state,
            context=ChainContext(str(stream_id), lambda: Host.clock, ModelCall(call.format, request.fields)),
            client="10.0.0.1",
            place=place,
        )
        said.keep(stream, run(request.kept()), [])
        stream.session_label = said.label(request, [])
        self.entries.append(recording.opened(stream))
        policies = [active(build("text_rule", {"patterns": ["secret"], "action": "halt"}))] if call.halts else []
        exchange = Exchange(stream, wire_format, aggregator, policies, Means(BOUNDS))
        exchange.judge(stream.context.request)
        exchange.forwarded()
        return Streamed(stream, call, BODIES[call.format](call.answer, self._ids)), exchange

    def answer(self, streamed: Streamed, exchange: Exchange) -> None:
        """Receive the whole answer, without ending the stream."""
        exchange.answered(200, JSON)
        exchange.received(encode(streamed.body))
        exchange.ended()
        run(exchange.advance())

    def end(self, streamed: Streamed, exchange: Exchange) -> None:
        """Receive the answer, or a failure."""
        Host.clock += 1_000
        stream = streamed.stream
        if streamed.call.fails:
            exchange.refused(UpstreamError(529, "overloaded"))
        else:
            self.answer(streamed, exchange)
        stream.context.instead.update(
            {ordinal: Instead(BlockKind.CONTENT, [text]) for ordinal, text in streamed.call.instead.items()}
        )
        if streamed.call.leaves:
            exchange.left()
        for _ in exchange.commands():
            """The tapes of these streams are not recorded."""
        if stream.outcome != Outcome.COMPLETED or stream.context.instead:
            self._close(stream)
            return
        self.sessions.over(stream)
        self._over.append(stream)
        if len(self._over) > self._behind:
            self._close(self._over.pop(0))

    def finish(self) -> None:
        """Catch up with the ends of all streams."""
        while self._over:
            self._close(self._over.pop(0))

    def _close(self, stream: LiveStream) -> None:
        self.sessions.ended(stream)
        self.entries.append(recording.closed(stream))


def play(
    runs: dict[str, Callable[[], Run]], hosts: Sequence[Host], order: random.Random, host_of: Callable[[Made], int]
) -> list[Made]:
    """Play all runs concurrently, call by call; `host_of` selects the worker for a run's next call."""
    made = [Made(name, run(), port) for port, (name, run) in enumerate(runs.items(), 40_000)]
    left = list(made)
    while left:
        one = order.choice(left)
        call = one.next()
        if call is None:
            left.remove(one)
            continue
        streamed = hosts[host_of(one)].take(call, one.port)
        one.calls.append(streamed)
        one.answer = streamed.body
    return made


Found = dict[uuid.UUID, tuple[uuid.UUID, uuid.UUID | None, str]]


def strangers(made: Sequence[Made], found: Found) -> list[str]:
    """What is wrong with the sessions, parents and relations of the streams; empty if all is right."""
    wrong: list[str] = []
    owners: dict[uuid.UUID, str] = {}
    for one in made:
        sessions = {found[each.stream.id][0] for each in one.calls}
        if len(sessions) > 1:
            wrong.append(f"{one.name}: in {len(sessions)} sessions")
        others = {owners.setdefault(session, one.name) for session in sessions} - {one.name}
        wrong += [f"{one.name}: with {other}" for other in others]
        ids = [each.stream.id for each in one.calls]
        for number, each in enumerate(one.calls):
            _, parent, relation = found[each.stream.id]
            told = (ids.index(parent) if parent in ids else parent, relation)
            # A sub-agent that declares itself one, but whose caller no one knew.
            is_unknown = told == (None, each.call.relation) and "x-openai-subagent" in each.call.headers
            if told != (each.call.after, each.call.relation) and not is_unknown:
                wrong.append(f"{one.name}, call {number}: {told} for {(each.call.after, each.call.relation)}")
    return wrong
