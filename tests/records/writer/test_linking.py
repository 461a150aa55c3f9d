"""Which streams are found to continue which others, however often the same was said, and what that costs."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest
from django.db import transaction

from streamviz.records.database import conninfo
from streamviz.records.deletion import delete_session
from streamviz.records.ids import around, day_before
from streamviz.records.links import Kind, numbered
from streamviz.records.models import PublicLink, Session, Stream
from streamviz.records.partitions import make_days
from streamviz.records.recorder import AnyEntry
from streamviz.records.writer import linking, retries
from streamviz.records.writer.pending import NO_WORKER, Batch
from streamviz.records.writer.store import Store
from tests.e2e.proxied import until
from tests.records.conftest import Query, wait_for_a_lock
from tests.records.history import NOW, store, story
from tests.records.writer.test_retries import POPULAR, link_of, read_by

MARK = numbered(Kind.ANSWER, b"the same")
ERRAND = numbered(Kind.ERRAND, b"the same words")
# How many transactions wait to link what they store.
ALONE = """
SELECT count(*) FROM pg_locks
WHERE locktype = 'advisory' AND NOT granted
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


def answered(minutes: float = 0) -> UUID:
    """Store a stream with an answer that others may look for, `minutes` after NOW."""
    [stream_id] = store(story(NOW + timedelta(minutes=minutes), session="one", marks=(MARK,)))
    return stream_id


def went_on(first: UUID, failures: int) -> UUID:
    """Store a stream's next turn, which fails this many times before it is answered; returns the first attempt."""
    relations = ["turn", *["retry"] * failures]
    outcomes = [*["upstream_error"] * failures, "completed"]
    attempts = [first]
    for minutes, (relation, outcome) in enumerate(zip(relations, outcomes, strict=True), 1):
        told = {"parent": attempts[-1], "relation": relation, "outcome": outcome}
        attempts += store(story(NOW + timedelta(minutes=minutes), session="one", **told))
    return attempts[1]


def calling_and_called() -> list[tuple[UUID, list[AnyEntry]]]:
    """A stream with a call, and a sub-agent in its session a minute later."""
    caller = story(NOW, session="one", marks=(MARK,))
    return [caller, story(NOW + timedelta(minutes=1), session="one", relation="subagent")]


def write(stream_id: UUID, entries: Sequence[AnyEntry]) -> None:
    """Store part of a stream with a new writer."""
    batch, store = Batch(stream_id, NO_WORKER), Store(conninfo)
    for entry in entries:
        batch.add(entry)
    store.write([batch])
    store.close()


def asking(minutes: float, session: str = "another", relation: str = "") -> UUID:
    """Store a stream that continues such an answer."""
    at = NOW + timedelta(minutes=minutes)
    [stream_id] = store(story(at, session=session, asked=(MARK,), relation=relation))
    return stream_id


@pytest.mark.parametrize("is_first", [True, False])
def test_a_stream_goes_on_from_the_answer_that_it_asks_for_whichever_is_stored_first(
    query: Query, is_first: bool
) -> None:
    first, second = (answered(), asking(1)) if is_first else reversed((asking(1), answered()))
    assert link_of(query, second) == (first, "turn")


@pytest.mark.parametrize("is_first", [True, False])
def test_a_sub_agent_belongs_to_the_last_call_before_it_whichever_is_stored_first(query: Query, is_first: bool) -> None:
    stories = calling_and_called()
    for each in stories if is_first else reversed(stories):
        store(each)
    assert link_of(query, stories[1][0]) == (stories[0][0], "subagent")


def test_a_sub_agent_has_its_caller_where_another_writer_stores_the_call_at_that_moment(query: Query) -> None:
    (caller, entries), (helper, helpers) = calling_and_called()
    write(caller, entries[:1])
    with ThreadPoolExecutor(2) as pool:
        with psycopg.connect(conninfo()) as other:
            other.execute(linking._ALONE, [linking._LOCK])
            stored = [pool.submit(write, helper, helpers)]
            until(lambda: query(ALONE) == [(1,)])
            stored.append(pool.submit(write, caller, entries[1:]))
            until(lambda: query(ALONE) == [(2,)])
        for each in stored:
            each.result()
    assert link_of(query, helper) == (caller, "subagent")


def test_what_an_agent_asks_for_itself_is_no_turn_whichever_worker_had_the_answer(query: Query) -> None:
    first = answered()
    aside, turn = asking(1, "one", "subagent"), asking(2, "one")
    assert link_of(query, aside) == (first, "subagent")
    assert link_of(query, turn) == (first, "turn")


@pytest.mark.parametrize("attempts", [1, 3])
def test_a_call_that_was_answered_at_a_second_or_later_attempt_begins_no_sub_agents_more(
    query: Query, attempts: int
) -> None:
    [caller] = store(story(NOW, session="one", marks=(ERRAND,)))
    went_on(caller, attempts)
    [alike] = store(story(NOW + timedelta(minutes=9), session="another", asked=(ERRAND,)))
    assert link_of(query, alike) == (None, "")


def test_what_goes_on_from_an_answer_beside_a_turn_that_needed_two_attempts_is_a_fork(query: Query) -> None:
    first = answered()
    turn = went_on(first, 1)
    assert link_of(query, asking(9, "one")) == (first, "fork")
    assert link_of(query, turn) == (first, "turn")


@pytest.mark.parametrize(("days", "is_found"), [(29, True), (31, False)])
def test_an_answer_is_not_looked_for_among_what_is_long_ago(query: Query, days: int, is_found: bool) -> None:
    first = answered(-days * 24 * 60)
    assert link_of(query, asking(0)) == ((first, "turn") if is_found else (None, ""))


def test_what_asked_before_it_began_is_not_read_for_a_new_answer(query: Query) -> None:
    popular = asking(-60)
    query(POPULAR, 300, popular)
    query("ANALYZE records_stream")
    told = {"left": [MARK], "since": NOW, "first": around([popular]).first, "most": 2_000}
    assert read_by(linking._WAITING, told) == 0


def test_an_answer_that_many_had_long_ago_is_not_read(query: Query) -> None:
    popular = answered(-40 * 24 * 60)
    query(POPULAR, 300, popular)
    query("ANALYZE records_stream")
    times = {"since": NOW - linking._LONGEST_REST, "until": NOW, **around([popular], 1)._asdict()}
    told = {"failed": retries.FAILED_OUTCOMES, "asked": [MARK], "most": 2_000, **times}
    assert read_by(linking._FOUND, told) == 0


@pytest.mark.parametrize("statement", [linking.FORKS, retries.FAILED_AFTER], ids=["forks", "failed"])
def test_what_goes_on_from_a_stream_is_not_looked_for_before_it(query: Query, statement: str) -> None:
    first = answered()
    told = {"parents": [first], "first": day_before(first), "since": day_before(first), "failed": ["failed"]}
    with psycopg.connect(conninfo(), autocommit=True) as connection:
        make_days(connection, [(NOW + timedelta(days=days)).date() for days in (-90, -60, -30, 0)])
        plan = "\n".join(line for (line,) in connection.execute(f"EXPLAIN {statement}", told))
    [(current,)] = query("SELECT tableoid::regclass::text FROM records_stream WHERE id = %s", first)
    [(before,)] = query(
        "SELECT child FROM streamviz_partitions('records_stream') WHERE behind <= %s ORDER BY behind LIMIT 1",
        NOW - timedelta(days=20),
    )
    assert current in plan
    assert before not in plan


def test_nothing_moves_into_a_session_that_is_being_deleted(query: Query) -> None:
    first = answered()
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            delete_session(Stream.objects.get(pk=first).session_id)
            storing = pool.submit(asking, 1)
            wait_for_a_lock(query)
        second = storing.result()
    sessions = "SELECT label FROM records_session JOIN records_stream AS stream ON session_id = records_session.id"
    assert query(f"{sessions} WHERE stream.id = %s", second) == [("another",)]


def test_what_is_read_again_leaves_no_session_behind_where_its_stream_moved(query: Query) -> None:
    store(story(NOW, session="one", marks=(MARK,)))
    second = story(NOW + timedelta(minutes=1), session="another", asked=(MARK,))
    for _ in range(2):
        store(second)
        assert query("SELECT label FROM records_session") == [("one",)]


def test_a_link_to_a_session_goes_with_its_last_stream(query: Query) -> None:
    store(story(NOW + timedelta(minutes=1), session="another", asked=(MARK,)))
    PublicLink.objects.create(session=Session.objects.get(), digest="digest", expires_at=NOW)
    store(story(NOW, session="one", marks=(MARK,), number=1))
    assert query("SELECT label FROM records_session") == [("one",)]
    assert query("SELECT count(*) FROM records_publiclink") == [(0,)]


def test_a_note_and_a_star_go_with_the_last_stream_of_their_session(query: Query) -> None:
    marks = [numbered(Kind.ANSWER, text) for text in (b"first", b"second")]
    at = [NOW + timedelta(minutes=minutes) for minutes in (2, 3)]
    for number, (moment, mark) in enumerate(zip(at, marks, strict=True)):
        store(story(moment, session="another", asked=(mark,), number=number))
    query("UPDATE records_session SET note = 'look here', is_starred = true")
    notes = "SELECT label, note, is_starred FROM records_session ORDER BY label"
    store(story(NOW, session="one", marks=marks[:1], number=2))
    assert query(notes) == [("another", "look here", True), ("one", "", False)]
    store(story(NOW, session="one", marks=marks[1:], number=3))
    assert query(notes) == [("one", "look here", True)]
