"""Concurrent agent runs: each is one session, and none contains another's calls."""

import random

import pytest

from tests.conversations.providers import Ids
from tests.conversations.runs import RUNS
from tests.conversations.worker import Host, play, strangers

# Orders in which calls are made.
SEEDS = (0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3)))


@pytest.mark.parametrize("behind", [0, 3, 40])
@pytest.mark.parametrize("seed", SEEDS)
def test_each_run_is_one_session_in_one_worker(seed: int, behind: int) -> None:
    """No matter how far the worker is behind with recording the ends of streams."""
    assert len(RUNS) >= 40
    host = Host(Ids(), behind)
    made = play(RUNS, [host], random.Random(seed), lambda _: 0)
    found = {
        each.stream.id: (each.stream.session_id, each.stream.place.parent, each.stream.place.relation)
        for one in made
        for each in one.calls
    }
    assert strangers(made, found) == []
