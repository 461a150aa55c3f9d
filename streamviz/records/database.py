"""Connections to Postgres: those that psycopg makes without Django, when a thread gives back Django's, and what a page
does while Postgres is away or keeps it waiting."""

from typing import Any

from django.conf import settings
from django.db import InterfaceError, InternalError, OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.conninfo import make_conninfo

_NAMES = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
# A page waits no longer than this for a lock: people would have reloaded it by then.
LOCK_SECONDS = 5


def conninfo() -> str:
    """The connection string of Django's default database, outside its pool: for what listens, or copies for long."""
    database = settings.DATABASES["default"]
    parts = {name: str(database[key]) for key, name in _NAMES.items() if database.get(key)}
    options = {name: value for name, value in database.get("OPTIONS", {}).items() if name != "pool"}
    return make_conninfo("", **parts, **options)


def give_back() -> None:
    """Release this thread's connections to others, unless in a transaction; the thread gets them again at its next
    query. Call it before anything that a client can make last long."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()


def wait_briefly(connection: BaseDatabaseWrapper, **signal: Any) -> None:
    """Handler of Django's signal `connection_created`: makes a page fail instead of waiting longer for a lock."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")


def is_away(error: BaseException | None) -> bool:
    """Whether a page failed because Postgres could not answer, rather than because of what it was asked."""
    return isinstance(error, OperationalError | InterfaceError | InternalError)
