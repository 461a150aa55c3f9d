"""kill -9 at any time: what a client received is in the record, once and in order.

CRASH_KILLS and CRASH_CLIENTS set more kills and clients than a run of all tests has time for.
"""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.load import STREAM_BYTES, Load, Tape
from tests.e2e.machine import Machine, check_record
from tests.services import NewDatabase
from tests.simulator.process import running_simulator

KILLS = int(os.environ.get("CRASH_KILLS", "2"))
CLIENTS = int(os.environ.get("CRASH_CLIENTS", "6"))


@pytest.fixture
def machine(new_database: NewDatabase, tmp_path: Path) -> Iterator[Machine]:
    """A running server and writer."""
    with running_simulator() as simulator, new_database() as url:
        made = Machine(tmp_path, url, simulator)
        made.prepare()
        made.start_writer()
        made.start_server()
        yield made
        made.stop()


def test_nothing_that_a_client_received_is_lost_when_the_server_is_killed(machine: Machine) -> None:
    chance = random.Random(7)
    tapes: list[Tape] = []
    for n in range(KILLS):
        load = Load(machine.base_url, machine.key, CLIENTS).start()
        load.wait_for(chance.randrange(CLIENTS * STREAM_BYTES))  # so that kills happen at any moment of a stream
        if n % 2:
            machine.kill_writer()
        machine.kill_server()
        tapes += load.finish()
        if n % 2:
            machine.start_writer()
        machine.start_server()
    begun = [tape for tape in tapes if tape.received]
    machine.wait_until_stored(len(begun))
    outcomes = check_record(machine, tapes)
    assert outcomes["interrupted"] >= KILLS
    assert sum(outcomes.values()) == len(begun)


@pytest.mark.slow
def test_told_to_stop_the_server_lets_streams_end_and_refuses_new_ones(machine: Machine) -> None:
    load = Load(machine.base_url, machine.key, 5, model="content?seed={seed}&chunks=100&pace=10").start()
    assert machine.server
    machine.server.process.terminate()
    machine.server.wait()
    tapes = load.finish()
    begun = [tape for tape in tapes if tape.received and tape.status == 200]
    assert len(begun) >= 5
    assert all(tape.is_whole for tape in begun)
    machine.start_server()
    machine.wait_until_stored(len(begun))
    assert check_record(machine, begun) == {"completed": len(begun)}
