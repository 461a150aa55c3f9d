"""The same in the record: with several workers, some of which start anew, each run is one session once it is stored."""

import random

import pytest

from tests.conversations.providers import Ids
from tests.conversations.runs import RUNS
from tests.conversations.worker import Found, Host, Made, play, strangers
from tests.records.conftest import Query
from tests.records.support import write
from tests.thorough import IS_THOROUGH

# Orders in which calls are made and stored.
SEEDS = 4 if IS_THOROUGH else 1
FOUND = "SELECT id, session_id, parent, relation FROM records_stream"
# Alike to the letter, so that only their connections tell them apart, which one worker alone sees.
ALIKE = {
    *("few words", "few words, the same", "few words, others", "sdk loop, retried", "sdk loop, retried beside it"),
    "stopped and sent again",
}


def _host_of(order: random.Random, one: Made) -> int:
    return 0 if one.name in ALIKE else order.randrange(2)


def _stored(query: Query) -> Found:
    return {id: (session, parent, relation) for id, session, parent, relation in query(FOUND)}


@pytest.mark.parametrize("seed", range(SEEDS))
def test_each_run_is_one_session_with_two_workers(query: Query, seed: int) -> None:
    order = random.Random(seed)
    ids = Ids()
    hosts = [Host(ids), Host(ids)]
    made = play(RUNS, hosts, order, lambda one: _host_of(order, one))
    _store(hosts, order)
    assert strangers(made, _stored(query)) == []
    assert query("SELECT count(*) FROM records_session") == [(len(RUNS),)]


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
    assert strangers(made, _stored(query)) == []


def _store(hosts: list[Host], order: random.Random) -> None:
    """In pieces: each worker's entries in their order, but one's later ones before another's earlier."""
    rest = [list(host.entries) for host in hosts]
    while any(rest):
        entries = order.choice([each for each in rest if each])
        number = order.randint(1, 60)
        write(entries[:number])
        del entries[:number]
