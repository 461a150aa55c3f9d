"""Postgres goes down, or the journal's disk fills up, under load: clients notice nothing, and the record is complete.

OUTAGE_SECONDS sets longer outages than a run of all tests has time for. The longest pause of any client is printed but
not judged, as it depends on the machine.
"""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

import httpx
import psutil
import pytest

from streamviz.ops.embedded_postgres import EmbeddedPostgres
from tests.e2e.load import Load, Tape
from tests.e2e.machine import Machine, can_mount, check_record, small_disk
from tests.e2e.proxied import locked, until
from tests.services import copied_postgres, url_of
from tests.simulator.process import running_simulator

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("OUTAGE_SECONDS", "2"))
CLIENTS = int(os.environ.get("OUTAGE_CLIENTS", "6"))


@pytest.fixture
def server(migrated_data: Path) -> Iterator[EmbeddedPostgres]:
    """A Postgres for this test alone."""
    with copied_postgres(migrated_data) as own:
        yield own


@pytest.fixture
def machine(server: EmbeddedPostgres, tmp_path: Path) -> Iterator[Machine]:
    """A server and a writer, not started yet."""
    with running_simulator() as simulator:
        made = Machine(tmp_path, url_of(server), simulator)
        made.prepare()
        yield made
        made.stop()


def kill(server: EmbeddedPostgres) -> None:
    """Kill all of its processes at once."""
    for process in processes_of(server):
        with suppress(psutil.NoSuchProcess):  # it was another's child, and exited with that
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
        answer = httpx.get(f"{machine.base_url}{path}", timeout=120)
        return answer.status_code, answer.json()

    fine = {"state": "ok", "server": "ok", "database": "ok", "channel_layer": "ok", "journal": "ok"}

    def is_fine() -> bool:
        return ask("/readyz") == (200, fine)

    machine.start_server()
    nobody = "no writer is running; start `python manage.py write` (`up` starts one too)"
    assert ask("/readyz") == (200, fine | {"state": "degraded: journal", "journal": nobody})
    machine.start_writer()
    until(is_fine)
    kill(server)
    assert ask("/readyz") == (200, fine | {"state": "degraded: database", "database": "cannot be reached"})
    assert ask("/healthz") == (200, {"process": "ok"})
    server.start()
    until(is_fine)


@contextmanager
def stopped(*processes: psutil.Process) -> Iterator[None]:
    """Suspend processes for the duration of the block; one may exit by itself just then, as Postgres' processes do."""
    for each in processes:
        with suppress(psutil.NoSuchProcess):
            each.suspend()
    try:
        yield
    finally:
        for each in processes:
            with suppress(psutil.NoSuchProcess):
                each.resume()


def tables_locked(machine: Machine) -> AbstractContextManager[None]:
    return locked(machine.database_url, "records_stream", "records_upstreamrun")


def test_pages_say_that_postgres_does_not_answer(machine: Machine, server: EmbeddedPostgres) -> None:
    def page(path: str) -> tuple[int, bool]:
        answer = browser.get(path)
        return answer.status_code, "Postgres does not answer" in answer.text

    machine.add_administrator()
    machine.start_server()
    with machine.browser() as browser:
        with tables_locked(machine):
            assert page("/sessions/") == (503, True)
            assert page("/") == (200, False)
        assert page("/sessions/") == (200, False)
        kill(server)
        assert page("/") == page("/system/") == (503, True)
        server.start()
        until(lambda: page("/system/") == (200, False))


@contextmanager
def killed(machine: Machine) -> Iterator[None]:
    """Run without a writer for the duration of the block."""
    machine.kill_writer()
    yield
    machine.start_writer()


def writer_of(machine: Machine) -> psutil.Process:
    assert machine.writer
    return psutil.Process(machine.writer.process.pid)


def processes_of(server: EmbeddedPostgres) -> list[psutil.Process]:
    postmaster = psutil.Process(int((server.data / "postmaster.pid").read_text().split(maxsplit=1)[0]))
    return [postmaster, *postmaster.children(recursive=True)]


SILENT = "the writer has not responded for"
# A writer without a connection at that moment reports that it cannot get one.
UNSTORED = (SILENT, "the writer cannot write to Postgres")
FAULTS: dict[str, tuple[Callable[[Machine, EmbeddedPostgres], AbstractContextManager[None]], tuple[str, ...]]] = {
    "a lock on the tables": (lambda machine, _: tables_locked(machine), (SILENT,)),
    "a writer that hangs": (lambda machine, _: stopped(writer_of(machine)), (SILENT,)),
    "a Postgres that hangs": (lambda _, server: stopped(*processes_of(server)), UNSTORED),
    "a writer that was killed": (lambda machine, _: killed(machine), ("no writer is running",)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_who_does_not_move_the_journal_is_told_and_clients_notice_nothing(
    machine: Machine, server: EmbeddedPostgres, fault: str
) -> None:
    machine.start_writer()
    machine.start_server()
    begin, why = FAULTS[fault]
    load = Load(machine.base_url, machine.key, CLIENTS).start()
    assert machine.server
    with begin(machine, server):
        since = time.monotonic()
        machine.server.wait_for("the journal is not being emptied")
        print(f"{fault}: told after {time.monotonic() - since:.1f} s")
        assert httpx.get(f"{machine.base_url}/readyz", timeout=120).json()["journal"].startswith(why)
        threading.Event().wait(SECONDS)
    tapes = load.finish()
    report(fault, tapes)
    assert {(tape.status, tape.error, tape.is_whole) for tape in tapes} == {(200, "", True)}
    machine.wait_until_stored(len(tapes))
    assert check_record(machine, tapes) == {"completed": len(tapes)}
    machine.server.wait_for("the journal is being emptied again")


@pytest.fixture
def full_soon(machine: Machine) -> Iterator[Machine]:
    """Its journal is on a disk with room for a few megabytes beyond the reserve."""
    if not can_mount():
        pytest.skip("a small disk can only be made by root")
    with small_disk(machine.var_dir / "journal", "20m"):
        yield machine
        machine.stop()


def fill(machine: Machine) -> None:
    """Record streams without a writer until the disk counts as full."""
    tapes = Load(machine.base_url, machine.key, 4, model="big?seed={seed}&speed=inf&chunks=4000").start().finish()
    assert all(tape.is_whole for tape in tapes)


def test_with_a_full_disk_new_streams_are_refused_and_running_ones_recorded(full_soon: Machine) -> None:
    full_soon.environment["JOURNAL_FULL"] = "refuse"
    full_soon.start_server()
    running = Load(full_soon.base_url, full_soon.key, 5, model="content?seed={seed}&chunks=400&pace=15").start()
    fill(full_soon)
    refused = until(lambda: [tape for tape in once(full_soon) if tape.status == 503])
    assert b"cannot record new streams: the journal's disk is full" in refused[0].received
    ready = httpx.get(f"{full_soon.base_url}/readyz", timeout=120)
    assert (ready.status_code, ready.json()["server"]) == (
        503,
        "streamviz cannot record new streams: the journal's disk is full",
    )
    tapes = running.finish()
    served = [tape for tape in tapes if tape.status == 200]
    assert len(served) >= 5
    assert {(tape.error, tape.is_whole) for tape in served} == {("", True)}
    full_soon.start_writer()
    full_soon.wait_until_stored(len(served))
    assert check_record(full_soon, served) == {"completed": len(served)}
    until(lambda: once(full_soon)[0].status == 200)


def test_with_a_full_disk_streams_go_on_unrecorded_where_that_is_set(full_soon: Machine) -> None:
    full_soon.environment["JOURNAL_FULL"] = "unrecorded"
    full_soon.start_server()
    running = Load(full_soon.base_url, full_soon.key, 5, model="content?seed={seed}&chunks=400&pace=15").start()
    fill(full_soon)
    assert full_soon.server
    until(lambda: all(tape.is_whole for tape in once(full_soon)) and "continue unrecorded" in full_soon.server.output())
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


def test_what_cannot_be_recorded_is_not_sent(full_soon: Machine) -> None:
    full_soon.environment["JOURNAL_FULL"] = "refuse"
    full_soon.start_server()
    running = Load(full_soon.base_url, full_soon.key, 5, model="content?seed={seed}&chunks=9000&pace=15").start()
    until(lambda: sum(bool(tape.received) for tape in running.tapes) >= 5)
    filler = full_soon.var_dir / "journal" / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    tapes = running.finish()
    filler.unlink()
    ended = [tape for tape in tapes if tape.status == 200]
    assert len(ended) >= 5
    assert all(b"can no longer be recorded" in tape.received and tape.is_whole for tape in ended)
    full_soon.start_writer()
    full_soon.wait_until_stored(len(ended))
    for tape in ended:
        # The final error message is the only thing that is not on its tape.
        tape.received = tape.received[: tape.received.index(b'data: {"error"')]
    assert check_record(full_soon, ended) == {"interrupted": len(ended)}
    until(lambda: once(full_soon)[0].status == 200)


def test_out_of_descriptors_new_streams_are_refused_and_running_ones_recorded(machine: Machine) -> None:
    machine.descriptors = 100
    machine.start_writer()
    machine.start_server()
    running = Load(machine.base_url, machine.key, 5, model="content?seed={seed}&chunks=300&pace=15").start()
    with ExitStack() as idle:
        # Idle connections use up the descriptors, like those of clients that never hang up.
        with suppress(OSError):
            for _ in range(200):
                idle.enter_context(socket.create_connection(("127.0.0.1", machine.port), timeout=1))
        tapes = running.finish()
    served = [tape for tape in tapes if tape.status == 200]
    assert len(served) >= 5
    assert {(tape.error, tape.is_whole) for tape in served} == {("", True)}
    assert {tape.status for tape in tapes} <= {0, 200, 503}
    until(lambda: once(machine)[0].status == 200)
    machine.wait_until_stored(len(served))
    assert check_record(machine, served) == {"completed": len(served)}


def once(machine: Machine) -> list[Tape]:
    """Make one short call."""
    return Load(machine.base_url, machine.key, 1, model="content?seed=1&speed=inf&chunks=3").start().finish()[:1]


def recorded(machine: Machine, tapes: list[Tape]) -> list[Tape]:
    """The tapes whose streams are in Postgres, once everything that can be is there."""
    machine.wait_until_stored(1)
    known = {row[0] for row in machine.query("SELECT name FROM records_session")}
    return [tape for tape in tapes if tape.session in known]
