"""A server and a writer as separate processes, each of which can be killed by itself."""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg
from django.contrib.auth.hashers import make_password

from streamviz.records.models.access import digest
from streamviz.records.writer.status import writer_status
from tests.e2e.load import ENDED, Tape
from tests.e2e.proxied import CLIENT_TAPE, until
from tests.services import ROOT, Program, clean_environment, free_port

ADMINISTRATOR = {"username": "alice", "password": "correct horse battery"}
NEW_ADMINISTRATOR = """
INSERT INTO auth_user (
    username, password, first_name, last_name, email, is_superuser, is_staff, is_active, date_joined
) VALUES (%s, %s, '', '', 'a@example.com', true, true, true, now())
"""
STREAMS = """
SELECT session.name, stream.id, stream.outcome, stream.error, stream.chunk_count, stream.frame_count
FROM records_stream AS stream JOIN records_session AS session ON session.id = session_id
"""
NOT_IN_ORDER = """
SELECT stream_id FROM (
    SELECT stream_id, seq, row_number() OVER (PARTITION BY stream_id ORDER BY seq) - 1 AS place FROM records_chunk
) AS each WHERE seq <> place
UNION
SELECT stream_id FROM (
    SELECT stream_id, number, row_number() OVER (PARTITION BY stream_id ORDER BY number) - 1 AS place FROM records_frame
) AS each WHERE number <> place
"""


class Machine:
    """What `manage.py up` starts, each part by itself. `descriptors` is how many files and connections the server may
    open (0: the default); `root` is the checkout that it runs."""

    def __init__(self, var_dir: Path, database_url: str, simulator_port: int, **settings: str) -> None:
        self.var_dir = var_dir
        self.port = free_port()
        self.base_url = f"http://127.0.0.1:{self.port}"
        self.key = f"sv-{secrets.token_urlsafe(32)}"
        self.database_url = database_url
        self.environment = clean_environment(
            DATABASE_URL=database_url,
            PORT=str(self.port),
            VAR_DIR=str(var_dir),
            SIMULATOR_URL=f"http://127.0.0.1:{simulator_port}",
            **settings,
        )
        self.descriptors = 0
        self.root = ROOT
        self.server: Program | None = None
        self.writer: Program | None = None
        self.said: list[str] = []

    def prepare(self) -> None:
        """Create a key; the tables exist already."""
        with psycopg.connect(self.database_url) as connection:
            values = ("load", self.key[:8], digest(self.key))
            statement = "INSERT INTO records_apikey (name, prefix, digest, created_at) VALUES (%s, %s, %s, now())"
            connection.execute(statement, values)

    def add_administrator(self) -> None:
        """Create a user who may see and do everything."""
        with psycopg.connect(self.database_url) as connection:
            connection.execute(NEW_ADMINISTRATOR, [ADMINISTRATOR["username"], make_password(ADMINISTRATOR["password"])])

    @contextmanager
    def browser(self) -> Iterator[httpx.Client]:
        """A client that is signed in as the administrator; it runs no scripts."""
        with httpx.Client(base_url=self.base_url, timeout=120) as http:
            http.get("/sign-in/")
            form = ADMINISTRATOR | {"csrfmiddlewaretoken": http.cookies["csrftoken"]}
            assert http.post("/sign-in/", data=form).status_code == 302
            yield http

    def manage(self, *arguments: str) -> str:
        """Run a management command and return its output."""
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(command, cwd=self.root, env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start_server(self) -> None:
        limit = ["sh", "-c", f'ulimit -n {self.descriptors}; exec "$@"', "sh"] if self.descriptors else []
        self.server = self._start("serve", *limit)
        self.server.wait_for("Listening on")

    def start_writer(self) -> None:
        """Wait until the writer has reported its status: if it hung before, the server would not know of it."""
        self.writer = self._start("write")
        pid = self.writer.process.pid
        until(lambda: (said := writer_status(self.var_dir / "journal")) and said.pid == pid)

    def kill_server(self) -> None:
        """Give it no chance to clean up."""
        assert self.server
        self._end(self.server, signal.SIGKILL)

    def kill_writer(self) -> None:
        """Give it no chance to clean up."""
        assert self.writer
        self._end(self.writer, signal.SIGKILL)

    def stop(self) -> None:
        """Stop like `up`: first the server, then the writer, which stores everything that is left."""
        for program in (self.server, self.writer):
            if program is not None:
                self._end(program, signal.SIGTERM)

    def query(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows of a statement, on a new connection."""
        with psycopg.connect(self.database_url) as connection:
            return connection.execute(statement, values).fetchall()

    def wait_until_stored(self, streams: int) -> None:
        """Wait until at least `streams` streams are in Postgres and none is open."""
        counts = "SELECT count(*), count(*) FILTER (WHERE outcome = '') FROM records_stream"
        # One connection for all checks: a new one costs Postgres ten times as much as the check.
        with psycopg.connect(self.database_url, autocommit=True) as connection:

            def is_so() -> bool:
                [(stored, is_open)] = connection.execute(counts).fetchall()
                return bool(stored >= streams and not is_open)

            until(is_so, 120)

    def _start(self, command: str, *before: str) -> Program:
        return Program([*before, sys.executable, "manage.py", command], self.environment, self.root)

    def _end(self, program: Program, number: signal.Signals) -> None:
        program.process.send_signal(number)
        program.wait()
        self.said.append(program.output())


def check_record(machine: Machine, tapes: list[Tape]) -> dict[str, int]:
    """Check that every byte that a client received is in its stream's record, once and in order, and that `verify`
    finds no damage; returns the number of streams by outcome.

    Raises AssertionError if anything is missing or duplicated.
    """
    assert ", 0 damaged" in machine.manage("verify")
    assert machine.query(NOT_IN_ORDER) == []
    streams = {row[0]: row[1:] for row in machine.query(STREAMS)}
    outcomes: dict[str, int] = {}
    with psycopg.connect(machine.database_url) as connection:
        for tape in tapes:
            if not tape.received:
                continue
            stream_id, outcome, *_ = streams[tape.session]
            recorded = _client_tape(connection, stream_id)
            assert recorded.startswith(tape.received), tape.session
            # Frames are recorded before they are sent: a server may be killed in between.
            assert outcome == "interrupted" or recorded.endswith(ENDED), (tape.session, outcome)
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
    return outcomes


def _client_tape(connection: psycopg.Connection, stream_id: UUID) -> bytes:
    row = connection.execute(CLIENT_TAPE, [stream_id]).fetchone()
    assert row
    return bytes(row[0])


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """A file system of this size at `folder`, in memory. Needs root."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def can_mount() -> bool:
    """Whether this process may mount a file system."""
    return os.geteuid() == 0 and subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0
