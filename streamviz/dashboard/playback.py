"""Finished streams, prepared for playing them and comparing them with what their clients got. The last few are kept:
preparing one takes as long as aggregating it; any moment of it is then shown in some ms."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple
from uuid import UUID
from weakref import WeakValueDictionary

from asgiref.sync import sync_to_async
from django.http import HttpRequest
from msgspec import structs

from streamviz.core.lint.linter import Note
from streamviz.core.outcome import Outcome
from streamviz.core.tape_alignment import align
from streamviz.core.tapes import Held, Tapes
from streamviz.core.wire import AGGREGATORS
from streamviz.dashboard.pages import number_in
from streamviz.dashboard.preparing import Compared, Failed, Prepared, Recorded, prepared, prepared_elsewhere
from streamviz.live.pace import Pace
from streamviz.live.presentation.conversation import MOST_BLOCKS, instead_of
from streamviz.live.presentation.moment import Side
from streamviz.live.presentation.stepping import Step, stepped
from streamviz.live.presentation.stream_views import view_of_record
from streamviz.live.presentation.tape_rows import Bare
from streamviz.live.presentation.views import StreamView
from streamviz.records.aggregation import lint
from streamviz.records.models import Stream
from streamviz.records.queries import streams
from streamviz.records.runs import chunks_in
from streamviz.records.tapes import client_runs, kept, upstream_runs

log = logging.getLogger(__name__)

# Limits of one stream: preparing a longer one, or one with more frames, would take too much time and memory.
MOST_CHUNKS = 300_000
MOST_BYTES = 100_000_000
# Longer streams take a while, which their page says meanwhile, and are prepared in a separate process, one at a time.
_MOST_AT_ONCE = 3_000
_ELSEWHERE = UUID(int=0)
_UPSTREAM_ROW = ("first_seq", "first_at", "offsets", "lengths", "payload")
_CLIENT_ROW = ("first_frame", "first_at", "offsets", "first_seq", "origin", "lengths", "payload")
# The limit of all that are kept, in chunks and frames.
_MOST_KEPT = 600_000


@dataclass(slots=True)
class Playback:
    """A finished stream with both of its tapes. `compared` is made when it is first asked for."""

    view: StreamView
    tapes: Tapes
    bare: Bare
    compared: Compared | None = None

    @property
    def size(self) -> int:
        """In chunks and frames."""
        return len(self.tapes.upstream) + len(self.tapes.frames)


class Asked(NamedTuple):
    """The moment that a URL asks for: when the chunk `seq` had arrived, or so many `ms` had passed, or the end if it
    has neither; and which `step` from there."""

    seq: int | None
    ms: int | None
    side: Side
    step: Step | None

    @classmethod
    def of(cls, request: HttpRequest) -> "Asked":
        """Anything that is not a number, a side or a step is ignored."""
        asked = request.GET
        seq, ms = number_in(asked, "at"), number_in(asked, "time")
        side = Side.CLIENT if asked.get("tape") == Side.CLIENT else Side.UPSTREAM
        step = next((step for step in Step if step == asked.get("step")), None)
        return cls(seq, ms, side, step)

    @property
    def is_moment(self) -> bool:
        """Whether it is anything but the end, as upstream sent it."""
        return self.seq is not None or self.ms is not None or self.side is Side.CLIENT

    @property
    def query(self) -> str:
        """The part of a URL that asks for this moment; empty for the end."""
        return "" if self.seq is None else f"?at={self.seq}&tape={self.side}"

    def stepped(self, played: Playback | None) -> "Asked":
        """The moment that the step leads to; the end if nothing can be played."""
        if played is None or self.step is None:
            return Asked(None, None, self.side, None)
        to = stepped(played.view, played.tapes, self.seq_in(played), self.step)
        return Asked(len(played.tapes.upstream) if to is None else to, None, self.side, None)

    def seq_in(self, played: Playback) -> int:
        """The last chunk that had arrived by then; one past the last for the end."""
        upstream = played.tapes.upstream
        if self.seq is not None:
            return min(self.seq, len(upstream))
        at = None if self.ms is None else played.view.requested_at + self.ms * 1000
        if at is None or (played.view.ended_at is not None and at + 1000 > played.view.ended_at):
            return len(upstream)
        return upstream.last_by(at) or 0


def is_played(view: StreamView) -> bool:
    """Whether a stream can be played: it is over, its chunks are in the record, and its format is known here."""
    return not view.is_running and 0 < len(view.received_at) <= MOST_CHUNKS and view.wire_format in AGGREGATORS


_kept: OrderedDict[UUID, Playback] = OrderedDict()
# So that nothing is prepared twice at once.
_locks: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()


async def playback_of(stream_id: UUID) -> Playback | None:
    """Prepare a stream; None if it is not in the record, or not all of it, or has no chunks there, or too many, or is
    in a format that is not known here: of a newer release."""
    found = Stream.objects.filter(pk=stream_id, wire_format__in=AGGREGATORS).exclude(outcome="")
    stream = await found.only("chunk_count", "frame_count").afirst()
    if stream is None or not 0 < stream.chunk_count <= _length(stream) <= MOST_CHUNKS:
        _kept.pop(stream_id, None)
        return None
    async with _lock(stream_id):
        if stream_id not in _kept:
            made = await _made(stream_id)
            if made is None:
                return None
            _kept[stream_id] = made
            _drop_oldest()
        _kept.move_to_end(stream_id)
        return _kept[stream_id]


def takes_long(view: StreamView) -> bool:
    """Whether a stream is so long, and was not viewed lately, that preparing it takes a second or more."""
    is_long = _MOST_AT_ONCE < _length(view) <= MOST_CHUNKS
    return is_long and not view.is_running and view.id not in _kept


def _length(stream: Stream | StreamView) -> int:
    """The length of the longer tape, with all that is missing from it, which is prepared as well."""
    return max(stream.chunk_count, stream.frame_count)


async def compared(played: Playback) -> Compared:
    """A stream's tapes side by side."""
    async with _lock(played.view.id):
        if played.compared is None:
            rows = await asyncio.to_thread(align, played.tapes)
            played.compared = Compared(rows, await sync_to_async(_notes)(played.view))
        return played.compared


def _notes(view: StreamView) -> list[Note]:
    chunks = [chunk for row in _upstream(view.id) for chunk in chunks_in(*row)]
    return lint(view.wire_format, chunks, view.outcome == Outcome.COMPLETED)


def _lock(what: UUID) -> asyncio.Lock:
    return _locks.setdefault(what, asyncio.Lock())


def _drop_oldest() -> None:
    """Drop the streams that were last asked for the longest time ago."""
    while len(_kept) > 1 and sum(each.size for each in _kept.values()) > _MOST_KEPT:
        _kept.popitem(last=False)


def _read(stream_id: UUID) -> tuple[StreamView, Recorded] | None:
    """Read a stream from the record; None if that is too much."""
    if kept(stream_id).payload_bytes > MOST_BYTES:
        return None
    record = streams.load(stream_id)
    view = view_of_record(record)
    client = map(attrgetter(*_CLIENT_ROW), client_runs(stream_id))
    is_whole = view.outcome == Outcome.COMPLETED
    recorded = Recorded(
        view.wire_format, record.hides_usage, is_whole, _upstream(stream_id), list(client), list(_holds(view))
    )
    return view, recorded


def _upstream(stream_id: UUID) -> list[tuple[Any, ...]]:
    return list(map(attrgetter(*_UPSTREAM_ROW), upstream_runs(stream_id)))


async def _made(stream_id: UUID) -> Playback | None:
    read = await sync_to_async(_read)(stream_id)
    if read is None or not read[1].upstream:
        return None
    view, recorded = read
    try:
        made = await _prepared(recorded, _length(view))
    except Failed as failure:
        log.warning("stream %s cannot be played: %s", stream_id, failure)
        return None
    told = await asyncio.to_thread(_with_client, view, made.tapes)
    return Playback(told, made.tapes, made.bare, made.compared)


def _with_client(view: StreamView, tapes: Tapes) -> StreamView:
    """Add why the answer ended as its client had it, and what the client got in place of blocks."""
    client = tapes.client.moment(None)
    got = [(block.kind, block.name, block.text) for block in client.blocks]
    instead = instead_of(view, got) if len(view.blocks) <= MOST_BLOCKS else {}
    blocks = [structs.replace(block, instead=instead.get(block.ordinal, "")) for block in view.blocks]
    return structs.replace(view, blocks=blocks, client_finish=client.finish_reason or "")


async def _prepared(recorded: Recorded, length: int) -> Prepared:
    if length <= _MOST_AT_ONCE:
        return await prepared(recorded, Pace().rest)
    async with _lock(_ELSEWHERE):
        return await prepared_elsewhere(recorded)


def _holds(view: StreamView) -> Iterable[Held]:
    end = view.ended_at or view.requested_at
    for block in view.blocks:
        if block.held_at is not None:
            yield Held(block.ordinal, block.first_seq, block.held_at, block.hold_ended_at or end, block.held_by)
