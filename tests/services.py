"""Real processes for tests: streamviz itself, and Redis."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, urlencode

import httpx
import psycopg
from psycopg import sql

from streamviz.ops.embedded_postgres import DATABASE, USER, EmbeddedPostgres, socket_dir

ROOT = Path(__file__).resolve().parent.parent
READY = "curl -N"
OURS = {
    *("ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS", "DATABASE_REPLICA_URL", "DATABASE_URL", "DEBUG", "HOST"),
    *("LOG_LEVEL", "PORT", "REDIS_URL"),
    *("SECRET_KEY", "SECURE_COOKIES", "SIMULATOR_PORT", "SIMULATOR_URL", "VAR_DIR"),
}
# The first has no windows, and takes a fifth less time.
CHROMIUM_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
START_SECONDS = 240
STOP_SECONDS = 180


def _own_ports() -> Iterator[int]:
    """A share of the ports for each pytest worker, so that no port is given to two processes that have not bound it
    yet. All are above those that a browser refuses to open (the last is 10080), and below the kernel's ephemeral ports
    (ip_local_port_range), as the kernel might give a free one away."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    first, begin = 11_000 + 1000 * (worker % 20), os.getpid()
    return (first + place % 1000 for place in count(begin))


_PORTS = _own_ports()


def free_port() -> int:
    """A port that nothing listens on; the next call returns another one, whether or not this one is in use."""
    while True:
        port = next(_PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def chromium_program() -> str | None:
    """The installed Chromium, if any."""
    return next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)


def clean_environment(**changes: str) -> dict[str, str]:
    """This process's environment without streamviz's settings, except the given ones.

    PYTHONDONTWRITEBYTECODE is dropped: without bytecode, each start would compile all of streamviz again, which takes 2
    s of CPU. Huge pages are off, as most servers in tests are too short-lived to benefit.
    """
    unset = {*OURS, "PYTHONDONTWRITEBYTECODE"}
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    return kept | {"HUGE_PAGES": "0"} | changes


@contextmanager
def fresh_database(server: Mapping[str, Any], template: str = "template1") -> Iterator[str]:
    """The URL of a new copy of a database on the server in these Django settings; dropped at the end."""
    name = f"streamviz_test_{secrets.token_hex(6)}"
    address = {key: server.get(key.upper()) or None for key in ("user", "password", "host", "port")}
    with psycopg.connect(dbname="postgres", autocommit=True, **address) as connection:
        made = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
        connection.execute(made)
        try:
            yield _url(name, address)
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _url(database: str, address: Mapping[str, str | None]) -> str:
    user = ":".join(quote(part, safe="") for part in (address["user"], address["password"]) if part)
    where = urlencode({key: address[key] for key in ("host", "port") if address[key]})
    return f"postgresql://{user}@/{database}?{where}"


def url_of(server: EmbeddedPostgres) -> str:
    """The URL of its database."""
    return f"postgresql://{USER}@/{DATABASE}?host={quote(str(socket_dir(server.data)), safe='')}"


def migrate(url: str) -> None:
    """Create or change a database's tables, as an operator does, but without Django's checks of the whole code."""
    command = [sys.executable, "manage.py", "migrate", "-v0", "--skip-checks"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(command, cwd=ROOT, env=clean_environment(DATABASE_URL=url, VAR_DIR=folder), check=True)


@contextmanager
def _new_postgres(**options: str) -> Iterator[EmbeddedPostgres]:
    """A server that has not been started, in a folder that its account can reach."""
    folder = Path(tempfile.mkdtemp(prefix="streamviz-test-"))
    server = EmbeddedPostgres(folder / "postgres", options=options)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


def make_migrated(data: Path) -> None:
    """Create a folder with the data of a Postgres as `manage.py migrate` leaves it."""
    with _new_postgres(fsync="off") as server:
        server.start()
        migrate(url_of(server))
        server.stop()
        made = data.with_suffix(".new")
        copy_data(server.data, made)
        made.rename(data)


def copy_data(data: Path, to: Path) -> None:
    """Copy such data, in a twentieth of the time of creating it; no server may be running on it."""
    subprocess.run(["cp", "-a", data, to], check=True)


@contextmanager
def copied_postgres(data: Path, **options: str) -> Iterator[EmbeddedPostgres]:
    """A running Postgres with a copy of such data."""
    with _new_postgres(**options) as server:
        copy_data(data, server.data)
        server.start()
        yield server


class Program:
    """A process whose output is collected while it runs."""

    def __init__(self, command: list[str], environment: Mapping[str, str], folder: Path = ROOT) -> None:
        self._lines: list[str] = []
        self._news = threading.Condition()
        self._has_ended = False
        self.process = subprocess.Popen(
            command, cwd=folder, env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def output(self) -> str:
        """Its output so far."""
        return "".join(self._lines)

    def wait_for(self, text: str, seconds: float = START_SECONDS) -> None:
        """Wait until it has printed this. AssertionError if it exits first, or takes too long."""
        with self._news:
            in_time = self._news.wait_for(lambda: text in self.output() or self._has_ended, seconds)
        assert in_time, f"no {text!r} within {seconds} s:\n{self.output()}"
        assert text in self.output(), f"ended without {text!r}:\n{self.output()}"

    def wait(self, seconds: float = STOP_SECONDS) -> int:
        """Its exit status, once it has exited and all of its output has been read."""
        status = self.process.wait(seconds)
        self._reader.join(seconds)
        return status

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            with self._news:
                self._lines.append(line)
                self._news.notify_all()
        with self._news:
            self._has_ended = True
            self._news.notify_all()
        self.process.stdout.close()


class Streamviz:
    """`manage.py up`, or another `verb`, on its own ports. Like a person's, its folder and database outlive `stop` and
    `kill`.

    `cookies` are the administrator's, once someone has signed in with the one-time link for all tests that share it.
    `command` and `folder`: another way to run `manage.py`, and where.
    """

    command = [sys.executable, "manage.py"]
    verb = "up"
    folder = ROOT

    def __init__(self, var_dir: Path, environment: Mapping[str, str]) -> None:
        self.port = free_port()
        self.base_url = f"http://127.0.0.1:{self.port}"
        self.var_dir = var_dir
        self.api_key = ""
        self.sign_in_link = ""
        self.cookies: httpx.Cookies | None = None
        self._outputs: list[str] = []
        self._program: Program | None = None
        self.environment = clean_environment(
            PORT=str(self.port), SIMULATOR_PORT=str(free_port()), VAR_DIR=str(var_dir), **environment
        )

    def start(self) -> Self:
        """Start it and wait until it reports that it is running. The API key is kept from the first start."""
        program = self.begin()
        program.wait_for(READY)
        self.api_key = self._handed_over("first_key") or self.api_key
        self.sign_in_link = self._handed_over("sign_in_link")
        return self

    def _handed_over(self, name: str) -> str:
        """A secret, from the file that contains it if there is no terminal."""
        file = self.var_dir / name
        return file.read_text().strip() if file.exists() else ""

    def begin(self) -> Program:
        """Start it without waiting."""
        self._program = Program([*self.command, self.verb], self.environment, self.folder)
        return self._program

    def wait_for(self, text: str) -> None:
        """Wait until it has printed this."""
        assert self._program
        self._program.wait_for(text)

    def fail_to_start(self) -> tuple[int, str]:
        """Start it in a situation where it cannot start: the exit status and the output."""
        self.begin()
        return self.wait()

    def wait(self) -> tuple[int, str]:
        """Wait until it exits by itself: the exit status and the output."""
        assert self._program
        program, self._program = self._program, None
        status = program.wait()
        self._outputs.append(program.output())
        return status, program.output()

    def stop(self) -> int:
        """Ctrl-C: the exit status."""
        return self._end(signal.SIGINT)

    def kill(self) -> None:
        """Kill the supervisor without a chance to clean up."""
        self._end(signal.SIGKILL)

    def restart(self) -> Self:
        """Stop it and start it again on the same data."""
        self.stop()
        return self.start()

    @property
    def pid(self) -> int:
        """The supervisor's process id."""
        assert self._program
        return self._program.process.pid

    def output(self) -> str:
        """The output of all its runs."""
        return "\n".join(self._outputs + ([self._program.output()] if self._program else []))

    def _end(self, number: signal.Signals) -> int:
        if self._program is None:
            return 0
        self._program.process.send_signal(number)
        return self.wait()[0]


NewDatabase = Callable[[], AbstractContextManager[str]]
Serving = Callable[..., AbstractContextManager[Streamviz]]


class Redis:
    """A Redis server without persistence."""

    def __init__(self, program: str) -> None:
        self._program = program
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="streamviz-redis-")
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._folder.cleanup()

    @property
    def pid(self) -> int:
        """The id of the current process, or of the last one."""
        return self._running.process.pid

    def start(self) -> None:
        """Start it at the same address as before, after `kill`."""
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", self._folder.name]
        self._running = Program([self._program, *options], os.environ)
        self._running.wait_for("Ready to accept connections")

    def kill(self) -> None:
        """Kill it: it has nothing to clean up, and may be hanging."""
        self._running.process.kill()
        self._running.wait()
