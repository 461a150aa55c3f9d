"""The embedded server: a real one, in the tests' own folders."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest

from streamviz import cores
from streamviz.faults import Fault
from streamviz.ops.embedded_postgres import (
    DATABASE,
    USER,
    EmbeddedPostgres,
    _reason,
    kept,
    shared_buffers,
    socket_dir,
    upgraded,
)
from tests.services import Program, clean_environment

pytestmark = [pytest.mark.slow, pytest.mark.integration]

START_AND_STAY = """
import sys
from pathlib import Path
from streamviz.ops.embedded_postgres import EmbeddedPostgres
EmbeddedPostgres(Path(sys.argv[1])).start()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="streamviz-test-"))
    yield folder
    shutil.rmtree(folder)


def connect(data: Path) -> psycopg.Connection:
    return psycopg.connect(dbname=DATABASE, user=USER, host=str(socket_dir(data)), autocommit=True)


def server_process(data: Path) -> psutil.Process:
    return psutil.Process(int((data / "postmaster.pid").read_text().split()[0]))


def test_it_keeps_its_data_and_leaves_no_process(folder: Path) -> None:
    data = folder / "var" / "postgres"
    server = EmbeddedPostgres(data)
    server.start()
    with connect(data) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 'GRÜßE' AS word")
    process = server_process(data)
    server.stop()
    assert not process.is_running()

    server.start()
    with connect(data) as connection:
        assert connection.execute("SELECT lower(word) FROM kept").fetchone() == ("grüße",)
    server.stop()


@pytest.mark.parametrize(("gigabytes", "expected"), [(1, 128), (4, 256), (24, 512), (256, 512)])
def test_it_keeps_a_part_of_memory_for_the_record(gigabytes: int, expected: int) -> None:
    assert shared_buffers(gigabytes << 30) == expected


def test_a_server_has_that_part(folder: Path) -> None:
    server = EmbeddedPostgres(folder / "postgres")
    server.start()
    with connect(folder / "postgres") as connection:
        assert connection.execute("SHOW shared_buffers").fetchone() == (f"{shared_buffers(cores.memory())}MB",)
    server.stop()


def test_it_listens_on_no_network_address(folder: Path) -> None:
    server = EmbeddedPostgres(folder / "postgres")
    server.start()
    process = server_process(folder / "postgres")
    assert [each for each in process.net_connections() if each.laddr] == []
    server.stop()


@pytest.mark.parametrize("name", ["long" * 30, 'a, "b"'], ids=["too long", "of several hosts"])
def test_a_path_that_cannot_have_a_socket_gets_one_elsewhere(folder: Path, name: str) -> None:
    data = folder / name / "postgres"
    server = EmbeddedPostgres(data)
    server.start()
    assert socket_dir(data) != data
    connect(data).close()
    server.stop()
    assert not socket_dir(data).exists()


def test_what_a_killed_run_left_is_stopped_first(folder: Path) -> None:
    data = folder / "postgres"
    killed = Program([sys.executable, "-c", START_AND_STAY, str(data)], clean_environment())
    killed.wait_for("ready")
    leftover = server_process(data)
    killed.process.kill()
    killed.wait()
    assert leftover.is_running()

    said: list[str] = []
    server = EmbeddedPostgres(data, said.append)
    server.start()
    assert not leftover.is_running()
    assert said == ["Stopping the Postgres that an earlier run left behind"]
    server.stop()


def test_what_it_left_is_stopped_in_a_folder_that_has_another_name_now(folder: Path) -> None:
    killed = Program([sys.executable, "-c", START_AND_STAY, str(folder / "before" / "postgres")], clean_environment())
    killed.wait_for("ready")
    leftover = server_process(folder / "before" / "postgres")
    killed.process.kill()
    killed.wait()

    server = EmbeddedPostgres((folder / "before").rename(folder / "after") / "postgres")
    server.start()
    assert not leftover.is_running()
    server.stop()


def test_the_server_of_the_folder_that_it_was_copied_from_is_left_alone(folder: Path) -> None:
    server = EmbeddedPostgres(folder / "original")
    server.start()
    process = server_process(folder / "original")
    (folder / "copy").mkdir()
    shutil.copy(folder / "original" / "postmaster.pid", folder / "copy")
    EmbeddedPostgres(folder / "copy")._end_leftover()
    assert process.is_running()
    assert not (folder / "copy" / "postmaster.pid").exists()
    server.stop()


def test_a_server_killed_at_once_recovers(folder: Path) -> None:
    data = folder / "postgres"
    server = EmbeddedPostgres(data)
    server.start()
    process = server_process(data)
    children = process.children()
    process.send_signal(signal.SIGKILL)
    psutil.wait_procs([process, *children], timeout=120)
    assert server.has_ended()
    server.stop()

    server.start()
    connect(data).close()
    server.stop()


@pytest.mark.parametrize("name", ["postgres", "x" * 120], ids=["socket inside", "socket elsewhere"])
def test_files_of_a_killed_one_that_name_another_program_are_no_hindrance(folder: Path, name: str) -> None:
    """As after a restart of the machine, or of a container, where the same number is soon another program's."""
    data = folder / name
    server = EmbeddedPostgres(data)
    server.start()
    files = {file: file.read_text() for file in (data / "postmaster.pid", socket_dir(data) / ".s.PGSQL.5432.lock")}
    server.stop()
    # Postgres takes programs of other users for none of its own.
    with subprocess.Popen(["sleep", "600"], user=data.stat().st_uid) as other:
        try:
            for file, said in files.items():
                server._own_folder(file.parent)
                file.write_text(said.replace(said.split()[0], str(other.pid), 1))
            server.start()
            connect(data).close()
            server.stop()
            assert other.poll() is None
        finally:
            other.kill()


def test_a_folder_of_another_version_is_one_clear_line(folder: Path) -> None:
    data = folder / "postgres"
    data.mkdir()
    (data / "PG_VERSION").write_text("12\n")
    with pytest.raises(Fault, match="was made by Postgres 12, and this is 18"):
        EmbeddedPostgres(data).start()


def test_a_folder_that_is_no_database_is_one_clear_line(folder: Path) -> None:
    (folder / "postgres").mkdir()
    with pytest.raises(Fault, match="is not a usable Postgres folder"):
        EmbeddedPostgres(folder / "postgres").start()


@pytest.mark.parametrize(
    ("option", "why"),
    # If it cannot create a socket, the last thing that it logs is that it has shut down.
    [
        ({"max_connections": "none"}, "max_connections"),
        ({"unix_socket_directories": "/none"}, "lock file"),
        ({"default_transaction_read_only": "on"}, "cannot execute CREATE DATABASE"),
    ],
)
def test_a_server_that_cannot_start_says_why(folder: Path, option: dict[str, str], why: str) -> None:
    with pytest.raises(Fault, match=f"did not start: .*{why}"):
        EmbeddedPostgres(folder / "postgres", options=option).start()


def test_a_disk_that_is_full_is_why_no_database_can_be_made() -> None:
    said = "initdb: error: could not write file: No space left on device\ninitdb: removing contents of data directory\n"
    assert "No space left" in _reason(said)
    said = "FATAL:  could not extend file: No space left on device\nPANIC:  cannot abort transaction 1\n"
    assert "No space left" in _reason(said)
    said = (
        "ERROR:  could not write blocks 27..27 in file: No space left on device\nHINT:  Check free disk space.\n"
        "FATAL:  checkpoint request failed\nFATAL:  the database system is in recovery mode\n"
    )
    assert "No space left" in _reason(said)


def test_the_servers_log_is_its_owners_alone_and_quotes_nothing_that_was_said(folder: Path) -> None:
    data, log = folder / "postgres", folder / "postgres.log"
    log.write_text("of an earlier version\n")
    log.chmod(0o644)
    server = EmbeddedPostgres(data)
    server.start()
    with connect(data) as connection:
        connection.execute("CREATE TABLE notes (note text PRIMARY KEY)")
        for _ in range(2):
            with suppress(psycopg.Error):
                connection.execute("INSERT INTO notes SELECT 'hunter2'")
    server.stop()
    said = log.read_text()
    assert "duplicate key" in said
    assert "checkpoint" not in said
    assert "hunter2" not in said
    assert log.stat().st_mode & 0o777 == 0o600


def test_an_upgrade_that_was_killed_before_its_last_step_is_finished(folder: Path) -> None:
    """Otherwise it would seem that the database was never created."""
    data = folder / "postgres"
    server = EmbeddedPostgres(data)
    server.start()
    with connect(data) as connection:
        connection.execute("CREATE TABLE kept (word text)")
    server.stop()
    data.rename(upgraded(data))
    kept(data, "17").mkdir()
    server.start()
    with connect(data) as connection:
        assert connection.execute("SELECT * FROM kept").fetchall() == []
    server.stop()


def test_what_a_killed_first_start_left_is_made_anew(folder: Path) -> None:
    (folder / "postgres.new").mkdir()
    (folder / "postgres.new" / "PG_VERSION").write_text("18\n")
    server = EmbeddedPostgres(folder / "postgres")
    server.start()
    server.stop()
    assert not (folder / "postgres.new").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is given another user")
def test_root_gets_another_user_and_closed_folders_stay_closed_to_others(folder: Path) -> None:
    folder.chmod(0o700)
    data = folder / "var" / "postgres"
    server = EmbeddedPostgres(data)
    server.start()
    assert server_process(data).username() == "streamviz-postgres"
    server.stop()
    as_nobody = subprocess.run(["test", "-x", folder], cwd="/", user="nobody", group="nogroup", extra_groups=[])
    assert as_nobody.returncode != 0
