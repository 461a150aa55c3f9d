"""Tallies of sessions: reserved at the start, settled at the end, on any worker."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
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
from streamviz.records.moments import as_microseconds
from streamviz.records.tallies import Amounts, OfKey, Tallies
from tests.exchange.support import Play
from tests.records.conftest import Query
from tests.records.history import NOW, id_at, store, story
from tests.records.support import block, closed, opened, write

KEY = "INSERT INTO records_apikey (name, prefix, digest, created_at) VALUES (%s, %s, %s, now()) RETURNING id"
END = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE %s AND pid <> pg_backend_pid()"


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
        stream, worker = uuid.uuid4(), workers[number % len(workers)]
        if may_go(limits, await worker.reserve(session, stream, amounts)):
            return stream
        worker.settle(session, stream, SessionCounts())
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


async def test_what_was_reserved_is_settled_by_what_it_came_to(workers: list[Tallies], query: Query) -> None:
    first, second = workers
    session, stream = uuid.uuid4(), uuid.uuid4()
    await first.reserve(session, stream, Amounts(1_000, 1.0))
    running = await second.reserve(session, uuid.uuid4(), Amounts(None, None))
    assert (running.streams, running.running, running.reserved_tokens, running.reserved_cost) == (0, 1, 1_000, 1.0)
    first.settle(session, stream, SessionCounts(streams=1, blocks=2, tool_calls=1, output_tokens=7, cost=0.5))
    await first.stop()
    over = await second.reserve(session, uuid.uuid4(), Amounts(5, 0.1))
    assert (over.streams, over.blocks, over.tool_calls, over.output_tokens, over.cost) == (1, 2, 1, 7, 0.5)
    assert (over.running, over.unbounded) == (1, 1)


async def test_to_settle_twice_counts_once(workers: list[Tallies]) -> None:
    first, second = workers
    session, stream = uuid.uuid4(), uuid.uuid4()
    await first.reserve(session, stream, Amounts(1, 1.0))
    for _ in range(2):
        first.settle(session, stream, SessionCounts(streams=1))
    await first.stop()
    assert (await second.reserve(session, uuid.uuid4(), Amounts(1, 1.0))).streams == 1


@pytest.mark.parametrize("ahead", [timedelta(hours=-1), timedelta(hours=1)], ids=["behind", "ahead"])
async def test_a_session_begins_by_the_clock_of_its_server_and_not_by_that_of_postgres(
    workers: list[Tallies], ahead: timedelta
) -> None:
    began = datetime.now(UTC) + ahead
    counts = await workers[0].reserve(uuid.uuid4(), id_at(began), Amounts(1, 1.0))
    assert counts.began_at == as_microseconds(began) // 1000 * 1000


async def test_a_worker_that_is_gone_holds_nothing_back_and_its_streams_count(
    workers: list[Tallies], query: Query
) -> None:
    first, second = workers
    session = uuid.uuid4()
    await first.reserve(session, uuid.uuid4(), Amounts(40, 0.25))
    query("UPDATE records_reservation SET seen_at = now() - interval '3 minutes'")
    counts = await second.reserve(session, uuid.uuid4(), Amounts(1, 0.1))
    assert (counts.running, counts.streams, counts.output_tokens, counts.cost) == (0, 1, 40, 0.25)
    assert counts.is_estimate


@pytest.mark.parametrize("whose", ["session", "key"])
@pytest.mark.parametrize("amounts", [Amounts(None, None), Amounts(4_000, 2.0)], ids=["unbounded", "bounded"])
async def test_a_stream_whose_worker_is_gone_came_to_what_the_record_has(
    workers: list[Tallies], query: Query, whose: str, amounts: Amounts
) -> None:
    policy = ActivePolicy(build("limits", {whose: {"cost": 9}}), "limits", 1, 1, Mode.ENFORCE)
    session, gone, next_one = uuid.uuid4(), Worker(), Worker()
    gone.tallies, next_one.tallies = workers
    stream, later = (Play(session_id=session, key_id=1).stream for _ in workers)
    await limiting.reserve(gone, stream, [policy], lambda: amounts)
    blocks = [block(), block(1, kind="tool_call")]
    await asyncio.to_thread(write, [opened(stream.id, session_id=session), closed(stream.id, blocks=blocks)])
    query("UPDATE records_reservation SET seen_at = now() - interval '3 minutes'")
    await limiting.reserve(next_one, later, [policy], lambda: amounts)
    counts = later.context.session if whose == "session" else later.context.of_key["day"]
    assert (counts.streams, counts.output_tokens, counts.cost, counts.running) == (1, 2, 0.25, 0)
    assert (counts.blocks, counts.tool_calls) == (2, 1)


async def test_a_stream_is_reserved_and_settled_for_its_session_and_its_key_apart(
    workers: list[Tallies], query: Query
) -> None:
    first, second = workers
    session, key, moved, stream = (uuid.uuid4() for _ in range(4))
    await first.reserve(session, stream, Amounts(10, 1.0))
    of_key = OfKey(None, "day", NOW)
    await first.reserve(key, stream, Amounts(10, 1.0), of_key)
    await second.reserve(moved, uuid.uuid4(), Amounts(0, 0.0))
    query("UPDATE records_reservation SET session_id = %s WHERE session_id = %s", moved, session)
    first.settle(session, stream, SessionCounts(streams=1, output_tokens=7))
    await first.stop()
    in_session, in_day = [
        await second.reserve(tally, uuid.uuid4(), Amounts(0, 0.0), period)
        for tally, period in ((moved, None), (key, of_key))
    ]
    assert (in_session.streams, in_session.output_tokens, in_session.running) == (1, 7, 1)
    assert (in_day.streams, in_day.running, in_day.reserved_tokens) == (0, 1, 10)


async def test_a_key_is_counted_from_the_beginning_of_its_day(workers: list[Tallies], query: Query) -> None:
    [(key,)], [(other,)] = [query(KEY, name, name, name) for name in ("ours", "theirs")]
    told = {"output_tokens": 10, "cost": 0.25}
    streams = [(NOW, key, told), (NOW, key, {**told, "output_tokens": None}), (NOW, other, told)]
    streams.append((NOW - timedelta(days=1), key, told))
    made = [story(at, number=n, key_id=of, **more) for n, (at, of, more) in enumerate(streams)]
    await asyncio.to_thread(store, *made)
    day, tally = NOW.replace(hour=0, minute=0, second=0, microsecond=0), uuid.uuid4()
    for worker, running in zip(workers, (0, 1), strict=True):
        counts = await worker.reserve(tally, uuid.uuid4(), Amounts(5, 0.5), OfKey(key, "day", day))
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
    of_key = OfKey(key, "day", NOW - timedelta(days=1))
    told = {"session_id": session, "requested_at": as_microseconds(NOW), "key_id": key}
    nothing: dict[str, Any] = {"outcome": "halted", "chunk_count": 0, "blocks": [], "cost": None}
    nothing["output_tokens"] = output_tokens
    await asyncio.to_thread(write, [opened(ended, **told), closed(ended, **nothing)])
    for number, (tally, period) in enumerate([(session, None), (uuid.uuid4(), of_key)], 1):
        gone, before = id_at(NOW, number), number * counted
        assert (await workers[0].reserve(tally, gone, Amounts(0, 0.0), period)).streams == before
        # One that ended so on a worker that is gone before it settled that.
        await asyncio.to_thread(write, [opened(gone, **told), closed(gone, **nothing)])
        query("UPDATE records_reservation SET seen_at = now() - interval '3 minutes'")
        assert (await workers[1].reserve(tally, uuid.uuid4(), Amounts(0, 0.0), period)).streams == before + counted


async def test_a_key_that_has_done_too_much_to_be_counted_begins_at_nothing(
    workers: list[Tallies], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tallies, "_BEGIN", "SELECT pg_sleep(60), %(tally)s::uuid, %(key)s::int, %(since)s::timestamptz")
    monkeypatch.setattr(tallies, "_COUNT_SECONDS", 0.01)
    counts = await workers[0].reserve(uuid.uuid4(), uuid.uuid4(), Amounts(5, 0.5), OfKey(None, "month", NOW))
    assert (counts.streams, counts.trouble) == (0, "")


async def test_where_the_database_is_away_that_is_a_failure_of_the_policy() -> None:
    away = Tallies(lambda: "host=127.0.0.1 port=9 dbname=nothing connect_timeout=2")
    counts = await away.reserve(uuid.uuid4(), uuid.uuid4(), Amounts(1, 0.1))
    with pytest.raises(ValueError, match="database"):
        may_go({"streams": 3}, counts)


async def test_a_connection_that_is_lost_is_made_anew(workers: list[Tallies], query: Query) -> None:
    session, stream = uuid.uuid4(), uuid.uuid4()
    first, second = workers
    await first.reserve(session, stream, Amounts(1, 1.0))
    query(END, "%streamviz_reserve%")
    first.settle(session, stream, SessionCounts(streams=1))

    async def settled() -> bool:
        counts = await second.reserve(session, uuid.uuid4(), Amounts(1, 1.0))
        return counts.streams == 1

    async with asyncio.timeout(60):
        while not await settled():
            await asyncio.sleep(0)


async def test_a_session_does_not_wait_for_what_others_owe() -> None:
    asked = asyncio.Event()

    class Stuck(Tallies):
        """It cannot settle, but can be queried."""

        async def _do(self, work: Any) -> Any:
            asked.set()
            return SessionCounts(streams=7)

    tallies, other, own = Stuck(conninfo), uuid.uuid4(), uuid.uuid4()
    tallies.settle(other, uuid.uuid4(), SessionCounts())
    assert (await asyncio.wait_for(tallies.reserve(own, uuid.uuid4(), Amounts(1, 0.1)), 30)).streams == 7
    asked.clear()
    waiting = asyncio.create_task(tallies.reserve(other, uuid.uuid4(), Amounts(1, 0.1)))
    await asyncio.sleep(0)
    assert not asked.is_set()
    await tallies.start()
    assert (await waiting).streams == 7
    await tallies.stop()


async def test_a_worker_that_has_lost_its_connection_keeps_what_it_has_reserved(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tallies, "RENEW_SECONDS", 0.05)
    worker, session = Tallies(conninfo), uuid.uuid4()
    await worker.reserve(session, uuid.uuid4(), Amounts(10, 0.0))
    assert (await worker.reserve(session, uuid.uuid4(), Amounts(2**63, 0.0))).trouble
    query("UPDATE records_reservation SET seen_at = now() - interval '1 hour'")
    await worker.start()
    async with asyncio.timeout(60):
        while not query("SELECT 1 FROM records_reservation WHERE seen_at > now() - interval '1 minute'"):
            await asyncio.sleep(0.02)
    await worker.stop()


async def test_what_killed_workers_had_reserved_is_forgotten_with_what_it_was_reserved_of(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tallies, "RENEW_SECONDS", 0.05)
    killed = Tallies(conninfo)
    await killed.reserve(uuid.uuid4(), uuid.uuid4(), Amounts(10, 0.0))
    await killed.stop()
    query("UPDATE records_reservation SET seen_at = now() - interval '33 days'")
    other = Tallies(conninfo)
    await other.reserve(uuid.uuid4(), kept := uuid.uuid4(), Amounts(10, 0.0))
    await other.start()
    async with asyncio.timeout(60):
        while query("SELECT stream_id FROM records_reservation") != [(kept,)]:
            await asyncio.sleep(0.02)
    await other.stop()
