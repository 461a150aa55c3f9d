"""The same in the record: with several workers and restarts, each run is one session once it is stored."""

import random
from typing import Any

import pytest

from tests.conversations.agents import Call
from tests.conversations.providers import Ids, Json, Said
from tests.conversations.runs import RUNS
from tests.conversations.worker import Found, Host, Made, play, strangers
from tests.records.conftest import Query
from tests.records.support import write
from tests.thorough import IS_THOROUGH

# Orders in which calls are made and stored.
SEEDS = 4 if IS_THOROUGH else 1
FOUND = "SELECT id, session_id, parent, relation FROM records_stream"
# These are identical, so that only their connections, which one worker sees, tell them apart.
ALIKE = {
    *("few words", "few words, the same", "few words, others", "sdk loop, retried", "sdk loop, retried beside it"),
    "stopped and sent again",
}
# If streams are stored in a different order than they were made, only a worker's memory knows which answer in OpenAI's
# conversation was the last, who called an agent that was told little, and that an agent with its caller's history is
# another. Their sessions are right all the same.
PLACED_BY_MEMORY = (
    "conversation, call ",
    "sub-agents with few words, at once, call ",
    "sub-agents in the background, call ",
    "a thread that knows its caller's history, call ",
)


def _host_of(order: random.Random, one: Made) -> int:
    return 0 if one.name in ALIKE else order.randrange(2)


def _wrong(made: list[Made], query: Query) -> list[str]:
    return [each for each in strangers(made, _stored(query)) if not each.startswith(PLACED_BY_MEMORY)]


def _stored(query: Query) -> Found:
    return {id: (session, parent, relation) for id, session, parent, relation in query(FOUND)}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS))
def test_each_run_is_one_session_with_two_workers(query: Query, seed: int) -> None:
    order = random.Random(seed)
    ids = Ids()
    hosts = [Host(ids), Host(ids)]
    made = play(RUNS, hosts, order, lambda one: _host_of(order, one))
    _store(hosts, order)
    assert _wrong(made, query) == []
    assert query("SELECT count(*) FROM records_session") == [(len(RUNS),)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS))
def test_each_run_is_one_session_after_restarts(query: Query, seed: int) -> None:
    order = random.Random(seed)
    ids = Ids()
    hosts = [Host(ids)]

    def start_anew(one: Made) -> int:
        if order.random() < 0.1:
            hosts.append(Host(ids))
        return -1

    made = play({name: run for name, run in RUNS.items() if name not in ALIKE}, hosts, order, start_anew)
    assert len(hosts) > 5
    _store(hosts, order)
    assert _wrong(made, query) == []


def _said(*texts: str) -> list[Json]:
    return [{"role": "assistant" if at % 2 else "user", "content": text} for at, text in enumerate(texts)]


def _chat(*texts: str, answer: str, **more: Any) -> Call:
    return Call("openai_chat", {"model": "m", "messages": _said(*texts), **more}, Said(answer))


@pytest.mark.parametrize("is_own_first", [True, False])
def test_what_may_be_a_strangers_of_another_worker_becomes_a_session_of_its_own(
    query: Query, is_own_first: bool
) -> None:
    ids = Ids()
    ours, theirs = Host(ids), Host(ids)
    hosts = [ours, theirs] if is_own_first else [theirs, ours]
    begun = [host.take(_chat("hi", answer="Hello!"), port) for port, host in enumerate((ours, theirs), 1)]
    second = ours.take(_chat("hi", "Hello!", "I am Alice.", answer="Well."), 3)
    third = ours.take(_chat("hi", "Hello!", "I am Alice.", "Well.", "And?", answer="OK"), 3)
    assert second.stream.session_id == begun[0].stream.session_id
    for host in hosts:
        write(host.entries)
    found = _stored(query)
    sessions = [found[each.stream.id][0] for each in (*begun, second, third)]
    assert len(set(sessions)) == 3
    assert sessions[2] == sessions[3]
    assert found[second.stream.id][1:] == (None, "")
    assert found[third.stream.id][1:] == (second.stream.id, "turn")
    assert query("SELECT count(*) FROM records_session") == [(3,)]


@pytest.mark.parametrize("is_own_first", [True, False])
def test_of_another_worker_what_the_program_says_of_itself_tells_who_goes_on(query: Query, is_own_first: bool) -> None:
    ids = Ids()
    ours, theirs = Host(ids), Host(ids)
    shop, office = ([{"type": "function", "function": {"name": name}}] for name in ("cart", "salary"))
    first = theirs.take(_chat("hi", answer="Hello!", tools=office), 1)
    ours.take(_chat("hi", answer="Hello!", tools=shop), 2)
    second = ours.take(_chat("hi", "Hello!", "I am Alice.", answer="Well.", tools=office), 3)
    for host in (ours, theirs) if is_own_first else (theirs, ours):
        write(host.entries)
    assert _stored(query)[second.stream.id] == (first.stream.session_id, first.stream.id, "turn")


def _store(hosts: list[Host], order: random.Random) -> None:
    """Store in pieces: each worker's entries in order, but perhaps one's later before another's earlier."""
    rest = [list(host.entries) for host in hosts]
    while any(rest):
        entries = order.choice([each for each in rest if each])
        number = order.randint(1, 60)
        write(entries[:number])
        del entries[:number]
