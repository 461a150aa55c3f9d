"""Clients that vanish, at every stage of a call and in every way: each stream's outcome shows what happened.

VANISHING sets more of them than a run of all tests has time for.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.machine import Machine
from tests.e2e.vanishing import Server, Vanishing, as_json, clients, close_left_open, vanish_all
from tests.services import ROOT, NewDatabase
from tests.simulator.process import running_simulator

pytestmark = pytest.mark.slow

CLIENTS = int(os.environ.get("VANISHING", "150"))
AT_ONCE = 50
# The simulator does not answer more than this in time.
AT_ONCE_IN_A_PROCESS = 250
OUTCOMES = """
SELECT session.name, outcome, error FROM records_stream AS stream
JOIN records_session AS session ON session.id = session_id
"""


@pytest.fixture
def machine(new_database: NewDatabase, tmp_path: Path) -> Iterator[Machine]:
    """A running server and writer."""
    with running_simulator() as simulator, new_database() as url:
        made = Machine(tmp_path, url, simulator)
        made.prepare()
        made.start_writer()
        made.start_server()
        yield made
        close_left_open()
        made.stop()


def wrong(machine: Machine, vanished: list[Vanishing]) -> list[tuple[Vanishing, object]]:
    """The clients whose streams did not get the expected outcome, with the actual one."""
    found = {label: (outcome, error) for label, outcome, error in machine.query(OUTCOMES)}
    return [
        (client, found.get(client.session))
        for client in vanished
        if found.get(client.session, (None, ""))[0] != client.outcome
    ]


def check(machine: Machine, vanished: list[Vanishing]) -> None:
    """Assert that all outcomes are right, and that the log has no traceback."""
    deadline = time.monotonic() + 120
    while wrong(machine, vanished) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert wrong(machine, vanished) == []
    machine.stop()
    assert [line for said in machine.said for line in said.splitlines() if "Traceback" in line] == []


def test_clients_that_leave_have_their_outcomes(machine: Machine) -> None:
    vanished = clients(CLIENTS)
    asyncio.run(vanish_all(Server(machine.port, machine.key, machine.database_url), vanished, AT_ONCE))
    check(machine, vanished)


def test_clients_whose_process_is_killed_have_their_outcomes(machine: Machine) -> None:
    server, vanished = Server(machine.port, machine.key, machine.database_url), clients(CLIENTS, ("killed",))
    for first in range(0, CLIENTS, AT_ONCE_IN_A_PROCESS):
        kill_once_there(server, vanished[first : first + AT_ONCE_IN_A_PROCESS])
    check(machine, vanished)


def kill_once_there(server: Server, vanishing: list[Vanishing]) -> None:
    """Run all these clients in one process, and kill it once each has reached its stage."""
    command = [sys.executable, "-m", "tests.e2e.vanishing"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(as_json(server, vanishing))
        process.stdin.close()
        assert process.stdout.readline() == "all there\n"
        process.kill()
