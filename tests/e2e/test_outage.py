"""Postgres goes away, or the journal's disk is full, under load: clients notice nothing, and the record has it all.

OUTAGE_SECONDS asks for longer outages than a run of all tests has time for. What is measured (the longest pause of any
client) is printed and not judged: how long a pause is depends on the machine.
"""

import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import quote

import httpx
import psutil
import pytest

from streamviz.embedded_postgres import DATABASE, USER, EmbeddedPostgres, socket_dir
from tests.e2e.load import Load, Tape
from tests.e2e.machine import Machine, can_mount, check_record, small_disk
from tests.e2e.proxied import until
from tests.simulator.process import running_simulator

SECONDS = float(os.environ.get("OUTAGE_SECONDS", "2"))
CLIENTS = int(os.environ.get("OUTAGE_CLIENTS", "12"))


@pytest.fixture
def server() -> Iterator[EmbeddedPostgres]:
    """A Postgres of this test's own."""
    folder = Path(tempfile.mkdtemp(prefix="streamviz-test-"))
    own = EmbeddedPostgres(folder / "postgres")
    own.start()
    yield own
    own.stop()
    shutil.rmtree(folder)


@pytest.fixture
def machine(server: EmbeddedPostgres, tmp_path: Path) -> Iterator[Machine]:
    """A server and a writer, not started yet."""
    url = f"postgresql://{USER}@/{DATABASE}?host={quote(str(socket_dir(server.data)), safe='')}"
    with running_simulator() as simulator:
        made = Machine(tmp_path, url, simulator)
        made.prepare()
        yield made
        made.stop()


def kill(server: EmbeddedPostgres) -> None:
    """All of its processes at once."""
    pid = int((server.data / "postmaster.pid").read_text().split(maxsplit=1)[0])
    postmaster = psutil.Process(pid)
    for process in [postmaster, *postmaster.children(recursive=True)]:
        process.kill()
    until(server.has_ended)


def report(what: str, tapes: list[Tape]) -> None:
    longest = max((tape.longest_wait for tape in tapes), default=0.0)
    print(f"{what}: {len(tapes)} streams, the longest pause of a client {longest * 1000:.0f} ms")


def test_clients_notice_nothing_of_a_database_that_is_stopped_and_then_killed(
    machine: Machine, server: EmbeddedPostgres
) -> None:
    machine.start_writer()
    machine.start_server()
    load = Load(machine.base_url, machine.key, CLIENTS).start()
    threading.Event().wait(SECONDS)
    calm = [tape for tape in load.tapes if tape.is_whole]
    for end in (server.stop, partial(kill, server)):
        end()
        threading.Event().wait(SECONDS)
        server.start()
    tapes = load.finish()
    report("before that", calm)
    report(f"Postgres away for {SECONDS:g} s, twice", [tape for tape in tapes if tape not in calm])
    assert {(tape.status, tape.error, tape.is_whole) for tape in tapes} == {(200, "", True)}
    machine.wait_until_stored(len(tapes))
    assert check_record(machine, tapes) == {"completed": len(tapes)}


def test_probes_say_what_is_wrong(machine: Machine, server: EmbeddedPostgres) -> None:
    def ask(path: str) -> tuple[int, dict[str, str]]:
        answer = httpx.get(f"{machine.base_url}{path}", timeout=30)
        return answer.status_code, answer.json()

    def is_ready() -> bool:
        return ask("/readyz") == (200, {"database": "ok", "channel_layer": "ok", "journal": "ok"})

    machine.start_server()
    nobody = "nobody moves it into the database: start `manage.py write`"
    assert ask("/readyz") == (503, {"database": "ok", "channel_layer": "ok", "journal": nobody})
    machine.start_writer()
    until(is_ready)
    kill(server)
    assert ask("/readyz") == (503, {"database": "cannot be reached", "channel_layer": "ok", "journal": "ok"})
    assert ask("/healthz") == (200, {"process": "ok"})
    server.start()
    until(is_ready)


@pytest.fixture
def full_soon(machine: Machine) -> Iterator[Machine]:
    """Its journal has a disk with room for a few megabytes beyond what is kept in reserve."""
    if not can_mount():
        pytest.skip("a small disk can only be made by root")
    with small_disk(machine.var_dir / "journal", "20m"):
        yield machine
        machine.stop()


def fill(machine: Machine) -> None:
    """Let streams be recorded that nobody moves to Postgres, until the disk counts as full."""
    tapes = Load(machine.base_url, machine.key, 4, model="big?seed={seed}&speed=inf&chunks=4000").start().finish()
    assert all(tape.is_whole for tape in tapes)


def test_with_a_full_disk_new_streams_are_refused_and_running_ones_recorded(full_soon: Machine) -> None:
    full_soon.environment["JOURNAL_FULL"] = "refuse"
    full_soon.start_server()
    running = Load(full_soon.base_url, full_soon.key, 5, model="content?seed={seed}&chunks=400&pace=15").start()
    fill(full_soon)
    refused = until(lambda: [tape for tape in once(full_soon) if tape.status == 503])
    assert b"cannot record any more: the journal's disk is full" in refused[0].received
    assert httpx.get(f"{full_soon.base_url}/readyz", timeout=30).json()["journal"] == "the journal's disk is full"
    tapes = running.finish()
    served = [tape for tape in tapes if tape.status == 200]
    assert len(served) >= 5
    assert {(tape.error, tape.is_whole) for tape in served} == {("", True)}
    full_soon.start_writer()
    full_soon.wait_until_stored(len(served))
    assert check_record(full_soon, served) == {"completed": len(served)}
    until(lambda: once(full_soon)[0].status == 200)


def test_or_they_go_on_unrecorded(full_soon: Machine) -> None:
    full_soon.environment["JOURNAL_FULL"] = "unrecorded"
    full_soon.start_server()
    running = Load(full_soon.base_url, full_soon.key, 5, model="content?seed={seed}&chunks=400&pace=15").start()
    fill(full_soon)
    assert full_soon.server
    until(lambda: all(tape.is_whole for tape in once(full_soon)) and "go on unrecorded" in full_soon.server.output())
    tapes = running.finish()
    assert {(tape.status, tape.error, tape.is_whole) for tape in tapes} == {(200, "", True)}
    full_soon.start_writer()
    stored = recorded(full_soon, tapes[:5])
    assert check_record(full_soon, stored) == {"completed": 5}
    later: list[Tape] = []

    def is_recorded_again() -> bool:
        later.extend(once(full_soon))
        return bool(recorded(full_soon, later))

    until(is_recorded_again)


def once(machine: Machine) -> list[Tape]:
    """One quick call."""
    return Load(machine.base_url, machine.key, 1, model="content?seed=1&speed=inf&chunks=3").start().finish()[:1]


def recorded(machine: Machine, tapes: list[Tape]) -> list[Tape]:
    """Those that are in Postgres, waiting until all that can be are."""
    machine.wait_until_stored(1)
    known = {row[0] for row in machine.query("SELECT label FROM records_session")}
    return [tape for tape in tapes if tape.session in known]
