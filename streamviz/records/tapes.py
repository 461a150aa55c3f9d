"""The two tapes of a stream, as bytes."""

from collections.abc import Iterator

from streamviz.records.models import ClientRun, Stream, UpstreamRun


def upstream_bytes(stream: Stream) -> Iterator[bytes]:
    """Each chunk as upstream sent it; a comment, as SSE has them, where only its size was kept."""
    for run in UpstreamRun.objects.filter(stream=stream).order_by("first_seq").iterator(chunk_size=20):
        for chunk in run.chunks():
            yield b": %d bytes not kept\n\n" % chunk.length if chunk.raw is None else chunk.raw


def client_bytes(stream: Stream) -> Iterator[bytes]:
    """Each frame as the client was sent it."""
    chunks = enumerate(upstream_bytes(stream))
    seq, raw = -1, b""
    for run in ClientRun.objects.filter(stream=stream).order_by("first_frame").iterator(chunk_size=20):
        for frame in run.frames():
            if frame.seq is None:
                yield frame.made
                continue
            while seq < frame.seq:  # frames are in upstream's order
                seq, raw = next(chunks, (frame.seq, b""))
            yield raw
