"""What a page does while Postgres is away, or keeps it waiting."""

from typing import Any

from django.db import DatabaseError, InterfaceError
from django.db.backends.base.base import BaseDatabaseWrapper

# Somebody who waits for a page reloads it sooner.
LOCK_SECONDS = 5


def wait_briefly(connection: BaseDatabaseWrapper, **signal: Any) -> None:
    """For Django's signal `connection_created`: a page fails where it would wait for a lock for longer."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")


def is_away(error: BaseException | None) -> bool:
    """Whether a page failed because Postgres could not answer."""
    return isinstance(error, DatabaseError | InterfaceError)
