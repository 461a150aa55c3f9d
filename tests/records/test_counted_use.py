"""What limits count is what the record says was used, whatever policies were in force meanwhile."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from channels.db import database_sync_to_async

from streamviz.core.context import SessionCounts
from streamviz.core.model_names import model_names
from streamviz.core.policy import ActivePolicy
from streamviz.core.request import ModelCall
from streamviz.core.request_judging import RequestJudging
from streamviz.exchange.life import Event
from streamviz.exchange.recording import other_names
from streamviz.exchange.stream import LiveStream
from streamviz.proxy import limiting
from streamviz.proxy.spending import add_up
from streamviz.proxy.worker import Worker
from streamviz.records.database import conninfo
from streamviz.records.deletion import delete_session
from streamviz.records.models import Policy
from streamviz.records.moments import as_datetime, as_microseconds
from streamviz.records.policies_in_force import scoped_policy
from streamviz.records.recorder import AnyEntry
from streamviz.records.tallies import Amounts, Tallies
from tests.exchange.support import Play
from tests.records.conftest import Query
from tests.records.history import id_at, make_policy
from tests.records.support import block, closed, judged, opened, verdict, write

WHOSE = ["session", "key"]
OURS, THEIRS = 7, 8
MADE = "INSERT INTO records_apikey (id, name, prefix, digest, created_at) VALUES (%s, %s, %s, %s, now())"
NOW = datetime.now(UTC).replace(minute=30)
UNLIMITED = Amounts(None, None)


@pytest.fixture
async def workers(query: Query) -> AsyncIterator[list[Worker]]:
    """Two workers with one database, which has two keys."""
    for number, name in ((OURS, "ours"), (THEIRS, "theirs")):
        query(MADE, number, name, name, name)
    made = [Worker(), Worker()]
    for each in made:
        each.tallies = Tallies(conninfo)
        await each.tallies.start()
    yield made
    for each in made:
        await each.tallies.stop()


def limits(whose: str, models: str = "", keys: str = "", mode: str = "enforce", **parameters: Any) -> ActivePolicy:
    """A policy that lets a session or a key have three streams, of calls of these models with these keys."""
    limited = {whose: {"streams": 3}, **parameters}
    fields = Policy(kind="limits", parameters=limited, mode=mode, models_scope=models, keys_scope=keys)
    active = scoped_policy("limits", fields).active
    assert active is not None
    return active


def call(session: uuid.UUID, model: str = "gpt-4o", at: datetime = NOW, **changes: Any) -> LiveStream:
    """A call that begins at this time."""
    started = as_microseconds(at)
    told = {"requested_model": model, "upstream_model": model, "provider": "openai", "key_id": OURS, "key_name": "ours"}
    stream = Play(now=started, session_id=session, **told | changes).stream
    stream.context.request = stream.context.request.called(model_names(model, "openai", model))
    return stream


def recorded(stream: LiveStream, **changes: Any) -> list[AnyEntry]:
    """The record's entries of a stream that wrote ten tokens for 25 cents."""
    told = {name: getattr(stream, name) for name in ("session_id", "key_id", "requested_model", "requested_at")}
    named = {"upstream_model": stream.upstream_model, "provider": stream.provider}
    told["other_names"] = other_names(stream)
    end: dict[str, Any] = {"output_tokens": 10, "blocks": [block(), block(1, kind="tool_call")]} | named | changes
    return [opened(stream.id, wire_format=stream.wire_format, **told | named), closed(stream.id, **end)]


async def store(*streams: LiveStream, **changes: Any) -> None:
    await asyncio.to_thread(write, [entry for each in streams for entry in recorded(each, **changes)])


async def reserve(worker: Worker, stream: LiveStream, *policies: ActivePolicy) -> None:
    await limiting.reserve(worker, stream, policies, lambda: UNLIMITED)


async def counts(worker: Worker, stream: LiveStream, whose: str, period: str = "day") -> SessionCounts:
    """What an unscoped policy counts as this stream begins. The stream is not carried out."""
    await reserve(worker, stream, limits(whose, key_period=period))
    found = stream.context.session if whose == "session" else stream.context.of_key[period]
    limiting.settle(worker, stream, SessionCounts())
    return found


async def may_go(worker: Worker, stream: LiveStream, policy: ActivePolicy) -> bool:
    """Whether a policy lets the stream go; if not, it is over."""
    await reserve(worker, stream, policy)
    if RequestJudging([policy], stream.context.request, stream.context).denied is None:
        return True
    limiting.settle(worker, stream, SessionCounts())
    return False


def over(worker: Worker, stream: LiveStream) -> None:
    """The stream ends in its worker, which had forwarded it."""
    for event in (Event.FORWARDED, Event.ANSWERED, Event.DRAINED, Event.COMPLETED, Event.SENT):
        stream.life.step(event)
    add_up(stream)
    limiting.count(worker, stream)


@pytest.mark.parametrize("whose", WHOSE)
async def test_what_was_called_while_a_limit_was_off_counts(workers: list[Worker], whose: str) -> None:
    session = uuid.uuid4()
    before, meanwhile = call(session), call(session)
    await reserve(workers[0], before, limits(whose))
    over(workers[0], before)
    await store(before, meanwhile)
    for worker in workers:
        found = await counts(worker, call(session), whose)
        assert (found.streams, found.blocks, found.tool_calls, found.output_tokens, found.cost) == (2, 4, 2, 20, 0.5)
        assert found.running == 0


@pytest.mark.parametrize("whose", WHOSE)
async def test_a_stream_counts_once_whether_its_end_or_its_record_comes_first(
    workers: list[Worker], whose: str
) -> None:
    session = uuid.uuid4()
    first, second = call(session), call(session)
    for stream in (first, second):
        await reserve(workers[0], stream, limits(whose))
    over(workers[0], first)
    await store(second)
    assert (await counts(workers[0], call(session), whose)).streams == 2
    over(workers[0], second)
    await store(first)
    for worker in workers:
        assert (await counts(worker, call(session), whose)).streams == 2


@pytest.mark.parametrize("whose", WHOSE)
async def test_what_runs_as_a_limit_begins_counts_once_it_is_over(workers: list[Worker], whose: str) -> None:
    session = uuid.uuid4()
    running = call(session)
    assert (await counts(workers[0], call(session), whose)).streams == 0
    await store(running)
    for worker in workers:
        assert (await counts(worker, call(session), whose)).streams == 1


@pytest.mark.parametrize("whose", WHOSE)
@pytest.mark.parametrize("order", [("other", "gpt-4o"), ("gpt-4o", "other")])
async def test_a_limit_for_some_models_counts_their_calls_in_whatever_order(
    workers: list[Worker], whose: str, order: tuple[str, str]
) -> None:
    session, policy = uuid.uuid4(), limits(whose, "GPT-*")
    for model in (*order, "other"):
        stream = call(session, model)
        if model == "gpt-4o":
            assert await may_go(workers[0], stream, policy)
            over(workers[0], stream)
        await store(stream)
    for worker, goes in ((workers[0], True), (workers[1], True), (workers[1], False)):
        stream = call(session)
        assert await may_go(worker, stream, policy) is goes
        if goes:
            over(worker, stream)


async def test_a_limit_for_some_keys_counts_their_calls_of_a_session(workers: list[Worker]) -> None:
    session, policy = uuid.uuid4(), limits("session", keys="ours")
    await store(*(call(session, key_id=key) for key in (OURS, OURS, THEIRS, THEIRS, THEIRS)))
    assert await may_go(workers[0], call(session), policy)
    assert not await may_go(workers[1], call(session), policy)


@pytest.mark.parametrize("whose", WHOSE)
async def test_of_fifty_calls_right_after_a_limit_begins_no_more_go_than_it_lets(
    workers: list[Worker], whose: str
) -> None:
    session, policy = uuid.uuid4(), limits(whose, "gpt-*")
    await store(call(session), call(session, "other"))
    went = await asyncio.gather(*(may_go(workers[n % 2], call(session), policy) for n in range(50)))
    assert sum(went) == 2


@pytest.mark.parametrize(("period", "streams"), [("hour", 1), ("day", 3), ("month", 5)])
async def test_each_period_has_what_began_in_it_whichever_was_counted_before(
    workers: list[Worker], period: str, streams: int
) -> None:
    at = datetime(2026, 11, 20, 13, tzinfo=UTC)
    begin, behind = {"month": at.replace(day=1, hour=0), "day": at.replace(hour=0)}, at.replace(month=12, day=1, hour=0)
    inside = [begin["month"], begin["day"], at, at.replace(hour=14), at.replace(day=21, hour=0)]
    outside = [begin["month"] - timedelta(microseconds=1), behind]
    stream = call(uuid.uuid4(), at=at)
    assert (await counts(workers[0], stream, "key", "hour")).streams == 0
    for moment in (*inside, *outside):
        await store(call(uuid.uuid4(), at=moment, id=id_at(moment)))
    assert (await counts(workers[0], stream, "key", period)).streams == streams
    assert (await counts(workers[1], stream, "key", period)).streams == streams


@pytest.mark.parametrize("whose", WHOSE)
async def test_what_was_deleted_was_used_all_the_same(workers: list[Worker], whose: str) -> None:
    session = uuid.uuid4()
    await store(call(session), call(session))
    await database_sync_to_async(delete_session)(session)
    assert (await counts(workers[0], call(session), whose)).streams == 2


@pytest.mark.parametrize("whose", WHOSE)
@pytest.mark.parametrize(
    ("outcome", "is_denied", "streams"), [("halted", True, 0), ("halted", False, 1), ("client_disconnected", False, 1)]
)
async def test_of_what_passed_unread_without_a_byte_all_but_denied_calls_count(
    workers: list[Worker], whose: str, outcome: str, is_denied: bool, streams: int
) -> None:
    session = uuid.uuid4()
    unread = call(session, "", wire_format="passed_through")
    entries = recorded(unread, outcome=outcome, chunk_count=0, frame_count=0, output_tokens=None, cost=None, blocks=[])
    if is_denied:
        version = await database_sync_to_async(make_policy)()
        entries.insert(1, judged(unread.id, verdict(version, subject="request", ordinal=None)))
    await asyncio.to_thread(write, entries)
    assert (await counts(workers[0], call(session), whose)).streams == streams


@pytest.mark.parametrize("whose", WHOSE)
async def test_a_replay_costs_nothing_and_a_model_without_a_price_what_nobody_knows(
    workers: list[Worker], whose: str
) -> None:
    session = uuid.uuid4()
    await store(call(session, provider="replay"), cost=None)
    found = await counts(workers[0], call(session), whose)
    assert (found.streams, found.output_tokens, found.cost, found.unpriced) == (1, 0, 0, 0)
    await store(call(session), cost=None)
    await store(call(session), cost=None, input_tokens=0, output_tokens=0, blocks=[])  # a run
    found = await counts(workers[1], call(session), whose)
    assert (found.streams, found.output_tokens, found.unpriced) == (3, 10, 1)


async def test_a_session_began_with_its_first_stream(workers: list[Worker]) -> None:
    session, first = uuid.uuid4(), NOW - timedelta(hours=2)
    await store(call(session), call(session, at=first, id=id_at(first)))
    found = await counts(workers[0], call(session), "session")
    assert as_datetime(found.began_at) == first


async def test_what_passes_unread_counts_whatever_models_a_limit_is_for(workers: list[Worker]) -> None:
    session, policy = uuid.uuid4(), limits("key", "gpt-*")
    for worker in workers:
        unread = call(session, "", wire_format="passed_through")
        assert await may_go(worker, unread, policy)
        over(worker, unread)
    await store(call(session), call(session, "other"))
    assert not await may_go(workers[0], call(session), policy)


@pytest.mark.parametrize("whose", WHOSE)
async def test_a_shadow_for_some_models_counts_their_calls_that_its_worker_knows(whose: str) -> None:
    worker, session, policy = Worker(), uuid.uuid4(), limits(whose, "gpt-*", mode="shadow")
    for model in ("other", "gpt-4o", "other", "gpt-4o-mini", "other", "gpt-5"):
        stream = call(session, model)
        if model != "other":
            await reserve(worker, stream, policy)
        over(worker, stream)
    stream = call(session)
    await reserve(worker, stream, policy)
    period = "" if whose == "session" else "day"
    assert stream.context.counts_of(policy.policy, period).streams == 3


@pytest.mark.parametrize("models", ["cheap", "dear", "gpt-4o", "openai/gpt-4o"])
async def test_a_call_counts_for_a_limit_by_the_name_that_policies_gave_its_model_and_any_other(
    workers: list[Worker], models: str
) -> None:
    session, policy = uuid.uuid4(), limits("session", models)

    def sent_on() -> LiveStream:
        """A call of one route, which a policy sent to another."""
        stream = call(session, "gpt-4o", requested_model="dear")
        names = model_names("cheap", "openai", "gpt-4o")
        stream.context.request = ModelCall("openai_chat", {"model": "cheap"}).called(names)
        return stream

    stored, ended, running = sent_on(), sent_on(), sent_on()
    await store(stored)
    for stream in (ended, running):
        assert await may_go(workers[0], stream, policy)
    over(workers[0], ended)
    for worker in workers:
        assert not await may_go(worker, sent_on(), policy)


async def test_a_session_and_several_periods_of_a_key_are_counted_at_once(workers: list[Worker]) -> None:
    session, policies = (
        uuid.uuid4(),
        [limits("session"), *(limits("key", key_period=each) for each in ("hour", "month"))],
    )
    earlier = NOW - timedelta(hours=1)
    await store(call(uuid.uuid4(), at=earlier, id=id_at(earlier)), call(session))
    first, second = call(session), call(session)
    await reserve(workers[0], first, *policies)
    await reserve(workers[1], second, *policies)
    found = [second.context.session, second.context.of_key["hour"], second.context.of_key["month"]]
    months = 2 if earlier.month == NOW.month else 1
    assert [(each.streams, each.running, each.unbounded) for each in found] == [(1, 1, 1), (1, 1, 1), (months, 1, 1)]


@pytest.mark.parametrize("scope", [{}, {"models": "gpt-*"}, {"keys": "ours"}], ids=["all", "models", "keys"])
@pytest.mark.parametrize("whose", WHOSE)
async def test_where_the_database_is_away_a_limit_fails_whatever_it_is_for(whose: str, scope: dict[str, str]) -> None:
    worker, stream, policy = Worker(), call(uuid.uuid4()), limits(whose, **scope)
    worker.tallies = Tallies(lambda: "host=127.0.0.1 port=9 dbname=nothing connect_timeout=2")
    assert not await may_go(worker, stream, policy)
