"""What to say about a database that cannot be used: where it is and what to do, never its password."""

from typing import Any

import psycopg
from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from psycopg.errors import InsufficientPrivilege, ReadOnlySqlTransaction, UndefinedColumn, UndefinedTable

from streamviz.environment import COMMAND
from streamviz.faults import Fault

# The class of Postgres' errors as it is just stopping or starting.
_ENDED = "57P"


def no_database(error: Exception) -> Fault:
    """What to say about a database that the driver cannot reach or use. Says where it is, never the password."""
    said = _without_password(error)
    if settings.EMBEDDED_POSTGRES:
        return Fault(
            f"DATABASE_URL is unset, and the embedded Postgres does not answer: {said} It runs while `{COMMAND} up` "
            "does: start that first, or set VAR_DIR to the folder that it runs in."
        )
    return Fault(f"{_cannot_use(said)} Check DATABASE_URL.")


def fault_of(error: psycopg.Error) -> Fault | None:
    """What to say about the error that ended a command; None if it cannot be fixed from outside."""
    if isinstance(error, InsufficientPrivilege):
        owner = "The role in DATABASE_URL is to own the database and all tables: change their owner, or restore as it."
        return Fault(f"{_cannot_use(_without_password(error))} {owner}")
    if isinstance(error, ReadOnlySqlTransaction):
        return read_only()
    if isinstance(error, UndefinedTable | UndefinedColumn) and _is_behind():
        return Fault(f"{_cannot_use(_without_password(error))} Run `{COMMAND} migrate`, or check DATABASE_URL.")
    if not isinstance(error, psycopg.OperationalError):
        return None
    # An error that Postgres itself did not send is about the connection, and so is the last that it sends before it
    # stops.
    if not error.sqlstate or error.sqlstate.startswith(_ENDED):
        return no_database(error)
    return Fault(_cannot_use(_without_password(error)))


def read_only() -> Fault:
    """What to say about a database to which nothing can be written."""
    return Fault(_cannot_use("it is read-only, as replicas are. Set DATABASE_URL to the primary."))


def _is_behind() -> bool:
    """Whether the database lacks a migration of this version."""
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def place_of(database: dict[str, Any]) -> str:
    """The database's host, port and name, as whoever set it up knows them."""
    return f"{database['HOST'] or 'localhost'}:{database['PORT'] or 5432}/{database['NAME']}"


def _cannot_use(why: str) -> str:
    return f"Cannot use the database at {place_of(connection.settings_dict)}: {why}"


def _without_password(error: Exception) -> str:
    """The first line of the driver's message as a sentence, with the password masked."""
    line = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    password = connection.settings_dict["PASSWORD"]
    return f"{line.replace(password, '***') if password else line}."
