"""What must be right before streamviz starts. Each check raises Fault with one line that says what to do."""

import errno
import fcntl
import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import psycopg
from django.conf import settings
from django.contrib.auth.models import User
from django.db import DEFAULT_DB_ALIAS, NotSupportedError, OperationalError, connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.utils import Error as DatabaseError
from psycopg import sql
from psycopg.errors import InsufficientPrivilege, UndefinedColumn, UndefinedTable

from streamviz.environment import COMMAND
from streamviz.faults import Fault, Refused
from streamviz.records import replica
from streamviz.records.database import conninfo

LEAST_POSTGRES = 15
LEAST_PASSWORD = 12
# A notification takes a few ms; a database under load is given its time.
NOTIFY_SECONDS = 5.0


def require_folder(var_dir: Path) -> None:
    """Make the folder where there is none. Fault where nothing can be written into it."""
    try:
        var_dir.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=var_dir).close()
    except OSError as error:
        raise Fault(f"VAR_DIR={var_dir} cannot be used: {error.strerror}.") from None


@contextmanager
def only_one_running(var_dir: Path) -> Iterator[None]:
    """Hold the folder for this process alone; the lock goes with the process, however it ends."""
    with (var_dir / "up.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            raise Fault(
                f"streamviz is already running in {var_dir} (process {holder}). Stop it, or set VAR_DIR."
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


def require_free_port(host: str, port: int, variable: str) -> None:
    """Fault when nothing can listen there; `variable` is the setting that moves it."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except socket.gaierror:
        raise Fault(f"HOST={host} is not an address that can be looked up.") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            why = "is in use by another program"
        else:
            why = f"cannot be used ({(error.strerror or str(error)).lower()})"
        other = port + 80 if port < 60_000 else port - 80
        raise Fault(
            f"Port {port} on {host} {why}. Set {variable} to another one, such as {variable}={other}."
        ) from None


def require_database() -> None:
    """Fault when the database cannot be reached or is too old."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SHOW server_version_num")
            version = int(cursor.fetchone()[0]) // 10000
    except (OperationalError, NotSupportedError, DatabaseError) as error:
        raise no_database(error) from None
    if version < LEAST_POSTGRES:
        place = _place(connection.settings_dict)
        raise Fault(f"The database at {place} is Postgres {version}; {LEAST_POSTGRES} or newer is needed.")
    require_own_sessions()


def no_database(error: Exception) -> Fault:
    """What to say of a database that the driver cannot reach, or cannot use. Says where it is, never the password."""
    said = _without_password(error)
    if settings.EMBEDDED_POSTGRES:
        return Fault(
            f"DATABASE_URL is unset, and the embedded Postgres does not answer: {said} It runs while `{COMMAND} up` "
            "does: start that first."
        )
    return Fault(f"{_cannot_use(said)} Check DATABASE_URL.")


def fault_of(error: psycopg.Error) -> Fault | None:
    """What to say of what a command ended with, where that can be put right from outside."""
    if isinstance(error, InsufficientPrivilege):
        owner = "The role in DATABASE_URL is to own all tables: restore them as that role, or change their owner."
        return Fault(f"{_cannot_use(_without_password(error))} {owner}")
    if isinstance(error, UndefinedTable | UndefinedColumn) and _is_behind():
        return Fault(f"{_cannot_use(_without_password(error))} Run `{COMMAND} migrate`, or check DATABASE_URL.")
    # One that Postgres itself did not send is of a connection.
    is_unreached = isinstance(error, psycopg.OperationalError) and not error.sqlstate
    return no_database(error) if is_unreached else None


def _is_behind() -> bool:
    """Whether the database lacks a migration of this version."""
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def require_own_sessions() -> None:
    """Fault where a pooler in transaction mode stands before the database: changes of policies and keys are listened
    for, and locks held, for as long as a connection lasts, and there each transaction may be on another one."""
    try:
        with psycopg.connect(conninfo(), autocommit=True) as one, psycopg.connect(conninfo(), autocommit=True) as other:
            is_heard = hears(one, other)
    except psycopg.Error as error:
        raise no_database(error) from None
    if not is_heard:
        place = _place(connection.settings_dict)
        raise Fault(
            f"The database at {place} is behind a pooler in transaction mode, such as PgBouncer: what one connection "
            "listens for does not reach it. Set DATABASE_URL to Postgres itself, or have it pool sessions "
            "(pool_mode=session)."
        )


def hears(one: psycopg.Connection, other: psycopg.Connection) -> bool:
    """Whether what `other` notifies of reaches `one`, which listens: a pooler of transactions has given its backend to
    somebody else by then."""
    channel = sql.Identifier(f"streamviz_probe_{secrets.token_hex(8)}")
    one.execute(sql.SQL("LISTEN {}").format(channel))
    other.execute(sql.SQL("NOTIFY {}").format(channel))
    return any(one.notifies(timeout=NOTIFY_SECONDS, stop_after=1))


def require_password_if_public() -> None:
    """Refused when other machines can reach the server and no administrator has a password to keep them out."""
    if settings.PUBLIC and not has_administrators_password():
        # The embedded Postgres ends with this start, and there would be no database to run a command on.
        command = f"Run `{COMMAND} createsuperuser`, or `changepassword` with the administrator's name. Or start"
        raise Refused(
            f"HOST={settings.HOST} can be reached from other machines and no administrator has a password. "
            f"{'Start' if settings.EMBEDDED_POSTGRES else command} once without HOST, sign in with the link, and set "
            "it on the Account page."
        )


def has_administrators_password() -> bool:
    """Whether any administrator has a password to sign in with."""
    administrators = User.objects.filter(is_superuser=True, is_active=True)
    return any(user.has_usable_password() for user in administrators)


def require_database_password_if_public() -> None:
    """Refused when other machines can reach the server, and a database has a password that can be guessed."""
    for name, alias in (("DATABASE_URL", DEFAULT_DB_ALIAS), ("DATABASE_REPLICA_URL", replica.ALIAS)):
        password = connections[alias].settings_dict["PASSWORD"] if alias in settings.DATABASES else ""
        if settings.PUBLIC and password and len(password) < LEAST_PASSWORD:
            raise Refused(f"The password in {name} is too weak: it needs at least {LEAST_PASSWORD} characters.")


def _place(database: dict[str, Any]) -> str:
    return f"{database['HOST'] or 'localhost'}:{database['PORT'] or 5432}/{database['NAME']}"


def _cannot_use(why: str) -> str:
    return f"Cannot use the database at {_place(connection.settings_dict)}: {why}"


def _without_password(error: Exception) -> str:
    """The first line of what the driver says, as a sentence."""
    line = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    password = connection.settings_dict["PASSWORD"]
    return f"{line.replace(password, '***') if password else line}."
