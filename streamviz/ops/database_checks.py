"""Whether the database can be used: it answers, is new enough, and each connection is a session."""

import secrets

import psycopg
from django.db import NotSupportedError, OperationalError, connection
from django.db.utils import Error as DatabaseError
from psycopg import sql

from streamviz.faults import Fault
from streamviz.ops.database_faults import no_database, place_of, read_only
from streamviz.records.database import conninfo

LEAST_POSTGRES = 15
# A notification takes a few ms; a database under load may take longer.
NOTIFY_SECONDS = 5.0


def require_database() -> None:
    """Raises Fault if the database cannot be reached, is too old or read-only, or is behind a transaction pooler."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('server_version_num'), current_setting('transaction_read_only')")
            told, is_read_only = cursor.fetchone()
            version = int(told) // 10000
    except (OperationalError, NotSupportedError, DatabaseError) as error:
        raise no_database(error) from None
    if version < LEAST_POSTGRES:
        place = place_of(connection.settings_dict)
        raise Fault(f"The database at {place} is Postgres {version}; {LEAST_POSTGRES} or newer is needed.")
    if is_read_only == "on":
        raise read_only()
    require_own_sessions()


def require_own_sessions() -> None:
    """Raises Fault if the database is behind a pooler in transaction mode. Changes of policies and keys are listened
    for, and locks held, as long as a connection lasts; behind such a pooler each transaction may be on another."""
    try:
        with psycopg.connect(conninfo(), autocommit=True) as one, psycopg.connect(conninfo(), autocommit=True) as other:
            is_heard = hears(one, other)
    except psycopg.Error as error:
        raise no_database(error) from None
    if not is_heard:
        place = place_of(connection.settings_dict)
        raise Fault(
            f"The database at {place} is behind a pooler in transaction mode, such as PgBouncer: what one connection "
            "listens for does not reach it. Set DATABASE_URL to Postgres itself, or have it pool sessions "
            "(pool_mode=session)."
        )


def hears(one: psycopg.Connection, other: psycopg.Connection) -> bool:
    """Whether a notification from `other` reaches `one`, which listens. A transaction pooler has given the backend of
    `one` to somebody else by then."""
    channel = sql.Identifier(f"streamviz_probe_{secrets.token_hex(8)}")
    one.execute(sql.SQL("LISTEN {}").format(channel))
    other.execute(sql.SQL("NOTIFY {}").format(channel))
    return any(one.notifies(timeout=NOTIFY_SECONDS, stop_after=1))
