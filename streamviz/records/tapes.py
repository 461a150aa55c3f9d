"""The two tapes of a stream, wherever they are: their runs, in Postgres or in the archive, and their bytes.

Anything that reads the archive raises ChunksAway while the archive cannot be read.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar
from uuid import UUID

from django.db.models import Count, F, Func, IntegerField, Q, QuerySet, Sum
from django.db.models.functions import Coalesce, Length

from streamviz.records.archive import reading
from streamviz.records.models import ArchivedPart, ClientRun, Stream, UpstreamRun
from streamviz.records.runs import RUN

RUNS_AT_ONCE = 20
_Run = TypeVar("_Run", UpstreamRun, ClientRun)


def upstream_runs(stream_id: UUID, first: int = 0, end: int | None = None) -> Iterator[UpstreamRun]:
    """The runs with any chunks from `first` to `end` (exclusive), in order."""
    rows = UpstreamRun.objects.filter(stream=stream_id, **_bounds("first_seq", first, end))
    yield from _in_order(rows, "first_seq", first, lambda behind: reading.upstream_runs(stream_id, behind, end))


def client_runs(stream_id: UUID, first: int = 0, end: int | None = None) -> Iterator[ClientRun]:
    """The runs with any frames from `first` to `end` (exclusive), in order."""
    rows = ClientRun.objects.filter(stream=stream_id, **_bounds("first_frame", first, end))
    yield from _in_order(rows, "first_frame", first, lambda behind: reading.client_runs(stream_id, behind, end))


def upstream_tape(stream: Stream) -> Iterator[UpstreamRun]:
    """All runs of a stream's upstream tape, which may have been loaded with it."""
    yield from stream.upstream_runs.all() if stream.is_read else upstream_runs(stream.pk)


def client_tape(stream: Stream) -> Iterator[ClientRun]:
    """All runs of a stream's client tape, which may have been loaded with it."""
    yield from stream.client_runs.all() if stream.is_read else client_runs(stream.pk)


def passed_runs(stream_id: UUID, first: int, end: int) -> Iterator[ClientRun]:
    """The runs of frames that are upstream's chunks from `first` to `end` (exclusive), possibly with others."""
    rows = ClientRun.objects.filter(stream=stream_id, **_bounds("first_seq", first, end)).order_by("first_frame")
    found = list(rows)
    yield from found or (run for run in reading.client_runs(stream_id) if run.first_seq is not None)


def upstream_runs_of(ids: Iterable[UUID]) -> Iterator[UpstreamRun]:
    """The upstream runs of several streams: stream by stream, each in order."""
    rows = UpstreamRun.objects.filter(stream__in=list(ids)).order_by("stream_id", "first_seq")
    return _of_several(rows, set(ids), reading.upstream_runs)


def client_runs_of(ids: Iterable[UUID]) -> Iterator[ClientRun]:
    """The client runs of several streams: stream by stream, each in order."""
    rows = ClientRun.objects.filter(stream__in=list(ids)).order_by("stream_id", "first_frame")
    return _of_several(rows, set(ids), reading.client_runs)


def _of_several(rows: QuerySet[_Run], missing: set[UUID], archived: Callable[[UUID], Iterator[_Run]]) -> Iterator[_Run]:
    for run in rows.iterator(RUNS_AT_ONCE):
        missing.discard(run.stream_id)
        yield run
    for stream_id in sorted(reading.archived(missing)) if missing else ():
        yield from archived(stream_id)


def _bounds(number: str, first: int, end: int | None) -> dict[str, int]:
    """Filters for a range; a run that begins before `first` may extend past it."""
    until = {} if end is None else {f"{number}__lt": end}
    return {f"{number}__gt": first - RUN, **until}


def _in_order(
    rows: QuerySet[_Run], number: str, first: int, archived: Callable[[int], Iterator[_Run]]
) -> Iterator[_Run]:
    """Runs in order, a few per query; what Postgres does not have, or no longer has, comes from the archive. No cursor
    stays open, because between two rows somebody else may use the connection."""
    behind = first
    while some := list(rows.order_by(number)[:RUNS_AT_ONCE]):
        ends = [getattr(run, number) + len(run.offsets) for run in some]
        yield from (run for run, end in zip(some, ends, strict=True) if end > first)
        if len(some) < RUNS_AT_ONCE:
            return
        behind = ends[-1]
        rows = rows.filter(**{f"{number}__gte": behind})
    yield from archived(behind)


class Kept(NamedTuple):
    """How many of a stream's chunks are kept, how many bytes they have, and whether all chunks are kept with their
    bytes."""

    chunks: int
    payload_bytes: int
    is_whole: bool


def kept(stream_id: UUID) -> Kept:
    """Computed without reading the chunks."""
    lengths = Func(F("lengths"), function="cardinality", output_field=IntegerField())
    found = UpstreamRun.objects.filter(stream=stream_id).aggregate(
        chunks=Coalesce(Sum(lengths), 0),
        size=Coalesce(Sum(Length("payload")), 0),
        lost=Count("first_seq", filter=Q(payload=None)),
    )
    if not found["chunks"]:
        parts = ArchivedPart.objects.filter(stream_id=stream_id)
        found = parts.aggregate(
            chunks=Coalesce(Sum("chunks"), 0),
            size=Coalesce(Sum("payload_bytes"), 0),
            lost=Count("number", filter=Q(is_whole=False)),
        )
    return Kept(found["chunks"], int(found["size"]), not found["lost"])


def upstream_bytes(of: UUID | Stream) -> Iterator[bytes]:
    """Each chunk as upstream sent it, or an SSE comment if only its size was kept."""
    for run in upstream_tape(of) if isinstance(of, Stream) else upstream_runs(of):
        for chunk in run.chunks():
            yield b": %d bytes not kept\n\n" % chunk.length if chunk.raw is None else chunk.raw


def client_bytes(of: UUID | Stream) -> Iterator[bytes]:
    """Each frame as it was sent to the client."""
    chunks = enumerate(upstream_bytes(of))
    seq, raw = -1, b""
    for run in client_tape(of) if isinstance(of, Stream) else client_runs(of):
        for frame in run.frames():
            if frame.seq is None:
                yield frame.made
                continue
            while seq < frame.seq:  # frames are in upstream's order
                seq, raw = next(chunks, (frame.seq, b""))
            yield raw
