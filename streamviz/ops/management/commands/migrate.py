"""`python manage.py migrate`: Django's, one at a time for a database, however many machines start at once."""

import time
from collections.abc import Iterable
from typing import Any

from django.core.management import CommandError
from django.core.management.commands.migrate import Command as MigrateCommand
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from psycopg.errors import DeadlockDetected, LockNotAvailable

# An advisory lock of this number is held meanwhile.
_LOCK = 0x5356_4D47
# Whoever waits for a whole table keeps all waiting who come after, so that is not for long, but often.
LOCK_MILLISECONDS = 2000
PAUSE_SECONDS = 3.0
TRIES = 100


class Command(MigrateCommand):
    """The second waits, and then finds nothing to do. Servers may run meanwhile."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        connection = connections[options["database"]]
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
        try:
            _require_whole(connection)
            self._tell_of_newer(connection)
            with connection.cursor() as cursor:
                cursor.execute(f"SET lock_timeout = {LOCK_MILLISECONDS}")
            return self._try_again(*args, **options)
        finally:
            with connection.cursor() as cursor:
                cursor.execute("RESET lock_timeout")
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])

    def _tell_of_newer(self, connection: BaseDatabaseWrapper) -> None:
        """It goes on all the same: servers of the version before do, while others are replaced by turns."""
        newest = _last(MigrationRecorder(connection).applied_migrations())
        if newest > _last(MigrationLoader(None).disk_migrations):
            self.stderr.write(
                f"The database was migrated by a newer version, up to records.{newest}. Use that one: this one may "
                "fail on what it does not know."
            )

    def _try_again(self, *args: Any, **options: Any) -> str | None:
        """Until nobody keeps a table that is to be changed. What was done by then stays."""
        for _ in range(TRIES - 1):
            try:
                return super().handle(*args, **options)
            except OperationalError as error:
                if not isinstance(error.__cause__, (LockNotAvailable, DeadlockDetected)):
                    raise
                self.stderr.write("A table is in use; trying again.")
                time.sleep(PAUSE_SECONDS)
        return super().handle(*args, **options)


def _last(migrations: Iterable[tuple[str, str]]) -> str:
    """The name of the record's last, empty where it has none."""
    return max((name for app, name in migrations if app == "records"), default="")


def _require_whole(connection: BaseDatabaseWrapper) -> None:
    """Raise CommandError for a database that has some of the migrations that were put together into one, and not all:
    Django would leave it as it is and say nothing."""
    applied = MigrationRecorder(connection).applied_migrations()
    for migration in MigrationLoader(None).disk_migrations.values():
        missing = [name for name in migration.replaces if name not in applied]
        if missing and len(missing) < len(migration.replaces):
            raise CommandError(
                f"The database is older than this version can take over: it lacks the migration {missing[0][1]}."
                " Run `manage.py migrate` of the commit 20421b6 first."
            )
