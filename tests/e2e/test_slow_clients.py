"""Many clients that read nothing: they are cut off in time, and others do not notice.

SLOW_CLIENTS sets more of them than a run of all tests has time for. The longest pause of another client is printed but
not judged, as it depends on the machine. The system buffers up to 4 MiB for a client before its socket is full, some
20,000 chunks, all of which are recorded: 200 clients take minutes.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.load import Load
from tests.e2e.machine import Machine
from tests.e2e.proxied import until
from tests.e2e.test_stopping import reading_nothing
from tests.services import NewDatabase
from tests.simulator.process import running_simulator

pytestmark = pytest.mark.slow

CLIENTS = int(os.environ.get("SLOW_CLIENTS", "20"))
CUT_OFF = """
SELECT count(*) FROM records_stream
WHERE outcome = 'client_disconnected' AND error LIKE 'the client read nothing for 3 s; it was cut off after chunk %%'
"""


@pytest.fixture
def machine(new_database: NewDatabase, tmp_path: Path) -> Iterator[Machine]:
    """A server that cuts a client off after three seconds, and a writer."""
    with running_simulator() as simulator, new_database() as url:
        made = Machine(tmp_path, url, simulator, CLIENT_SILENCE_SECONDS="3")
        made.prepare()
        made.start_writer()
        made.start_server()
        yield made
        made.stop()


def test_clients_that_read_nothing_are_cut_off_and_keep_nobody_waiting(machine: Machine) -> None:
    load = Load(machine.base_url, machine.key, 1, model="content?seed={seed}&chunks=300&pace=10").start()
    with ExitStack() as stack:
        clients: list[socket.socket] = [stack.enter_context(reading_nothing(machine)) for _ in range(CLIENTS)]
        until(lambda: machine.query(CUT_OFF) == [(CLIENTS,)], 180 + 3 * CLIENTS)
        assert len(clients) == CLIENTS
    tapes = load.finish()
    print(f"beside {CLIENTS} of them: longest pause {max(tape.longest_wait for tape in tapes) * 1000:.0f} ms")
    assert all(tape.is_whole for tape in tapes)
