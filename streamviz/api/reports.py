"""What is reported of one stream of the record, from its request to its end, as it happens."""

import asyncio
from collections.abc import AsyncGenerator, Container, Iterable
from heapq import merge
from itertools import islice
from operator import itemgetter
from time import monotonic
from typing import TypeVar

import msgspec
from channels.db import database_sync_to_async
from django.conf import settings
from msgspec.structs import replace

from streamviz.core.judgements import Subject
from streamviz.core.outcome import Outcome
from streamviz.core.request_outline import asked_since, outline_of, parts_of
from streamviz.core.request_parts import Part
from streamviz.core.verdicts import Decision, Mode
from streamviz.core.wire import WIRE_FORMATS
from streamviz.events.reports import Asked, Closed, Held, Judged, Opened, Report
from streamviz.live.feed import feed
from streamviz.live.pace import Pace
from streamviz.live.publisher import publisher
from streamviz.records.archive.reading import in_thread
from streamviz.records.entries import Given
from streamviz.records.following import Following, News
from streamviz.records.models import Block, Stream
from streamviz.records.moments import as_microseconds
from streamviz.records.recorder import StreamClosed
from streamviz.records.telling import Telling
from streamviz.records.verdict_record import VerdictRecord

# How often a running stream is looked at: if its worker's journal is on this machine, and if it is not.
LOOK_SECONDS = 0.1
LOOK_AT_RECORD_SECONDS = 0.5
# After this long without news Postgres is asked too, which knows more if the worker is gone.
DOUBT_SECONDS = 2.0

# Only a request's last parts are reported, and at most this many characters of each.
MOST_PARTS = 1_000
MOST_TEXT = 100_000
# Larger chunks are parsed in a thread.
LARGE_BYTES = 64 * 1024

# When something happened (µs since the epoch), and what.
TimedReport = tuple[int, Report]
_at = itemgetter(0)
_Told = TypeVar("_Told", bound=msgspec.Struct)


def _when_and_which(held: tuple[int, Held]) -> tuple[int, int]:
    at, hold = held
    return at, hold.ordinal


class Reports:
    """The reports of one stream, for one reader. `batches` gives them in order, with an empty batch now and then while
    there is no news. With `as_sent` they are what the client got: nothing of what policies kept back, nor why."""

    def __init__(self, stream: Stream, *, as_sent: bool) -> None:
        self._stream = stream
        self._kept_back = KeptBack() if as_sent else None
        self._following = Following(stream, settings.JOURNAL_DIR, as_sent=as_sent)
        self._telling = Telling(stream.wire_format)
        self._requested_at = as_microseconds(stream.requested_at)
        self._has_looked = self._has_asked = False
        self._known_holds: list[tuple[int, Held]] = []
        self._held: set[int] = set()
        self._holds_read = 0
        self._news_at = self._looked_at = monotonic()

    async def batches(self) -> AsyncGenerator[list[TimedReport]]:
        """Raises Stream.DoesNotExist if the stream is deleted meanwhile."""
        try:
            yield [(self._requested_at, _told(Opened, self._stream, stream_id=self._stream.pk))]
            if self._stream.outcome:
                self._known_holds = await database_sync_to_async(_holds_of)(self._stream)
            is_over = False
            while not is_over:
                news = await self._read()
                is_over = news.closed is not None
                yield await self._batch(news)
                if not is_over and news.is_all:
                    await asyncio.sleep(LOOK_SECONDS if self._following.is_live else LOOK_AT_RECORD_SECONDS)
        finally:
            self._following.close()

    async def _read(self) -> News:
        now = monotonic()
        looks_again = now - max(self._news_at, self._looked_at) > DOUBT_SECONDS
        if looks_again:
            self._looked_at = now
            self._known_holds += await self._holds_elsewhere()
        may_be_archived = bool(self._stream.outcome)
        read = in_thread if may_be_archived else database_sync_to_async
        news = await read(self._following.read)(looks_again=looks_again)
        if news:
            self._news_at = monotonic()
        return news

    async def _batch(self, news: News) -> list[TimedReport]:
        asked = [] if self._has_asked else await self._ask(news)
        said: list[TimedReport] = []
        pace = Pace()
        for chunk in news.chunks:
            is_large = chunk.length > LARGE_BYTES
            events = await asyncio.to_thread(self._telling.take, chunk) if is_large else self._telling.take(chunk)
            said += ((chunk.received_at, event) for event in events)
            await pace.rest()
        verdicts = self._verdicts(news)
        holds = self._take_holds(None if news.is_all or not news.chunks else news.chunks[-1].received_at, news.closed)
        told = [*asked, *merge(said, verdicts, holds, key=_at)]
        if (closed := news.closed) is not None:
            kept_back: Container[int] = ()
            if self._kept_back is not None:
                kept_back, closed = self._kept_back.among(closed), _as_sent(closed)
            told += ((closed.ended_at, event) for event in self._telling.close(closed, kept_back))
            told.append((closed.ended_at, _closed(closed)))
        return told

    async def _ask(self, news: News) -> list[TimedReport]:
        """What the request adds, once. While policies are still judging it, nobody has the request; it is known before
        anything comes of it."""
        request = news.request
        if not request and (not self._has_looked or news.chunks or news.closed):
            request = await database_sync_to_async(_request_of)(self._stream)
            self._has_looked = True
        self._has_asked = bool(request or news.chunks or news.closed)
        found = await asyncio.to_thread(_asked, request, self._stream.wire_format)
        return [(self._requested_at, each) for each in found]

    def _verdicts(self, news: News) -> list[TimedReport]:
        if self._kept_back is None:
            return [(each.verdict.at, _judged(each)) for each in news.verdicts]
        self._kept_back.note(each.verdict for each in news.verdicts)
        enforced = (each for each in news.verdicts if each.verdict.mode == Mode.ENFORCE)
        return [(each.verdict.at, replace(_judged(each), reason="", failure="", by="")) for each in enforced]

    def _take_holds(self, until: int | None, closed: StreamClosed | None) -> list[TimedReport]:
        """The holds that began by `until`; all known ones if that is None."""
        running = feed.get(self._stream.pk)
        if running is not None:
            holds = running.context.holds
            # Holds are in the order in which they began.
            later = islice(holds.items(), self._holds_read, None)
            self._known_holds += [(hold.since, Held(n, hold.policies)) for n, hold in later]
            self._holds_read = len(holds)
        if closed is not None:
            held = ((block.held_at, Held(block.ordinal, tuple(block.held_by))) for block in closed.blocks)
            self._known_holds += ((at, hold) for at, hold in held if at is not None)
        new = {hold.ordinal: (at, hold) for at, hold in self._known_holds if hold.ordinal not in self._held}
        due = sorted((each for each in new.values() if until is None or each[0] <= until), key=_when_and_which)
        self._held |= {hold.ordinal for _, hold in due}
        self._known_holds = [each for each in new.values() if each[1].ordinal not in self._held]
        return list(due)

    async def _holds_elsewhere(self) -> list[tuple[int, Held]]:
        """The holds of a stream that another worker runs; that worker is asked."""
        if self._stream.outcome or publisher.workers is None or feed.get(self._stream.pk) is not None:
            return []
        found = await publisher.workers.look_for(self._stream.pk)
        blocks = () if found is None else found.view.blocks
        return [(each.held_at, Held(each.ordinal, tuple(each.held_by))) for each in blocks if each.held_at is not None]


class KeptBack:
    """What policies kept from a client: blocks, or, if they acted on the whole stream, everything that it did not get
    as upstream sent it."""

    def __init__(self) -> None:
        self._ordinals: set[int | None] = set()

    def note(self, verdicts: Iterable[VerdictRecord]) -> None:
        self._ordinals |= {
            each.ordinal
            for each in verdicts
            if each.mode == Mode.ENFORCE and each.decision != Decision.ALLOW and each.subject != Subject.REQUEST
        }

    def among(self, closed: StreamClosed) -> set[int]:
        """The ordinals of the blocks of which the client got no more than what reached it unchanged. If an answer did
        not end by itself, these are all its blocks, because those still to be judged are among them."""
        kept = self._ordinals
        is_whole = closed.outcome == Outcome.COMPLETED and None not in kept
        return {
            each.ordinal for each in closed.blocks if not is_whole or each.released_at is None or each.ordinal in kept
        }


def _as_sent(closed: StreamClosed) -> StreamClosed:
    """Without what an incomplete answer said about itself, which may not have been sent either."""
    return closed if closed.outcome == Outcome.COMPLETED else replace(closed, usage=None, finish_reason="")


def _holds_of(stream: Stream) -> list[tuple[int, Held]]:
    rows = Block.objects.filter(stream=stream, held_at__isnull=False).values_list("held_at", "ordinal", "held_by")
    return [(as_microseconds(at), Held(ordinal, tuple(by))) for at, ordinal, by in rows if at is not None]


def _request_of(stream: Stream) -> bytes:
    return bytes(Stream.objects.values_list("request", flat=True).get(pk=stream.pk))


def _asked(request: bytes, wire_format: str) -> Iterable[Asked]:
    if wire_format not in WIRE_FORMATS:
        return []
    known = WIRE_FORMATS[wire_format]
    parts = [part for turn in asked_since(outline_of(request, known)) for part in parts_of(turn, known)]
    return [_part(n, parts[n]) for n in range(len(parts))[-MOST_PARTS:]]


def _told(kind: type[_Told], source: object, /, **given: object) -> _Told:
    """A report with the fields that `source` has under the same names, except those that are `given`."""
    same = {name: getattr(source, name) for name in kind.__struct_fields__ if name not in given}
    return kind(**same, **given)


def _part(number: int, part: Part) -> Asked:
    text, is_cut = part.text[:MOST_TEXT], len(part.text) > MOST_TEXT
    return _told(Asked, part, number=number, kind=str(part.kind), text=text, is_cut=is_cut)


def _judged(given: Given) -> Judged:
    return _told(Judged, given.verdict, policy=given.policy, version=given.version)


def _closed(closed: StreamClosed) -> Closed:
    return _told(Closed, closed, cost=None if closed.cost is None else float(closed.cost))
