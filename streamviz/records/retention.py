"""Retention: how long each kind of data is kept, what applying that would free, and freeing it.

Chunks go first, a day's partition at a time; blocks, verdicts and streams later. A stream that a policy intervened in,
that has a star, or whose session has one, is kept with all of its chunks for as long as is set for such streams.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction

from streamviz.records.archive.statements import FORGET_DAY, FORGET_STREAMS
from streamviz.records.deletion import delete_streams
from streamviz.records.dropping import delete_empty_sessions, drop, first_of_streams, partitions_before
from streamviz.records.models import Backtest, RetentionRun
from streamviz.records.moments import midnight
from streamviz.records.partitions import RUNS, STREAMS, Partition
from streamviz.records.request_index import write_again
from streamviz.records.retention_statements import (
    COUNT_EXPIRED_STREAMS,
    COUNT_STREAMS,
    DELETE_EMPTY_SESSIONS,
    EXPIRED_IN_DEFAULT,
    EXPIRED_STREAMS,
    KEPT_OF_DAY,
    KEPT_OF_STREAMS,
    REST,
    SESSIONS_OF,
    SIZE_OF_DAY,
    STREAM_SIZE,
)
from streamviz.records.rules import Retention
from streamviz.records.tally_rows import FORGET as FORGET_TALLIES

BATCH = 1000
LOCK_SECONDS = 5
FORGET_DELETIONS_AFTER = timedelta(days=30)
EVERY = timedelta(days=1)
_LOCK = 0x5245_5441_494E
_HELD_OFF = 0x4845_4C44

Say = Callable[[str], None]


class Freed(NamedTuple):
    """What a rule frees: `number` of `what`, and about how many bytes."""

    rule: str
    what: str
    number: int
    size: int


class Retaining:
    """Retention as of `now`, which has a time zone."""

    def __init__(self, retention: Retention, now: datetime) -> None:
        self._retention = retention
        self._now = now

    def plan(self) -> list[Freed]:
        """What each rule would free; changes nothing."""
        return [*self._plan_chunks(), *self._plan_streams()]

    def apply(self, say: Say, is_over: Callable[[], bool] = lambda: False) -> list[Freed]:
        """Free what is due. `say` gets a line for each step; once `is_over` says so, no further steps are begun."""
        freed = [self._drop_day(day, say) for day in self._expired_days() if not is_over()]
        freed += self._clear_default(say)
        freed += self._drop_streams(say, is_over)
        freed += self._delete_streams(say, is_over)
        self._forget()
        return freed

    def _forget(self) -> None:
        """Forget which streams and sessions were deleted long ago, what limits count no more, and the back-tests and
        runs of retention that are older than the streams that are kept."""
        with connection.cursor() as cursor:
            for deleted in ("records_deletedstream", "records_deletedsession"):
                forget = f"DELETE FROM {deleted} WHERE deleted_at < %s"  # noqa: S608
                cursor.execute(forget, [self._now - FORGET_DELETIONS_AFTER])
            cursor.execute(FORGET_TALLIES, [self._now])
        if kept_from := first_stream_kept(self._retention, self._now):
            Backtest.objects.filter(created_at__lt=kept_from).delete()
            RetentionRun.objects.filter(started_at__lt=kept_from).delete()

    def _values(self, **more: object) -> dict[str, object]:
        return {"now": self._now, "kept_days": self._retention.kept_days, **more}

    def _expired_days(self) -> list[date]:
        if not self._retention.days_of_chunks:
            return []
        return [day for day in days() if day < self._first_kept().date()]

    def _first_kept(self) -> datetime:
        """The midnight before which no day's chunks are kept."""
        first = (self._now - timedelta(days=self._retention.days_of_chunks)).date()
        return midnight(first)

    def _plan_chunks(self) -> Iterator[Freed]:
        for day in self._expired_days():
            yield Freed("chunks", f"day {day}", 1, _size_of_day(day))

    def _plan_streams(self) -> Iterator[Freed]:
        count = sum(self._count(COUNT_STREAMS, each.name) for each in self._expired_partitions() if each.has_streams)
        if self._retention.stream_days:
            count += sum(self._count(COUNT_EXPIRED_STREAMS, table) for table in _rest())
        if count:
            yield Freed("streams", "streams", count, round(count * _stream_size()))

    def _expired_partitions(self) -> list[Partition]:
        """Partitions whose time is over, and any that an interrupted run left although their streams are gone, however
        long those would be kept now."""
        days = [first] if (first := first_of_streams()) else []
        if kept_from := first_stream_kept(self._retention, self._now):
            days.append(kept_from.date())
        return partitions_before(max(days)) if days else []

    def _count(self, statement: str, table: str) -> int:
        [(count,)] = _rows(statement.format(table=table), self._values(days=self._retention.stream_days))
        return int(count)

    def _drop_day(self, day: date, say: Say) -> Freed:
        size, begins = _size_of_day(day), midnight(day)
        with transaction.atomic(), connection.cursor() as cursor:
            # Readers and writers of chunks wait meanwhile, so this must not queue behind a slow query.
            cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
            kept = [row[0] for row in _rows(KEPT_OF_DAY, self._values(day=begins))]
            for table in RUNS:
                child = partition(table, day)
                cursor.execute(f"ALTER TABLE {table} DETACH PARTITION {child}")
                # That day has no partition any more, so these go to the default one.
                cursor.execute(f"INSERT INTO {table} SELECT * FROM {child} WHERE stream_id = ANY(%s)", [kept])  # noqa: S608
                cursor.execute(f"DROP TABLE {child}")
            cursor.execute(FORGET_DAY, {"day": begins, "kept": kept})
        say(f"dropped the chunks of {day}: {megabytes(size)}, streams kept: {len(kept)}")
        return Freed("chunks", f"day {day}", 1, size)

    def _clear_default(self, say: Say) -> list[Freed]:
        if not self._retention.days_of_chunks:
            return []
        values = self._values(days=self._retention.days_of_chunks, first_kept=self._first_kept())
        ids = [row[0] for row in _rows(EXPIRED_IN_DEFAULT, values)]
        if not ids:
            return []
        with transaction.atomic(), connection.cursor() as cursor:
            for table in RUNS:
                cursor.execute(f"DELETE FROM {table}_default WHERE stream_id = ANY(%s)", [ids])  # noqa: S608
            cursor.execute(FORGET_STREAMS, [ids])
        say(f"deleted the chunks of streams that are no longer kept: {len(ids)}")
        return [Freed("chunks", "streams no longer kept", len(ids), 0)]

    def _drop_streams(self, say: Say, is_over: Callable[[], bool]) -> list[Freed]:
        total = size = 0
        kept: dict[tuple[date | None, date], list[UUID]] = {}
        for each in self._expired_partitions():
            if is_over():
                break
            span = each.first, each.behind
            if span not in kept:
                found = _rows(KEPT_OF_STREAMS, self._values(first=each.first, behind=each.behind))
                kept[span] = [row[0] for row in found]
            number = self._count(COUNT_STREAMS, each.name) if each.has_streams else 0
            freed = _size_of([each.name])
            if each.has_streams:
                # Their words are already dropped; once they are too, nothing says whose sessions those were.
                _write_words_again([row[0] for row in _rows(SESSIONS_OF.format(table=each.name))])
            drop(each, kept[span])
            total, size = total + number, size + freed
            say(f"dropped {each.name}: {megabytes(freed)}, streams kept: {len(kept[span])}")
        if kept and (kept_from := first_stream_kept(self._retention, self._now)):
            delete_empty_sessions(kept_from)
        return [Freed("streams", "streams", total, size)] if kept else []

    def _delete_streams(self, say: Say, is_over: Callable[[], bool]) -> list[Freed]:
        size, total = _stream_size(), 0
        for table in _rest() if self._retention.stream_days else ():
            while not is_over() and (number := self._delete_some(table)):
                total += number
                say(f"streams deleted: {total}")
        return [Freed("streams", "streams", total, round(total * size))] if total else []

    def _delete_some(self, table: str) -> int:
        values: dict[str, Any] = self._values(days=self._retention.stream_days, most=BATCH)
        found = _rows(EXPIRED_STREAMS.format(table=table), values)
        with transaction.atomic(), connection.cursor() as cursor:
            delete_streams([row[0] for row in found])
            sessions = list({row[1] for row in found})
            cursor.execute(DELETE_EMPTY_SESSIONS, values | {"ids": sessions})
            write_again(cursor, sessions)
        return len(found)


def _write_words_again(sessions: Sequence[UUID]) -> None:
    """Rewrite the words of sessions that lose streams; a batch at a time, because they cannot be deleted meanwhile."""
    for at in range(0, len(sessions), BATCH):
        with transaction.atomic(), connection.cursor() as cursor:
            write_again(cursor, sessions[at : at + BATCH])


def first_stream_kept(retention: Retention, now: datetime) -> datetime | None:
    """The start of the first day whose streams are kept; None if all are."""
    if not retention.stream_days:
        return None
    day = (now - timedelta(days=retention.stream_days)).astimezone(UTC).date()
    return midnight(day)


def days() -> list[date]:
    """The days that have a partition, oldest first."""
    statement = "SELECT relname FROM pg_class WHERE relname ~ '^records_upstreamrun_[0-9]{8}$' ORDER BY relname"
    return [datetime.strptime(name[-8:], "%Y%m%d").date() for (name,) in _rows(statement)]  # noqa: DTZ007


def partition(table: str, day: date) -> str:
    """The name of a day's partition."""
    return f"{table}_{day:%Y%m%d}"


def megabytes(size: int) -> str:
    """A number of bytes, for people."""
    return f"{size / 2**20:,.1f} MiB"


def _size_of_day(day: date) -> int:
    """The size of a day's chunks, in Postgres and in the archive."""
    names = [partition(table, day) for table in RUNS]
    [(size,)] = _rows(SIZE_OF_DAY, {"names": names, "day": midnight(day)})
    return int(size)


def _rest() -> list[str]:
    """The partitions of streams that are not dropped as a whole, or not yet."""
    return [name for (name,) in _rows(REST)]


def _stream_size() -> float:
    """About how many bytes a stream takes."""
    return float(_rows(STREAM_SIZE, {"tables": list(STREAMS)})[0][0])


def _size_of(names: list[str]) -> int:
    [(size,)] = _rows(
        "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class WHERE relname = ANY(%s)", [names]
    )
    return int(size)


def _rows(statement: str, values: Any = None) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall()


def run_retention(retention: Retention, now: datetime, say: Say, is_over: Callable[[], bool] = lambda: False) -> bool:
    """Apply retention and record the run in RetentionRun; False if somebody else is applying it.

    Raises DatabaseError if somebody uses the oldest chunks for long. Such a run has no end, nor has one that is told to
    stop, so the rest is due at once.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [_LOCK])
        if cursor.fetchone() != (True,):
            return False
        try:
            cursor.execute("SELECT pg_advisory_lock(%s)", [_HELD_OFF])
            run = RetentionRun.objects.create(started_at=now)
            run.freed = [each._asdict() for each in Retaining(retention, now).apply(say, is_over)]
            run.ended_at = None if is_over() else datetime.now(UTC)
            run.save()
        finally:
            cursor.execute("SELECT pg_advisory_unlock(id) FROM unnest(%s) AS id", [[_HELD_OFF, _LOCK]])
    return True


@contextmanager
def held_off() -> Iterator[None]:
    """Keep retention from running meanwhile, after waiting for a run in progress. A run determines only once which
    streams it keeps, and what is stored in old days after that would be dropped with them."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock_shared(%s)", [_HELD_OFF])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock_shared(%s)", [_HELD_OFF])


def is_due(now: datetime) -> bool:
    """Whether a day has passed since the last complete run; one in the future, by a fast clock, does not count."""
    ended = RetentionRun.objects.filter(ended_at__isnull=False).order_by("-pk")
    last = ended.values_list("started_at", flat=True).first()
    return last is None or not timedelta() <= now - last < EVERY
