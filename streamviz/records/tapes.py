"""The two tapes of a stream, as they are kept and as bytes."""

from collections.abc import Iterator
from typing import TypeVar

from django.db.models import QuerySet

from streamviz.records.models import ClientRun, Stream, UpstreamRun

_RUNS_AT_ONCE = 20
_Run = TypeVar("_Run", UpstreamRun, ClientRun)


def upstream_runs(stream: Stream) -> Iterator[UpstreamRun]:
    """The runs of what came from upstream, in their order."""
    return _in_order(UpstreamRun.objects.filter(stream=stream), "first_seq")


def client_runs(stream: Stream) -> Iterator[ClientRun]:
    """The runs of what the client was sent, in their order."""
    return _in_order(ClientRun.objects.filter(stream=stream), "first_frame")


def _in_order(rows: QuerySet[_Run], number: str) -> Iterator[_Run]:
    """A few after others. No cursor stays open: between two rows the connection may be somebody else's."""
    last = -1
    while some := list(rows.filter(**{f"{number}__gt": last}).order_by(number)[:_RUNS_AT_ONCE]):
        yield from some
        last = getattr(some[-1], number)


def upstream_bytes(stream: Stream) -> Iterator[bytes]:
    """Each chunk as upstream sent it; a comment, as SSE has them, where only its size was kept."""
    for run in upstream_runs(stream):
        for chunk in run.chunks():
            yield b": %d bytes not kept\n\n" % chunk.length if chunk.raw is None else chunk.raw


def client_bytes(stream: Stream) -> Iterator[bytes]:
    """Each frame as the client was sent it."""
    chunks = enumerate(upstream_bytes(stream))
    seq, raw = -1, b""
    for run in client_runs(stream):
        for frame in run.frames():
            if frame.seq is None:
                yield frame.made
                continue
            while seq < frame.seq:  # frames are in upstream's order
                seq, raw = next(chunks, (frame.seq, b""))
            yield raw
