"""What must be right before streamviz starts. Each check raises Fault with one line that says what to do."""

import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import NotSupportedError, OperationalError, connection
from django.db.utils import Error as DatabaseError

from streamviz.faults import Fault

LEAST_POSTGRES = 15


@contextmanager
def only_one_running(var_dir: Path) -> Iterator[None]:
    """Hold the folder for this process alone; the lock goes with the process, however it ends."""
    var_dir.mkdir(parents=True, exist_ok=True)
    with (var_dir / "up.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            raise Fault(
                f"streamviz is running already with {var_dir} (process {holder}). Stop it, or set VAR_DIR."
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
        raise Fault(
            f"Port {port} on {host} {why}. Set {variable} to another one, as in: {variable}={port + 80} make run"
        ) from None


def require_database() -> None:
    """Fault when the database cannot be reached or is too old. Says where it is, never the password."""
    place = _place(connection.settings_dict)
    try:
        with connection.cursor() as cursor:
            cursor.execute("SHOW server_version_num")
            version = int(cursor.fetchone()[0]) // 10000
    except (OperationalError, NotSupportedError, DatabaseError) as error:
        raise Fault(f"Cannot use the database at {place}: {_without_password(error)} Check DATABASE_URL.") from None
    if version < LEAST_POSTGRES:
        raise Fault(f"The database at {place} is Postgres {version}; {LEAST_POSTGRES} or newer is needed.")


def require_password_if_public() -> None:
    """Fault when other machines can reach the server and no administrator has a password to keep them out."""
    if not settings.PUBLIC:
        return
    administrators = User.objects.filter(is_superuser=True, is_active=True)
    if not any(user.has_usable_password() for user in administrators):
        raise Fault(
            f"HOST={settings.HOST} can be reached from other machines and no administrator has a password. "
            f"Set one first: python manage.py changepassword admin. "
            f"Or start once without HOST, sign in with the link, and set it in the admin."
        )


def _place(database: dict[str, Any]) -> str:
    return f"{database['HOST'] or 'localhost'}:{database['PORT'] or 5432}/{database['NAME']}"


def _without_password(error: Exception) -> str:
    """The first line of what the driver says, as a sentence."""
    line = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    password = connection.settings_dict["PASSWORD"]
    return f"{line.replace(password, '***') if password else line}."
