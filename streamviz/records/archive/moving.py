"""The writer's upkeep of the archive: move the runs of older streams there, and remove deleted ones from it."""

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from itertools import takewhile
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID, uuid4

import psycopg

from streamviz.records import metrics
from streamviz.records.archive import statements as sql
from streamviz.records.archive.bucket import Bucket, ChunksAway, ObjectAway, ObjectLost
from streamviz.records.archive.packing import packed, unpacked
from streamviz.records.archive.parts import IndexRow, Runs, parts
from streamviz.records.archive.rows import ClientRow, UpstreamRow
from streamviz.records.ids import milliseconds_of
from streamviz.records.moments import midnight
from streamviz.records.partitions import day_of

log = logging.getLogger(__name__)

# An object is written, read back and, if streams in it are deleted, rewritten, always as a whole.
OBJECT_BYTES = 16 * 2**20
# How many streams are considered at once, and so at most are in one object.
MOST_STREAMS = 20_000
ROWS_AT_ONCE = 200
LOCK_SECONDS = 2
_LOCK = 0x4152_4348_4956
_FIRST = UUID(int=0)
_Row = TypeVar("_Row", UpstreamRow, ClientRow)
IsOver = Callable[[], bool]


class _Piece(NamedTuple):
    """A part of a stream: its place in its object, its size there, its unpacked length, and how many rows it is made
    of."""

    stream_id: UUID
    number: int
    start: int
    size: int
    length: int
    rows: int
    index_row: IndexRow


class Moved(NamedTuple):
    """What was moved into the archive: streams, objects, and the bytes of these."""

    streams: int = 0
    objects: int = 0
    size: int = 0


class Archiving:
    """A round of the archive's upkeep, on one connection that is not in a transaction.

    Its methods raise psycopg.Error, and ChunksAway while the storage does not respond; what was done before that stays
    done.
    """

    def __init__(self, connection: psycopg.Connection, bucket: Bucket, is_over: IsOver = lambda: False) -> None:
        self._connection = connection
        self._bucket = bucket
        self._is_over = is_over

    def round(self, before: date) -> Moved:
        """Move the runs of all ended streams from the days before this one, and remove what was deleted. Does nothing
        while another writer is doing so."""
        [(is_ours,)] = self._connection.execute("SELECT pg_try_advisory_lock(%s)", [_LOCK])
        if not is_ours:
            return Moved()
        try:
            troubles = self.take_out()
            moved = self._move(before)
        finally:
            self._connection.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])
        if moved.streams:
            log.info("archived the chunks of %d streams: %d objects, %d bytes", *moved)
        if troubles:
            whys = "; ".join(dict.fromkeys(troubles))
            raise ChunksAway(f"what was deleted cannot be taken out of {len(troubles)} objects of the archive: {whys}")
        return moved

    def _move(self, before: date) -> Moved:
        behind, after, moved = midnight(before), _FIRST, Moved()
        while not self._is_over():
            found = self._connection.execute(sql.NEXT, {"after": after, "behind": behind, "most": MOST_STREAMS})
            streams = found.fetchall()
            if not streams:
                break
            # Retention drops whole days, so no two days share an object.
            day = day_of(streams[0][0])
            of_day = list(takewhile(lambda each: day_of(each[0]) == day, streams))  # noqa: B023
            after, stored, size = self._store(day, of_day)
            moved = Moved(moved.streams + stored, moved.objects + bool(stored), moved.size + size)
        self._give_back(before)
        return moved

    def _store(self, day: date | None, streams: Sequence[tuple[UUID, bool]]) -> tuple[UUID, int, int]:
        """Store one object with as many of these streams as fit, except running ones. Gives the last stream considered,
        how many were stored, and how many bytes."""
        ended = [stream_id for stream_id, is_over in streams if is_over]
        data, pieces = bytearray(), list[_Piece]()
        with self._connection.transaction(), closing(self._parts(ended)) as found:
            for stream_id, number, runs in found:
                if len(data) >= OBJECT_BYTES and not number:
                    break
                part, rows = packed(runs), len(runs.upstream) + len(runs.client)
                pieces.append(_Piece(stream_id, number, len(data), len(part.data), part.length, rows, runs.index_row()))
                data += part.data
        if not pieces:
            return streams[-1][0], 0, 0
        stored = list(dict.fromkeys(piece.stream_id for piece in pieces))
        object_id = self._put(f"{day or 'undated'}/{uuid4()}", bytes(data))
        with self._connection.transaction():
            self._enter(object_id, pieces, stored)
        last = streams[-1][0] if len(stored) == len(ended) else stored[-1]
        return last, len(stored), len(data)

    def _parts(self, ids: list[UUID]) -> Generator[tuple[UUID, int, Runs]]:
        """The parts of these streams, in the order of their ids. To be called in a transaction."""
        with (
            self._connection.cursor("upstream") as upstream,
            self._connection.cursor("client") as client,
        ):
            for cursor, statement in ((upstream, sql.UPSTREAM), (client, sql.CLIENT)):
                cursor.itersize = ROWS_AT_ONCE
                cursor.execute(statement, [ids])
            received = _ByStream(UpstreamRow, upstream)
            handed_on = _ByStream(ClientRow, client)
            for stream_id in ids:
                for number, runs in enumerate(parts(received.of(stream_id), handed_on.of(stream_id))):
                    yield stream_id, number, runs

    def _put(self, key: str, data: bytes) -> UUID:
        """Upload an object that is registered first, so that one whose parts are never entered is deleted later."""
        object_id = uuid4()
        self._connection.execute(sql.INSERT_OBJECT, [object_id, key])
        try:
            self._bucket.put(key, data)
        finally:
            self._connection.execute(sql.ARRIVED, [len(data), object_id])
        metrics.archived(len(data))
        return object_id

    def _enter(self, object_id: UUID, pieces: Sequence[_Piece], ids: list[UUID]) -> None:
        """Replace the rows of those streams that were not deleted meanwhile with index entries of their parts. The
        streams cannot be deleted until this is done."""
        alive = {row[0] for row in self._connection.execute(sql.STAY, [ids])}
        with self._connection.cursor() as cursor:
            entered = [piece for piece in pieces if piece.stream_id in alive]
            cursor.executemany(sql.INSERT_PART, [_values(object_id, piece) for piece in entered])
            gone = [cursor.execute(each, [list(alive)]).rowcount for each in (sql.DELETE_UPSTREAM, sql.DELETE_CLIENT)]
            if sum(gone) != sum(piece.rows for piece in entered):
                raise psycopg.OperationalError("chunks were stored while they were archived")
            if len(alive) == len(ids):
                cursor.execute(sql.NOT_STALE, [object_id])

    def _give_back(self, before: date) -> None:
        """Free the disk space of days whose runs are all archived. Their partitions stay until retention drops them."""
        for name in [row[0] for row in self._connection.execute(sql.LARGE_DAYS)]:
            day = datetime.strptime(name[-8:], "%Y%m%d").date()  # noqa: DTZ007
            if day < before and not self._is_over():
                self._empty(name)

    def _empty(self, name: str) -> None:
        try:
            with self._connection.transaction():
                self._connection.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
                self._connection.execute(sql.named(sql.LOCK_DAY, name))
                [(is_empty,)] = self._connection.execute(sql.named(sql.IS_EMPTY, name))
                if is_empty:
                    self._connection.execute(sql.named(sql.TRUNCATE, name))
        except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
            log.debug("%s is in use; its room is given back later", name)

    def behind(self, before: date) -> float:
        """For how many seconds the oldest runs of ended streams that are still here have been due; 0 if none are."""
        since = midnight(before)
        found = self._connection.execute(sql.NEXT, {"after": _FIRST, "behind": since, "most": MOST_STREAMS})
        first = next((stream_id for stream_id, is_over in found if is_over and day_of(stream_id)), None)
        return 0.0 if first is None else since.timestamp() - milliseconds_of(first) / 1000

    def take_out(self) -> list[str]:
        """Rewrite the objects that hold bytes of deleted streams without those, and delete objects of which nothing is
        left. Gives the reasons for those where that failed: they are lost or damaged, and stay as they are, or the
        storage refuses to read or delete them."""
        troubles = []
        for object_id, key, size in self._connection.execute(sql.STALE).fetchall():
            if self._is_over():
                break
            try:
                self._take_out(object_id, key, size)
            except ObjectAway as error:
                troubles.append(str(error))
        return troubles

    def _take_out(self, object_id: UUID, key: str, size: int) -> None:
        left = self._connection.execute(sql.PARTS, [object_id]).fetchall()
        if left:
            self._write_anew(key, self._bucket.get(key, 0, size), left)
        self._bucket.delete(key)
        self._connection.execute(sql.DELETE_OBJECT, [object_id])

    def _write_anew(self, key: str, old: bytes, left: Sequence[tuple[UUID, int, int, int, int]]) -> None:
        data, moves = bytearray(), []
        for stream_id, number, start, size, length in left:
            moves.append((len(data), stream_id, number))
            data += _whole(old[start : start + size], length)
        fresh = self._put(f"{key.rpartition('/')[0]}/{uuid4()}", bytes(data))
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.executemany(sql.MOVE_PART, [(fresh, *move) for move in moves])
            # It still has what was deleted while it was being written.
            [(kept,)] = cursor.execute(sql.COUNT_PARTS, [fresh])
            if kept == len(moves):
                cursor.execute(sql.NOT_STALE, [fresh])


class _ByStream(Generic[_Row]):
    """Rows in the order of their streams (the first column), given a stream at a time."""

    def __init__(self, kind: Callable[..., _Row], rows: Iterable[tuple[Any, ...]]) -> None:
        self._made: Callable[..., _Row] = kind
        self._rows = iter(rows)
        self._next = next(self._rows, None)

    def of(self, stream_id: UUID) -> Iterator[_Row]:
        """The rows of a stream, which must come after the one requested last."""
        while self._next is not None and self._next[0] == stream_id:
            row, self._next = self._next, next(self._rows, None)
            yield self._made(*row[1:])


def first_kept(today: datetime, after_days: int) -> date:
    """The first day whose runs stay in Postgres."""
    return (today.astimezone(UTC) - timedelta(days=after_days)).date()


def _values(object_id: UUID, piece: _Piece) -> tuple[object, ...]:
    return (piece.stream_id, piece.number, object_id, piece.start, piece.size, piece.length, *piece.index_row)


def _whole(piece: bytes, length: int) -> bytes:
    """The same piece, checked, as its object is deleted once it is copied. Raises ObjectLost if it cannot be read."""
    try:
        unpacked(piece, length)
    except ValueError as error:
        raise ObjectLost(f"an object of the archive is damaged ({error})") from None
    return piece
