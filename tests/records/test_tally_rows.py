"""The rows that the writer adds for limits come to what the record has, whatever happens to its streams."""

import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from pytest_django import Settings

from streamviz.records.database import conninfo
from streamviz.records.deletion import delete_session
from streamviz.records.exporting import export
from streamviz.records.migrations import _tallies
from streamviz.records.recorder import AnyEntry
from streamviz.records.retention import Retaining
from streamviz.records.rules import Retention
from streamviz.records.tally_rows import put_together
from streamviz.records.writer.pending import NO_WORKER, Batch
from streamviz.records.writer.session_moves import move_stream
from streamviz.records.writer.store import Store
from tests.e2e.proxied import until
from tests.records.conftest import Query
from tests.records.history import store, story
from tests.records.test_exporting import take

NOW = datetime.now(UTC).replace(minute=30)
KEY = (
    "INSERT INTO records_apikey (name, prefix, digest, created_at) VALUES ('ours', 'ours', 'ours', now()) RETURNING id"
)
ADDED_UP = """
SELECT session_id, sum(streams), sum(blocks), sum(tool_calls), sum(output_tokens), sum(cost)
FROM records_tally WHERE session_id IS {} NULL GROUP BY session_id HAVING sum(streams) <> 0 ORDER BY session_id
"""
OF_SESSIONS, OF_KEY = ADDED_UP.format("NOT"), ADDED_UP.format("")
WAITING = "SELECT 1 FROM pg_locks WHERE NOT granted"
ROWS = "SELECT count(*) FROM records_tally WHERE key_id IS NOT NULL AND session_id IS NULL"


@pytest.fixture
def key(query: Query) -> int:
    [(number,)] = query(KEY)
    return int(number)


def made(number: int, session: str, key: int, at: datetime = NOW, **changes: Any) -> tuple[uuid.UUID, list[AnyEntry]]:
    return story(at, number=number, session=session, key_id=key, **changes)


def session_of(name: str) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_URL, name)


def came_to(streams: int) -> tuple[object, ...]:
    """What so many streams come to: each has a text and a call, two tokens and a cost of 25 cents."""
    return streams, 2 * streams, streams, 2 * streams, 0.25 * streams


def bring(stream_id: uuid.UUID, entries: list[AnyEntry], *, brings_back: bool) -> None:
    """Store a stream with a new writer."""
    batch, store = Batch(stream_id, NO_WORKER), Store(conninfo)
    for entry in entries:
        batch.add(entry)
    store.write([batch], brings_back=brings_back)
    store.close()


def move_both(ids: Sequence[uuid.UUID], old: uuid.UUID, new: uuid.UUID) -> None:
    with psycopg.connect(conninfo()) as connection, connection.cursor() as cursor:
        for each in ids:
            move_stream(cursor, each, old, new)


def test_a_stream_that_moves_counts_for_the_session_that_it_moves_to(query: Query, key: int) -> None:
    one, two = session_of("one"), session_of("two")
    ids = store(*(made(n, name, key) for n, name in enumerate(["one", "one", "two"])))
    with psycopg.connect(conninfo()) as connection, connection.cursor() as cursor:
        move_stream(cursor, ids[0], one, two)
    assert {row[0]: row[1:] for row in query(OF_SESSIONS)} == {one: came_to(1), two: came_to(2)}
    with psycopg.connect(conninfo()) as connection, connection.cursor() as cursor:
        move_stream(cursor, ids[1], one, two)
    assert query(OF_SESSIONS) == [(two, *came_to(3))]
    assert query(OF_KEY) == [(None, *came_to(3))]


def test_what_a_session_used_in_streams_that_were_deleted_moves_with_its_last_one(query: Query, key: int) -> None:
    one, two = session_of("one"), session_of("two")
    ids = store(*(made(n, name, key) for n, name in enumerate(["one", "one", "two"])))
    query("DELETE FROM records_stream WHERE id = %s", ids[1])
    with psycopg.connect(conninfo()) as connection, connection.cursor() as cursor:
        move_stream(cursor, ids[0], one, two)
    assert query(OF_SESSIONS) == [(two, *came_to(3))]


def test_what_a_journal_has_twice_counts_once(query: Query, key: int) -> None:
    stream_id, entries = made(0, "one", key)
    for _ in range(2):
        bring(stream_id, entries, brings_back=False)
    assert query(OF_KEY) == [(None, *came_to(1))]
    assert query(OF_SESSIONS) == [(session_of("one"), *came_to(1))]


def test_what_was_deleted_and_is_brought_back_counts_once(query: Query, key: int) -> None:
    one, other = made(0, "one", key), made(1, "other", key)
    store(one)
    delete_session(session_of("one"))
    for each in (one, other):
        bring(*each, brings_back=True)
    assert query(OF_KEY) == [(None, *came_to(2))]
    assert {row[1] for row in query(OF_SESSIONS)} == {1}


def test_what_retention_dropped_and_is_imported_again_counts_once(query: Query, key: int, settings: Settings) -> None:
    settings.RETENTION = Retention(chunk_days=0, stream_days=7, kept_days=0)
    store(made(0, "one", key, NOW - timedelta(days=20)), made(1, "one", key))
    lines = list(export([session_of("one")]))
    Retaining(settings.RETENTION, NOW).apply(lambda _: None)
    assert query("SELECT count(*) FROM records_stream") == [(1,)]
    take(lines)
    assert query("SELECT count(*) FROM records_stream") == [(2,)]
    assert query(OF_KEY) == [(None, *came_to(2))]
    assert query(OF_SESSIONS) == [(session_of("one"), *came_to(2))]


def test_rows_of_an_hour_are_merged_and_later_those_of_a_day(query: Query, key: int) -> None:
    long_ago, hour = NOW - timedelta(days=2), timedelta(hours=1)
    midnight = long_ago.replace(hour=0)
    moments = [NOW, NOW, NOW - hour, midnight, midnight + hour, midnight - hour]
    for number, at in enumerate(moments):
        store(made(number, "one", key, at))
    before = query(OF_KEY), query(OF_SESSIONS)
    assert query(ROWS) == [(6,)]
    with psycopg.connect(conninfo(), autocommit=True) as connection:
        put_together(connection)
        put_together(connection)
    assert (query(OF_KEY), query(OF_SESSIONS)) == before
    assert query(ROWS) == [(4,)]
    [(first,)] = query("SELECT min(began_at) FROM records_tally")
    assert first == midnight - hour


def test_what_a_session_used_moves_whole_while_its_rows_are_merged(query: Query, key: int) -> None:
    one, two = session_of("one"), session_of("two")
    first, second, _ = (store(made(n, name, key))[0] for n, name in enumerate(["one", "one", "two"]))
    with psycopg.connect(conninfo()) as merging, ThreadPoolExecutor(1) as aside:
        merging.execute("SELECT")  # in whose transaction the rows are merged
        put_together(merging)
        is_moved = aside.submit(move_both, [first, second], one, two)
        until(lambda: bool(query(WAITING)))
        merging.commit()
        is_moved.result()
    assert query(OF_SESSIONS) == [(two, *came_to(3))]


def test_what_no_limit_counts_is_forgotten(query: Query, key: int) -> None:
    gone, here = NOW - timedelta(days=33), NOW - timedelta(days=31)
    store(made(0, "gone", key, gone), made(1, "kept", key, gone), made(2, "new", key, here))
    query("DELETE FROM records_session WHERE id = %s", session_of("gone"))
    Retaining(Retention(0, 0, 0), NOW).apply(lambda _: None)
    assert query(OF_KEY) == [(None, *came_to(1))]
    assert {row[0] for row in query(OF_SESSIONS)} == {session_of("kept"), session_of("new")}


def test_the_migration_counts_what_is_on_record(query: Query, key: int) -> None:
    store(*(made(n, f"session {n % 2}", key, NOW - timedelta(hours=n)) for n in range(4)))
    counted = query(OF_KEY), query(OF_SESSIONS)
    query("DELETE FROM records_tally")
    query(_tallies.FILL)
    assert (query(OF_KEY), query(OF_SESSIONS)) == counted
    assert query(OF_KEY) == [(None, *came_to(4))]
