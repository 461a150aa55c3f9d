"""GET /api/streams/<id>/events: a stream's events, from the record or while it runs."""

import asyncio
from asyncio import sleep
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import NamedTuple
from urllib.parse import parse_qs

from asgiref.typing import ASGISendCallable, HTTPScope

from streamviz.api.readers import Reader
from streamviz.api.reports import LARGE_BYTES, Reports
from streamviz.core.errors import RequestError
from streamviz.core.events import BlockDelta, BlockSealed
from streamviz.events.numbering import EventId
from streamviz.events.reports import Closed, Report, line
from streamviz.live.pace import Pace
from streamviz.proxy import http
from streamviz.records.models import Stream

# Clients and proxies give up on a response that is silent for longer.
KEEP_ALIVE_SECONDS = 10.0
# A key can be revoked and a session can end while somebody reads.
RECHECK_SECONDS = 30.0
PIECE_BYTES = 64 * 1024
_SLOWEST, _FASTEST = 0.01, 1000.0

Written = tuple[EventId, Callable[[], bytes]]
Write = Callable[[EventId, int, Report], Iterator[Written]]


class Format(NamedTuple):
    """How events are written. `writer` makes the function that writes one stream's events, each with its id, which
    begins with the letters passed to `writer`. An event's bytes are made only when asked for, because a reader who
    comes back already has many events."""

    letter: str
    content_type: str
    writer: Callable[[str], Write]
    keep_alive: bytes


@dataclass(frozen=True)
class Wanted:
    """What a request asks for: the format, at how many times the original speed (None: all at once), and after which
    event. Event ids begin with `kind`, because what is sent also depends on who reads."""

    format: Format
    kind: str
    speed: float | None
    had: EventId

    @classmethod
    def of(cls, scope: HTTPScope, reader: Reader) -> "Wanted":
        """Raises RequestError (400) for values that make no sense."""
        query = parse_qs(scope["query_string"].decode("latin-1"))
        name = query.get("format", ["agui"])[-1]
        if name not in FORMATS:
            raise RequestError(400, f"`format` must be one of {', '.join(FORMATS)}.", param="format")
        kind = FORMATS[name].letter + ("k" if reader.is_client else "u")
        last = http.header(scope, b"last-event-id")
        had = EventId.parse(last, kind) if last else EventId()
        if had is None:
            message = "`Last-Event-ID` is not an event id for this stream, format and reader."
            raise RequestError(400, message, param="last-event-id")
        return cls(FORMATS[name], kind, _speed(query.get("pace", [""])[-1]), had)


def _speed(pace: str) -> float | None:
    try:
        speed = float(pace) if pace else None
    except ValueError:
        speed = 0.0
    if speed is None or _SLOWEST <= speed <= _FASTEST:
        return speed
    raise RequestError(
        400, f"`pace` must be a number from {_SLOWEST:g} to {_FASTEST:g}; 1 is the original speed.", param="pace"
    )


async def send_events(stream: Stream, wanted: Wanted, reader: Reader, send: ASGISendCallable) -> None:
    """Send events until the stream is over, or the reader may no longer read it."""
    # Building AG-UI's models takes half a second.
    write = await asyncio.to_thread(wanted.format.writer, wanted.kind)
    await send_head(wanted, send)
    await _Sending(stream, wanted, write, reader, send).run()
    await http.body(send, b"")


async def send_head(wanted: Wanted, send: ASGISendCallable) -> None:
    """Send the head of an answer with events."""
    headers = {"content-type": wanted.format.content_type, "cache-control": "no-store", "x-accel-buffering": "no"}
    await http.start(send, 200, headers)


class _Revoked(Exception):
    """The reader may no longer read the stream."""


class _Sending:
    """One stream on its way to one reader, who is sent no more than they take."""

    def __init__(self, stream: Stream, wanted: Wanted, write: Write, reader: Reader, send: ASGISendCallable) -> None:
        self._stream = stream
        self._reader = reader
        self._wanted = wanted
        self._write = write
        self._send = send
        self._told = EventId()
        self._waiting = bytearray()
        self._sent_at = self._checked_at = monotonic()
        self._is_paced = wanted.speed is not None and bool(stream.outcome)
        self._latest: int | None = None
        self._lengths: Counter[int] = Counter()

    async def run(self) -> None:
        """Ends early if the stream is deleted, or the reader may no longer read it."""
        batches = Reports(self._stream, as_sent=self._reader.is_client).batches()
        try:
            async for batch in batches:
                await self._take(batch)
                await self._flush()
        except (Stream.DoesNotExist, _Revoked):
            return
        finally:
            await batches.aclose()

    async def _take(self, batch: list[tuple[int, Report]]) -> None:
        pace = Pace()
        for at, report in batch:
            for told, written in await self._events(at, report):
                self._told = told
                if self._wanted.had.includes(told, report):
                    continue
                if self._is_paced:
                    await self._wait_until(at)
                self._waiting += written()
            if len(self._waiting) >= PIECE_BYTES:
                await self._flush()
            await pace.rest()

    async def _events(self, at: int, report: Report) -> Iterable[Written]:
        """The events for a report. What ends a long block is made in a thread, because media are sent whole."""
        if isinstance(report, BlockDelta):
            self._lengths[report.ordinal] += len(report.text)
        length = self._lengths.pop(report.ordinal, 0) if isinstance(report, BlockSealed) else 0
        if isinstance(report, Closed):
            length = self._lengths.total()
        written = self._write(self._told, at, report)
        if length < LARGE_BYTES:
            return written
        return await asyncio.to_thread(lambda: list(written))

    async def _wait_until(self, at: int) -> None:
        assert self._wanted.speed is not None
        seconds = 0.0 if self._latest is None else (at - self._latest) / 1_000_000 / self._wanted.speed
        self._latest = at
        if seconds > 0:
            await self._flush()
        while seconds > 0:
            await sleep(min(seconds, KEEP_ALIVE_SECONDS))
            seconds -= KEEP_ALIVE_SECONDS
            await self._flush()

    async def _flush(self) -> None:
        """Send what waits; if nothing does, a keep-alive now and then. Raises _Revoked."""
        await self._check()
        if not self._waiting and monotonic() - self._sent_at > KEEP_ALIVE_SECONDS:
            self._waiting += self._wanted.format.keep_alive
        if self._waiting:
            waiting, self._waiting = bytes(self._waiting), bytearray()
            self._sent_at = monotonic()
            await http.body(self._send, waiting, more=True)

    async def _check(self) -> None:
        if monotonic() - self._checked_at < RECHECK_SECONDS:
            return
        self._checked_at = monotonic()
        if not await self._reader.may_read(self._stream):
            raise _Revoked


def _agui(kind: str) -> Write:
    # Imported on first use, so that nobody who starts streamviz waits for it.
    from streamviz.events import agui

    run = agui.Run()

    def write(told: EventId, at: int, report: Report) -> Iterator[Written]:
        for event in run.tell(at, report):
            told = told.and_one(report)
            yield told, partial(agui.sse, f"{kind}{told}", event)

    return write


def _lines(kind: str) -> Write:
    def write(told: EventId, at: int, report: Report) -> Iterator[Written]:
        told = told.and_one(report)
        yield told, partial(line, f"{kind}{told}", at, report)

    return write


FORMATS = {
    "agui": Format("a", "text/event-stream; charset=utf-8", _agui, b": keep-alive\n\n"),
    "jsonl": Format("j", "application/x-ndjson", _lines, b"\n"),
}
