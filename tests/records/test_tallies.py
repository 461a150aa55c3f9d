"""What sessions and keys have used: reserved at the start, settled at the end, on any worker."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from streamviz.core.context import SessionCounts
from streamviz.core.judgements import ChainContext
from streamviz.core.policy import ActivePolicy
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import Decision, Mode, Verdict
from streamviz.policies import build
from streamviz.proxy import limiting
from streamviz.proxy.worker import Worker
from streamviz.records import tallies
from streamviz.records.database import conninfo
from streamviz.records.deletion import delete_session
from streamviz.records.moments import as_microseconds
from streamviz.records.tallies import SESSION, Amounts, Entry, Period, Tallies, Used
from tests.exchange.support import Play
from tests.records.conftest import Query
from tests.records.history import NOW, id_at, store, story
from tests.records.support import block, closed, journal_of, move, opened, write

KEY = "INSERT INTO records_apikey (name, prefix, digest, created_at) VALUES (%s, %s, %s, now()) RETURNING id"
END = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE %s AND pid <> pg_backend_pid()"


NOTHING = Amounts(0, 0.0)
OF_SESSION = {SESSION: Period()}
OF_DAY = {"day": Period(NOW.replace(hour=0), NOW.replace(hour=0) + timedelta(days=1))}


def entry(session: uuid.UUID, stream: uuid.UUID | None = None, key: int | None = None, at: datetime = NOW) -> Entry:
    """A stream that limits count; a new one unless told."""
    return Entry(stream or uuid.uuid4(), session, key, at, "gpt-4o", "openai", "gpt-4o", (), False)


async def enter(
    worker: Tallies, it: Entry, amounts: Amounts = NOTHING, periods: Mapping[str, Period] = OF_SESSION
) -> SessionCounts:
    """What its session, or its key, has used of all models as a stream begins."""
    total = SessionCounts()
    for used in await worker.enter(it, amounts, periods):
        total.add(used.counts)
    return total


def settle(worker: Tallies, it: Entry, **spent: Any) -> None:
    worker.settle(it.stream, it.session, it.key, SessionCounts(**spent))


@pytest.fixture
async def workers(transactional_db: None) -> AsyncIterator[list[Tallies]]:
    """Two workers with one database."""
    made = [Tallies(conninfo), Tallies(conninfo)]
    for each in made:
        await each.start()
    yield made
    for each in made:
        await each.stop()


def may_go(limits: dict[str, float], counts: SessionCounts) -> bool:
    """Whether the policy allows another request of a session with these counts."""
    context = ChainContext("run", lambda: 0, session=counts, price=lambda tokens: 0.001 * (tokens.output or 0))
    verdict = build("limits", {"session": limits}).on_request(ModelCall("openai_chat", {}), context)
    assert isinstance(verdict, Verdict)
    return verdict.decision is Decision.ALLOW


async def ask(
    workers: list[Tallies], limits: dict[str, float], amounts: Amounts, session: uuid.UUID
) -> list[uuid.UUID]:
    """Fifty simultaneous requests on all workers: the streams that may go. The others end at once."""

    async def one(number: int) -> uuid.UUID | None:
        it, worker = entry(session), workers[number % len(workers)]
        if may_go(limits, await enter(worker, it, amounts)):
            return it.stream
        settle(worker, it)
        return None

    went = await asyncio.gather(*map(one, range(50)))
    return [stream for stream in went if stream is not None]


@pytest.mark.parametrize(
    ("limits", "amounts", "most"),
    [
        ({"streams": 3}, Amounts(None, None), 3),
        ({"output_tokens": 10}, Amounts(None, None), 1),
        ({"output_tokens": 10}, Amounts(5, 0.1), 2),
        ({"cost": 0.01}, Amounts(10, 0.01), 1),
        ({"cost": 0.01}, Amounts(10, 0.004), 3),
        ({"cost": 0.01}, Amounts(None, None), 1),
    ],
)
async def test_of_fifty_at_once_over_two_workers_no_more_go_than_the_limit_lets(
    workers: list[Tallies], limits: dict[str, float], amounts: Amounts, most: int
) -> None:
    session = uuid.uuid4()
    went = await ask(workers, limits, amounts, session)
    assert 1 <= len(went) <= most


async def test_what_was_reserved_is_settled_by_what_it_came_to(workers: list[Tallies]) -> None:
    first, second = workers
    session = uuid.uuid4()
    it = entry(session)
    await enter(first, it, Amounts(1_000, 1.0))
    running = await enter(second, entry(session), Amounts(None, None))
    assert (running.streams, running.running, running.reserved_tokens, running.reserved_cost) == (0, 1, 1_000, 1.0)
    settle(first, it, streams=1, blocks=2, tool_calls=1, output_tokens=7, cost=0.5)
    await first.stop()
    over = await enter(second, entry(session), Amounts(5, 0.1))
    assert (over.streams, over.blocks, over.tool_calls, over.output_tokens, over.cost) == (1, 2, 1, 7, 0.5)
    assert (over.running, over.unbounded) == (1, 1)


async def test_to_settle_twice_counts_once(workers: list[Tallies]) -> None:
    first, second = workers
    it = entry(uuid.uuid4())
    await enter(first, it, Amounts(1, 1.0))
    for _ in range(2):
        settle(first, it, streams=1)
    await first.stop()
    assert (await enter(second, entry(it.session))).streams == 1


async def test_what_is_entered_again_as_its_request_has_changed_counts_as_it_is_then(workers: list[Tallies]) -> None:
    first, second = workers
    it = entry(uuid.uuid4())
    await enter(first, it, Amounts(5, 1.0))
    changed = replace(it, requested_model="gpt-5", upstream_model="gpt-5")
    assert (await enter(first, changed, Amounts(9, 2.0))).running == 0
    [used] = await second.enter(entry(it.session), NOTHING, OF_SESSION)
    assert used.models == ("gpt-5", "openai/gpt-5")
    assert (used.counts.running, used.counts.reserved_tokens, used.counts.reserved_cost) == (1, 9, 2.0)


@pytest.mark.parametrize("ahead", [timedelta(hours=-1), timedelta(hours=1)], ids=["behind", "ahead"])
async def test_a_session_begins_by_the_clock_of_its_server_and_not_by_that_of_postgres(
    workers: list[Tallies], ahead: timedelta
) -> None:
    it = entry(uuid.uuid4(), at=datetime.now(UTC) + ahead)
    await enter(workers[0], it)
    assert (await enter(workers[1], entry(it.session, at=it.began_at + ahead))).began_at == as_microseconds(it.began_at)


async def test_a_worker_that_is_gone_holds_nothing_back_but_what_it_reserved(
    workers: list[Tallies], query: Query
) -> None:
    first, second = workers
    session = uuid.uuid4()
    await enter(first, entry(session), Amounts(40, 0.25))
    await enter(first, entry(session), Amounts(None, None))
    query("UPDATE records_use SET seen_at = now() - interval '3 minutes'")
    counts = await enter(second, entry(session))
    assert (counts.running, counts.reserved_tokens, counts.reserved_cost, counts.unbounded) == (2, 40, 0.25, 0)


@pytest.mark.parametrize("whose", ["session", "key"])
@pytest.mark.parametrize("amounts", [Amounts(None, None), Amounts(4_000, 2.0)], ids=["unbounded", "bounded"])
async def test_a_stream_whose_worker_is_gone_came_to_what_the_record_has(
    workers: list[Tallies], query: Query, whose: str, amounts: Amounts
) -> None:
    policy = ActivePolicy(build("limits", {whose: {"cost": 9}}), "limits", 1, 1, Mode.ENFORCE)
    [(key,)] = query(KEY, "ours", "ours", "ours")
    session, gone, next_one = uuid.uuid4(), Worker(), Worker()
    gone.tallies, next_one.tallies = workers
    stream, later = (Play(session_id=session, key_id=key).stream for _ in workers)
    await limiting.reserve(gone, stream, [policy], lambda: amounts)
    blocks = [block(), block(1, kind="tool_call")]
    told = {"session_id": session, "key_id": key, "requested_at": stream.requested_at}
    await asyncio.to_thread(write, [opened(stream.id, **told), closed(stream.id, blocks=blocks)])
    await limiting.reserve(next_one, later, [policy], lambda: amounts)
    counts = later.context.session if whose == "session" else later.context.of_key["day"]
    assert (counts.streams, counts.output_tokens, counts.cost, counts.running) == (1, 2, 0.25, 0)
    assert (counts.blocks, counts.tool_calls) == (2, 1)


async def test_what_a_worker_that_is_gone_reserved_for_nothing_on_record_is_free_once_its_journal_is_stored(
    query: Query, tmp_path: Path
) -> None:
    session = uuid.uuid4()
    journal, journal_of_next = journal_of(tmp_path, []), journal_of(tmp_path, [])
    gone, next_one = Tallies(conninfo), Tallies(conninfo)
    for each_one, its_journal in ((gone, journal), (next_one, journal_of_next)):
        each_one.worker = uuid.UUID(its_journal.path.name)
        await each_one.start()
    deleted, never_begun, over, running = (entry(session) for _ in range(4))
    for each, worker in ((deleted, gone), (never_begun, gone), (over, gone), (running, next_one)):
        await enter(worker, each, Amounts(40, 0.25))
    settle(gone, over, streams=1, output_tokens=7)
    for made in (opened(each.stream, session_id=session) for each in (deleted, over)):
        journal.append(made)
    journal.flush()
    await asyncio.to_thread(move, tmp_path)
    await asyncio.to_thread(delete_session, session)
    await gone.stop()
    await asyncio.to_thread(move, tmp_path)
    assert (await enter(next_one, entry(session))).reserved_tokens == 4 * 40 - 40
    journal.close()
    await asyncio.to_thread(move, tmp_path)
    counts = await enter(next_one, entry(session))
    await next_one.stop()
    assert (counts.streams, counts.output_tokens, counts.reserved_tokens) == (1, 7, 40)


async def test_what_moves_to_another_session_is_settled_there_and_for_its_key(
    workers: list[Tallies], query: Query
) -> None:
    first, second = workers
    moved, it = uuid.uuid4(), entry(uuid.uuid4(), key=1)
    await enter(first, it, Amounts(10, 1.0), {**OF_SESSION, **OF_DAY})
    query("UPDATE records_use SET session_id = %s", moved)
    settle(first, it, streams=1, output_tokens=7)
    await first.stop()
    for whose, periods in ((entry(moved), OF_SESSION), (entry(uuid.uuid4(), key=1), OF_DAY)):
        counts = await enter(second, whose, periods=periods)
        assert (counts.streams, counts.output_tokens, counts.running) == (1, 7, 0)
    assert (await enter(second, entry(it.session))).streams == 0


async def test_a_key_is_counted_from_the_beginning_of_its_day(workers: list[Tallies], query: Query) -> None:
    [(key,)], [(other,)] = [query(KEY, name, name, name) for name in ("ours", "theirs")]
    told = {"output_tokens": 10, "cost": 0.25}
    streams = [(NOW, key, told), (NOW, key, {**told, "output_tokens": None}), (NOW, other, told)]
    streams.append((NOW - timedelta(days=1), key, told))
    made = [story(at, number=n, key_id=of, **more) for n, (at, of, more) in enumerate(streams)]
    await asyncio.to_thread(store, *made)
    for worker, running in zip(workers, (0, 1), strict=True):
        counts = await enter(worker, entry(uuid.uuid4(), key=key), Amounts(5, 0.5), OF_DAY)
        assert (counts.streams, counts.cost, counts.running) == (2, 0.5, running)
        # Each stream calls one tool, and the second's provider reported no tokens.
        assert (counts.tool_calls, counts.blocks >= 2) == (2, True)
        assert counts.output_tokens > 10
        assert counts.is_estimate


@pytest.mark.parametrize(
    ("output_tokens", "counted"), [(None, 0), (0, 1)], ids=["denied", "cancelled before its first byte"]
)
async def test_of_what_ended_without_an_answer_only_what_went_upstream_counts(
    workers: list[Tallies], query: Query, output_tokens: int | None, counted: int
) -> None:
    [(key,)] = query(KEY, "ours", "ours", "ours")
    session, ended = uuid.uuid4(), id_at(NOW)
    told = {"session_id": session, "requested_at": as_microseconds(NOW), "key_id": key}
    nothing: dict[str, Any] = {"outcome": "halted", "chunk_count": 0, "blocks": [], "cost": None}
    nothing["output_tokens"] = output_tokens
    await asyncio.to_thread(write, [opened(ended, **told), closed(ended, **nothing)])
    for number, periods in enumerate([OF_SESSION, OF_DAY], 1):
        gone, before = entry(session, id_at(NOW, number), key), number * counted
        assert (await enter(workers[0], gone, periods=periods)).streams == before
        # One that ended so on a worker that is gone before it settled that.
        await asyncio.to_thread(write, [opened(gone.stream, **told), closed(gone.stream, **nothing)])
        counts = await enter(workers[1], it := entry(session, key=key), periods=periods)
        assert (counts.streams, counts.running) == (before + counted, 0)
        settle(workers[1], it)


async def test_where_the_database_is_away_that_is_a_failure_of_the_policy() -> None:
    away = Tallies(lambda: "host=127.0.0.1 port=9 dbname=nothing connect_timeout=2")
    counts = await enter(away, entry(uuid.uuid4()))
    with pytest.raises(ValueError, match="database"):
        may_go({"streams": 3}, counts)


async def test_a_connection_that_is_lost_is_made_anew(workers: list[Tallies], query: Query) -> None:
    it = entry(uuid.uuid4())
    first, second = workers
    await enter(first, it, Amounts(1, 1.0))
    query(END, "%streamviz_enter%")
    settle(first, it, streams=1)

    async def settled() -> bool:
        counts = await enter(second, entry(it.session))
        return counts.streams == 1

    async with asyncio.timeout(60):
        while not await settled():
            await asyncio.sleep(0)


@pytest.mark.parametrize("is_same", [True, False], ids=["same session", "same key"])
async def test_a_session_does_not_wait_for_what_others_owe(is_same: bool) -> None:
    asked = asyncio.Event()

    class Stuck(Tallies):
        """It cannot settle, but can be queried."""

        async def _do(self, work: Any) -> Any:
            asked.set()
            return [Used(SESSION, "", (), False, SessionCounts(streams=7))]

    stuck, theirs, ours = Stuck(conninfo), entry(uuid.uuid4(), key=1), entry(uuid.uuid4(), key=2)
    settle(stuck, theirs)
    assert (await asyncio.wait_for(enter(stuck, ours), 30)).streams == 7
    asked.clear()
    later = entry(theirs.session, key=3) if is_same else entry(uuid.uuid4(), key=theirs.key)
    waiting = asyncio.create_task(enter(stuck, later))
    await asyncio.sleep(0)
    assert not asked.is_set()
    await stuck.start()
    assert (await waiting).streams == 7
    await stuck.stop()


async def test_a_worker_that_has_lost_its_connection_keeps_what_it_has_reserved(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tallies, "RENEW_SECONDS", 0.05)
    worker, session = Tallies(conninfo), uuid.uuid4()
    await enter(worker, entry(session), Amounts(10, 0.0))
    assert (await enter(worker, entry(session), Amounts(2**63, 0.0))).trouble
    query("UPDATE records_use SET seen_at = now() - interval '1 hour'")
    await worker.start()
    async with asyncio.timeout(60):
        while not query("SELECT 1 FROM records_use WHERE seen_at > now() - interval '1 minute'"):
            await asyncio.sleep(0.02)
    await worker.stop()


async def test_what_the_record_never_gets_is_forgotten_once_no_limit_counts_it(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tallies, "RENEW_SECONDS", 0.05)
    killed = Tallies(conninfo)
    await enter(killed, entry(uuid.uuid4()))
    await killed.stop()
    query("UPDATE records_use SET seen_at = now() - interval '33 days'")
    other, kept = Tallies(conninfo), entry(uuid.uuid4())
    await enter(other, kept)
    await other.start()
    async with asyncio.timeout(60):
        while query("SELECT stream_id FROM records_use") != [(kept.stream,)]:
            await asyncio.sleep(0.02)
    await other.stop()
