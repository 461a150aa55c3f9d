"""Deleting a session: nothing of it is left, and nothing of it comes back."""

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from streamviz.records.deletion import delete_session
from streamviz.records.models import Backtest, PolicyVersion
from tests.e2e.proxied import until
from tests.records.conftest import WAITING, Query
from tests.records.history import day, make_policy, store, story
from tests.records.support import closed, journal_of, move, opened, received, write

TABLES = ("stream", "block", "verdict", "upstreamrun", "clientrun")
# Until the transaction ends, these shadow Postgres' functions for the current time.
AN_HOUR_AHEAD = """
CREATE SCHEMA ahead;
CREATE FUNCTION ahead.now() RETURNS timestamptz LANGUAGE sql AS $$SELECT pg_catalog.now() + interval '1 hour'$$;
CREATE FUNCTION ahead.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT ahead.now()';
SET LOCAL search_path = ahead, public, pg_catalog;
"""


def test_a_session_goes_with_all_that_is_its_own(query: Query) -> None:
    version = make_policy()
    store(
        story(day(1), session="gone", denied=version),
        story(day(2), session="gone"),
        story(day(1), session="stays", number=1, denied=version),
    )
    [(gone,)] = query("SELECT id FROM records_session WHERE label = 'gone'")
    before = {table: query(f"SELECT count(*) FROM records_{table}")[0][0] for table in TABLES}
    assert delete_session(gone) == 2
    assert query("SELECT label FROM records_session") == [("stays",)]
    after = {table: query(f"SELECT count(*) FROM records_{table}")[0][0] for table in TABLES}
    assert after == {"stream": 1, "block": 2, "verdict": 1, "upstreamrun": 1, "clientrun": 1}
    assert all(after[table] < before[table] for table in TABLES)


def test_back_tests_forget_the_examples_of_its_streams(query: Query) -> None:
    gone, kept = store(story(day(1), session="gone"), story(day(1), session="stays", number=1))
    policy = PolicyVersion.objects.get(pk=make_policy()).policy
    examples = [{"stream": str(each), "reason": "It says so."} for each in (kept, gone, kept)]
    for some in (examples, [], examples[1:2]):
        Backtest.objects.create(policy=policy, kind=policy.kind, examples=some)
    delete_session(query("SELECT id FROM records_session WHERE label = 'gone'")[0][0])
    found = Backtest.objects.order_by("pk").values_list("examples", flat=True)
    assert list(found) == [[examples[0], examples[2]], [], []]


def test_a_stream_that_runs_meanwhile_does_not_come_back(query: Query, tmp_path: Path) -> None:
    stream_id = uuid.uuid4()
    journal = journal_of(tmp_path, [opened(stream_id), received(stream_id, [b"a"])])
    move(tmp_path)
    [(session,)] = query("SELECT id FROM records_session")
    assert delete_session(session) == 1
    journal.append(received(stream_id, [b"b"], 1))
    journal.append(closed(stream_id))
    journal.flush()
    # A restarted writer reads everything that the journal still has.
    move(tmp_path)
    for table in (*TABLES, "session"):
        assert query(f"SELECT count(*) FROM records_{table}") == [(0,)]


def test_streams_that_nobody_had_stored_yet_do_not_bring_it_back(query: Query, tmp_path: Path) -> None:
    session, stored, whole, running, later = (uuid.uuid4() for _ in range(5))
    beginning = [opened(stored, session_id=session), closed(stored)]
    journal = journal_of(tmp_path, beginning)
    move(tmp_path)
    of_it = [opened(whole, session_id=session), received(whole, [b"secret"]), closed(whole)]
    for entry in [*of_it, opened(running, session_id=session), received(running, [b"secret"])]:
        journal.append(entry)
    journal.flush()
    assert delete_session(session) == 1
    move(tmp_path)
    for table in (*TABLES, "session"):
        assert query(f"SELECT count(*) FROM records_{table}") == [(0,)]
    journal.append(received(running, [b"more"], 1))
    journal.append(closed(running))
    # The client continues in a session of the same name: requests from now on are stored.
    after = round((time.time() + 1) * 1_000_000)
    journal.append(opened(later, session_id=session, requested_at=after))
    journal.append(closed(later))
    journal.flush()
    move(tmp_path)
    assert query("SELECT id FROM records_stream") == [(later,)]
    assert query("SELECT count(*) FROM records_upstreamrun") == [(0,)]
    assert not (tmp_path / "refused").exists()


def test_where_the_clock_of_postgres_is_ahead_a_session_goes_on_at_once(query: Query, tmp_path: Path) -> None:
    session, before, after = (uuid.uuid4() for _ in range(3))
    journal = journal_of(tmp_path, [opened(before, session_id=session), closed(before)])
    move(tmp_path)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(AN_HOUR_AHEAD)
        assert delete_session(session) == 1
        cursor.execute("DROP SCHEMA ahead CASCADE")
    journal.append(opened(after, session_id=session, requested_at=round((time.time() + 1) * 1_000_000)))
    journal.append(closed(after))
    journal.flush()
    move(tmp_path)
    assert query("SELECT id FROM records_stream") == [(after,)]


def test_what_a_run_calls_after_its_session_was_deleted_is_not_stored_either(query: Query, tmp_path: Path) -> None:
    session, run, inner, call = (uuid.uuid4() for _ in range(4))
    journal = journal_of(tmp_path, [opened(run, session_id=session)])
    move(tmp_path)
    delete_session(session)
    after = round((time.time() + 1) * 1_000_000)
    step = {"session_id": session, "requested_at": after, "part": "plan 1"}
    # The innermost call comes first: both are stored at once.
    journal.append(opened(call, parent=inner, **step))
    journal.append(opened(inner, parent=run, **step))
    journal.flush()
    move(tmp_path)
    assert query("SELECT count(*) FROM records_stream") == query("SELECT count(*) FROM records_session") == [(0,)]


def test_a_stream_that_is_being_stored_waits_for_its_session_s_deletion(query: Query, tmp_path: Path) -> None:
    session, first, second = (uuid.uuid4() for _ in range(3))
    write([opened(first, session_id=session), closed(first)])
    journal_of(tmp_path, [opened(second, session_id=session), closed(second)])
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            delete_session(session)
            moving = pool.submit(move, tmp_path)
            until(lambda: bool(query(WAITING)))
        moving.result()
    assert query("SELECT count(*) FROM records_session") == [(0,)]


def test_what_is_not_there_cannot_be_deleted(query: Query) -> None:
    assert delete_session(uuid.uuid4()) == 0
    with pytest.raises(CommandError, match="No such session"):
        call_command("delete_session", uuid.uuid4())


def test_the_command_says_what_it_deleted(query: Query) -> None:
    store(story(day(1), session="gone"), story(day(2), session="gone"))
    [(session,)] = query("SELECT id FROM records_session")
    call_command("delete_session", session, stdout=(said := StringIO()))
    assert said.getvalue() == f"{session}: 2 streams deleted\n"
    for table in (*TABLES, "session"):
        assert query(f"SELECT count(*) FROM records_{table}") == [(0,)]


def test_a_session_that_is_not_there_keeps_no_other_from_being_deleted(query: Query) -> None:
    store(story(day(1), session="one"), story(day(2), session="two"))
    one, two = (row[0] for row in query("SELECT id FROM records_session ORDER BY label"))
    missing = uuid.uuid4()
    with pytest.raises(CommandError, match=f"^No such session: {missing}\\.$"):
        call_command("delete_session", one, missing, one, two, stdout=(said := StringIO()))
    assert said.getvalue() == f"{one}: 1 stream deleted\n{two}: 1 stream deleted\n"
    assert query("SELECT count(*) FROM records_session") == [(0,)]
