"""Streams as the bytes that went over the wire; if there are several, a comment names each."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

from streamviz.records.exporting import whole
from streamviz.records.models import Stream
from streamviz.records.tapes import client_bytes, upstream_bytes

Tape = Callable[[Stream], Iterator[bytes]]


def from_upstream(streams: Iterable[Stream], base_url: str) -> Iterator[bytes]:
    """Streams as upstream sent them."""
    return _write(streams, upstream_bytes)


def to_client(streams: Iterable[Stream], base_url: str) -> Iterator[bytes]:
    """Streams as the client got them."""
    return _write(streams, client_bytes)


def _write(streams: Iterable[Stream], tape: Tape) -> Iterator[bytes]:
    rest = iter(streams)
    first = list(islice(rest, 2))
    before, behind = (": stream {}\n\n", b"\n\n") if len(first) > 1 else ("", b"")
    for stream in whole(chain(first, rest)):
        yield before.format(stream.pk).encode()
        yield from tape(stream)
        yield behind
