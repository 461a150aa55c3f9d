"""Read runs from the archive: the index says where they are, and recently read ones are cached in memory.

All of this blocks, and raises ChunksAway while the storage does not respond.
"""

import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar
from uuid import UUID

from channels.db import database_sync_to_async
from django.db.models import QuerySet

from streamviz.records.archive.bucket import ObjectGone, ObjectLost, bucket
from streamviz.records.archive.packing import unpacked
from streamviz.records.archive.parts import Runs
from streamviz.records.models import ArchivedPart, ClientRun, UpstreamRun

# An open page asks for the same parts again and again.
MOST_KEPT_BYTES = 32 * 2**20
_Place = tuple[UUID, int]
P = ParamSpec("P")
T = TypeVar("T")
# The event loop's own threads, of which there are a few, are for what clients of models wait for.
_THREADS = ThreadPoolExecutor(8, thread_name_prefix="archive")


class Kept:
    """A cache of the most recently used parts, by object and place in it, limited by their total size in bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._lock = threading.Lock()
        self._parts: OrderedDict[_Place, tuple[Runs, int]] = OrderedDict()
        self._size = 0

    def get(self, place: _Place) -> Runs | None:
        """The cached part at this place, if any."""
        with self._lock:
            if place not in self._parts:
                return None
            self._parts.move_to_end(place)
            return self._parts[place][0]

    def put(self, place: _Place, runs: Runs) -> None:
        """Cache a part, evicting the least recently used; one larger than the whole cache is not kept."""
        size = runs.size
        if size > self._most:
            return
        with self._lock:
            if place in self._parts:
                return
            self._parts[place] = (runs, size)
            self._size += size
            while self._size > self._most:
                _, (_, gone) = self._parts.popitem(last=False)
                self._size -= gone


_kept = Kept(MOST_KEPT_BYTES)


def in_thread(read: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """Turn a function that may read the archive into one for the event loop. While the storage is slow, only others
    like it wait."""
    return database_sync_to_async(read, thread_sensitive=False, executor=_THREADS)


def upstream_runs(stream_id: UUID, first: int = 0, end: int | None = None) -> Iterator[UpstreamRun]:
    """The runs with any chunks from `first` to `end` (exclusive), in order; none for a stream that is not archived."""
    wanted = _of(stream_id).filter(end_seq__gt=first)
    for part in list(wanted if end is None else wanted.filter(first_seq__lt=end)):
        for row in runs_of(part).upstream:
            if row.first_seq + len(row.offsets) > first and (end is None or row.first_seq < end):
                yield UpstreamRun(stream_id=stream_id, **row._asdict())


def client_runs(stream_id: UUID, first: int = 0, end: int | None = None) -> Iterator[ClientRun]:
    """The runs with any frames from `first` to `end` (exclusive), in order; none for a stream that is not archived."""
    wanted = _of(stream_id).filter(end_frame__gt=first)
    for part in list(wanted if end is None else wanted.filter(first_frame__lt=end)):
        for row in runs_of(part).client:
            if row.first_frame + len(row.offsets) > first and (end is None or row.first_frame < end):
                yield ClientRun(stream_id=stream_id, **row._asdict())


def archived(ids: Iterable[UUID]) -> set[UUID]:
    """The streams among these whose runs are in the archive."""
    return set(ArchivedPart.objects.filter(stream_id__in=ids, number=0).values_list("stream_id", flat=True))


def require_readable(stream_id: UUID, *, all_of_it: bool = False) -> None:
    """Read the beginning of a stream, or all of it, if it is archived, so that whoever starts to send it knows that it
    can be read. Raises ChunksAway."""
    for part in list(_of(stream_id) if all_of_it else _of(stream_id)[:1]):
        runs_of(part)


def runs_of(part: ArchivedPart) -> Runs:
    """A part's runs, from the cache or from the storage."""
    place = (part.object_id, part.start)
    if (kept := _kept.get(place)) is not None:
        return kept
    try:
        data = bucket().get(part.object.key, part.start, part.size)
    except ObjectGone:
        return _moved(part)
    try:
        runs = unpacked(data, part.length)
    except ValueError as error:
        raise ObjectLost(f"an object of the archive is damaged ({error})") from None
    _kept.put(place, runs)
    return runs


def _moved(part: ArchivedPart) -> Runs:
    """The runs of a part whose object was rewritten since the index was read."""
    again = _of(part.stream_id).filter(number=part.number).first()
    if again is None or again.object_id == part.object_id:
        raise ObjectGone("the object storage has lost an object of the archive")
    return runs_of(again)


def _of(stream_id: UUID) -> QuerySet[ArchivedPart]:
    return ArchivedPart.objects.filter(stream_id=stream_id).select_related("object").order_by("number")
