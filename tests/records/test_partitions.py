"""How many partitions a query looks at, however many there are."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from uuid import UUID

import psycopg
import pytest
from django.conf import LazySettings
from django.db import connection, transaction

from streamviz.dashboard import queries
from streamviz.records import ids
from streamviz.records.database import conninfo
from streamviz.records.exporting import export
from streamviz.records.links import Kind, numbered
from streamviz.records.migrations import _indexes
from streamviz.records.models import Session
from streamviz.records.moments import as_microseconds
from streamviz.records.partitions import make_days
from streamviz.records.recorder import AnyEntry
from streamviz.records.writer.pending import Batch
from streamviz.records.writer.store import Store
from tests.records.conftest import Query
from tests.records.history import NOW, day, id_at, store, story
from tests.records.support import closed, opened, write

pytestmark = pytest.mark.slow

MARKS = numbered(Kind.ANSWER, b"said"), numbered(Kind.REQUEST, b"asked")
# The planner locks the partitions that it cannot exclude.
LOOKED_INTO = """
SELECT DISTINCT right(relname, 8) FROM pg_locks JOIN pg_class ON pg_class.oid = relation
WHERE pid = pg_backend_pid() AND relname ~ '^records_[a-z]+_[0-9]{8}$' AND relkind = 'r'
"""
DAYS_AGO = range(0, 200, 10)


@pytest.fixture
def half_a_year(query: Query, settings: LazySettings) -> None:
    """Days over half a year, each with its own partition."""
    settings.RETENTION = replace(settings.RETENTION, stream_days=60)
    with psycopg.connect(conninfo(), autocommit=True) as connected:
        make_days(connected, [day(ago).date() for ago in DAYS_AGO])


def as_days(rows: list[tuple[str]]) -> set[date]:
    return {datetime.strptime(name, "%Y%m%d").replace(tzinfo=UTC).date() for (name,) in rows}


def batch(stream_id: UUID, entries: Sequence[AnyEntry]) -> Batch:
    found = Batch(stream_id, UUID(int=1))
    for entry in entries:
        found.add(entry)
    return found


def test_the_writer_looks_back_a_month(half_a_year: None, query: Query) -> None:
    failed, called = store(
        story(day(1), session="one", marks=MARKS, outcome="upstream_error"), story(day(1), session="two", number=1)
    )
    following = story(NOW, session="another", number=2, parent=failed, relation="retry", marks=MARKS)
    asking = story(NOW, session="a third", number=3, asked=MARKS[:1])
    subagent = story(NOW, session="two", number=4, relation="subagent")
    writer = Store(conninfo)
    with writer.connection.transaction():
        writer.write([batch(*each) for each in (following, asking, subagent)])
        days = as_days(writer.connection.execute(LOOKED_INTO).fetchall())
    writer.close()
    parents: dict[UUID, UUID] = dict(query("SELECT id, parent FROM records_stream WHERE parent IS NOT NULL"))
    assert parents == {following[0]: failed, asking[0]: following[0], subagent[0]: called}
    assert query("SELECT DISTINCT session_id FROM records_stream WHERE id = ANY(%s)", [failed, asking[0]])
    assert min(days) >= (NOW - timedelta(days=32)).date()
    assert NOW.date() in days


PAGES: dict[str, Callable[[Session], object]] = {
    "totals": lambda session: queries.with_totals([session]),
    "streams": lambda session: queries.streams_of(session, None),
    "export": lambda session: list(export([session.pk])),
}


@pytest.mark.parametrize("ask", PAGES.values(), ids=PAGES)
def test_a_page_of_a_session_looks_into_the_days_of_its_streams(
    half_a_year: None, ask: Callable[[Session], object]
) -> None:
    store(story(day(50), session="one"), story(day(40), session="one"))
    session = Session.objects.get()
    with transaction.atomic(), connection.cursor() as cursor:
        ask(session)
        cursor.execute(LOOKED_INTO)
        assert as_days(cursor.fetchall()) == {day(50).date(), day(40).date()}


def test_a_session_has_streams_of_ids_that_tell_another_time(half_a_year: None) -> None:
    strange, usual = id_at(day(90)), id_at(NOW)
    for stream_id in (strange, usual):
        head = opened(stream_id, session_id=UUID(int=7), requested_at=as_microseconds(NOW))
        write([head, closed(stream_id, ended_at=as_microseconds(NOW))])
    session = Session.objects.get()
    assert {stream.pk for stream in queries.streams_of(session, None)[0]} == {strange, usual}
    assert queries.with_totals([session])[0].streams == 2


def test_what_was_requested_in_a_time_is_in_its_span() -> None:
    span = ids.between(day(3), NOW)
    assert span.first < id_at(day(3)) < id_at(NOW) < span.last
    assert span.first > id_at(day(5))
    assert span.last < id_at(NOW + timedelta(days=2))
    assert ids.between(datetime(1970, 1, 1, tzinfo=UTC), NOW).first == UUID(int=0)


INDEX = """
SELECT bool_and(indisvalid), count(*), count(*) FILTER (WHERE pg_get_indexdef(indexrelid) LIKE '%%(at)')
FROM pg_index WHERE indexrelid::regclass::text LIKE 'of_test%%'
"""


def test_an_index_is_made_a_partition_at_a_time_and_a_try_that_was_given_up_is_gone_on_with(query: Query) -> None:
    """Left over from the first attempt: the parent index, which has no parts, and an unusable part."""
    query("CREATE INDEX of_test ON ONLY records_stall (at)")
    query("CREATE INDEX of_test_records_stall_default ON records_stall_default (cause)")
    partitions = query("SELECT count(*) FROM pg_inherits WHERE inhparent = 'records_stall'::regclass")[0][0]
    editor = SimpleNamespace(connection=connection, execute=query)
    try:
        for _ in range(2):
            _indexes.add("of_test", "records_stall", "(at)")(None, editor)
            assert query(INDEX) == [(True, partitions + 1, partitions + 1)]
    finally:
        _indexes.drop("of_test")(None, editor)
    assert query("SELECT to_regclass('of_test')") == [(None,)]
