"""An exchange driven by a test: events go in, and the commands that come out are kept."""

import json
import uuid
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Self, TypeVar, cast

from streamviz.core.aggregator import Chunk
from streamviz.core.bounds import Bounds
from streamviz.core.judgements import Answer, ChainContext
from streamviz.core.policy import ActivePolicy
from streamviz.core.request import ModelCall
from streamviz.core.wire import WIRE_FORMATS
from streamviz.exchange.commands import (
    Ask,
    Begin,
    CloseUpstream,
    Command,
    CutOff,
    End,
    Finish,
    Forget,
    Record,
    Respond,
    Send,
)
from streamviz.exchange.exchange import Exchange
from streamviz.exchange.reading import Means
from streamviz.exchange.stream import LiveStream
from streamviz.records.ids import uuid7
from streamviz.records.recorder import AnyEntry, ChunksReceived, FramesSent, VerdictsGiven

T = TypeVar("T")
BOUNDS = Bounds(2**20, 2**20, 10_000, 100, 10_000)
EVENTS, JSON = {"content-type": "text/event-stream"}, {"content-type": "application/json"}
SECOND = 1_000_000
_NAMES = {ChunksReceived: "chunks", FramesSent: "frames", VerdictsGiven: "verdicts"}


def run(step: Coroutine[Any, Any, T]) -> T:
    """The result of a step, which must not wait for anything; there is no event loop."""
    try:
        step.send(None)
    except StopIteration as over:
        return cast(T, over.value)
    raise AssertionError("the step waits")


class Play:
    """One call. Each method is an event; `done` are the commands so far, each carried out immediately.

    The clock stands still unless the test advances it; `fields` are those of the request, `changes` those of the
    stream. After `loses_after` records nothing can be recorded any more.
    """

    def __init__(
        self,
        format: str = "openai_chat",
        policies: Sequence[ActivePolicy] = (),
        *,
        is_streaming: bool = True,
        fields: dict[str, Any] | None = None,
        bounds: Bounds = BOUNDS,
        loses_after: int | None = None,
        now: int = SECOND,
        **changes: Any,
    ) -> None:
        wire_format = WIRE_FORMATS[format]
        aggregator = wire_format.new_aggregator(bounds)
        self.now = now
        self.done: list[Command] = []
        call = ModelCall(format, fields or {"model": "m"})
        self.context = ChainContext("run", lambda: self.now, call, state=aggregator.state)
        usual: dict[str, Any] = {
            "id": uuid7(),
            "session_id": uuid.uuid4(),
            "session_label": "",
            "key_id": None,
            "key_name": "",
            "endpoint": wire_format.path,
            "wire_format": format,
            "is_streaming": is_streaming,
            "requested_model": "m",
            "requested_at": now,
            "state": aggregator.state,
            "context": self.context,
        }
        self.stream = LiveStream(**usual | changes)
        self.exchange = Exchange(self.stream, wire_format, aggregator, policies, Means(bounds))
        self._loses_after = loses_after
        self._records = 0

    # Events.

    def asked(self) -> Self:
        self.exchange.judge(self.context.request)
        return self._do()

    def forwarded(self, *, is_translated: bool = False) -> Self:
        """The policies have no objection: the request goes upstream."""
        if self.exchange.judged():
            self.exchange.forwarded(is_translated=is_translated)
        return self._do()

    def opened(self, headers: dict[str, str] = EVENTS, status: int = 200) -> Self:
        """Upstream answers a request that no policy objects to."""
        self.asked().forwarded()
        self.exchange.answered(status, headers)
        return self._do()

    def received(self, *reads: bytes) -> Self:
        for data in reads:
            self.exchange.received(data)
            run(self.exchange.advance())
            self._do()
        return self

    def ended(self, error: Any = None) -> Self:
        self.exchange.ended(error)
        run(self.exchange.advance())
        return self._do()

    def answered(self, number: int, answer: Answer) -> Self:
        self.exchange.answer(number, answer)
        return self._do()

    def waited(self, seconds: float) -> Self:
        """Time passes, and the driver calls `tick`."""
        self.now += round(seconds * SECOND)
        self.exchange.tick()
        return self._do()

    def happened(self, event: str, *details: Any) -> Self:
        """Any other event, by its method's name."""
        getattr(self.exchange, event)(*details)
        return self._do()

    def _do(self) -> Self:
        for command in self.exchange.commands():
            self.done.append(command)
            self._records += isinstance(command, Record)
            if isinstance(command, Record) and self._loses_after is not None and self._records > self._loses_after:
                self.exchange.lost()
        return self

    # Results.

    @property
    def entries(self) -> list[AnyEntry]:
        return [entry for each in self.done if isinstance(each, Record) for entry in each.entries]

    @property
    def sent(self) -> bytes:
        """All bytes that the client was sent."""
        return b"".join(_sent(each) for each in self.done)

    @property
    def head(self) -> Mapping[str, str]:
        """The headers that the client was sent."""
        [headers] = [each.headers for each in self.done if isinstance(each, Begin)]
        return headers

    @property
    def asks(self) -> list[int]:
        return [each.question.number for each in self.done if isinstance(each, Ask)]

    def take(self) -> list[str]:
        """The commands since the last call, each as a word or two."""
        done, self.done = self.done, []
        return [word_for(each) for each in done]


def _sent(command: Command) -> bytes:
    return command.data if isinstance(command, Send) else command.body if isinstance(command, Respond) else b""


def word_for(command: Command) -> str:
    """A command as the tests' scripts write it."""
    match command:
        case Record():
            return "record " + ", ".join(_NAMES[type(entry)] for entry in command.entries)
        case Begin() | Respond():
            return f"{type(command).__name__.lower()} {command.status}"
        case Send():
            return f"{'send the last' if command.is_last else 'send'} {command.data.decode()}".rstrip()
        case Ask():
            return f"ask {command.question.number}"
        case Forget():
            return f"forget {command.number}"
        case Finish():
            return f"finish {command.outcome}"
        case CutOff():
            return "cut off"
        case CloseUpstream():
            return "close upstream"
        case End():
            return "end"


def chunks_of(entries: Sequence[AnyEntry]) -> list[bytes]:
    """The bytes of all recorded chunks, in order."""
    found = [entry for entry in entries if isinstance(entry, ChunksReceived)]
    raws = [raw for entry in found for raw in entry.raws]
    firsts = [entry.first for entry in found]
    assert firsts == [sum(len(each.raws) for each in found[:at]) for at in range(len(found))]
    return raws


def frames_of(entries: Sequence[AnyEntry]) -> bytes:
    """The bytes of all recorded frames, in order, assembled as an export does."""
    chunks, tape, number = chunks_of(entries), bytearray(), 0
    for entry in entries:
        if isinstance(entry, FramesSent):
            assert entry.first == number
            number += len(entry.seqs)
            made = iter(entry.made)
            for seq in entry.seqs:
                tape += next(made)[1] if seq is None else chunks[seq]
    return bytes(tape)


def event(payload: object, name: str = "") -> bytes:
    """An event of a stream."""
    data = payload if isinstance(payload, str) else json.dumps(payload)
    return f"event: {name}\ndata: {data}\n\n".encode() if name else f"data: {data}\n\n".encode()


__all__ = ["BOUNDS", "EVENTS", "JSON", "SECOND", "Chunk", "Play", "chunks_of", "event", "frames_of", "run", "word_for"]
