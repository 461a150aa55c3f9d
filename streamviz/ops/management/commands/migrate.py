"""`python manage.py migrate`: Django's, one at a time per database, however many machines start at once."""

import time
from collections.abc import Iterable
from typing import Any

from django.core.management import CommandError
from django.core.management.commands.migrate import Command as MigrateCommand
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import Migration, RunPython
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from psycopg.errors import DeadlockDetected, LockNotAvailable

# The number of an advisory lock that is held meanwhile.
_LOCK = 0x5356_4D47
# While a lock on a whole table is waited for, all later locks on it wait too, so each wait is short, and repeated.
LOCK_MILLISECONDS = 2000
PAUSE_SECONDS = 3.0
TRIES = 100


class Command(MigrateCommand):
    """A second one waits, and then finds nothing to do. Servers may run meanwhile."""

    help = "Bring the database up to date. Servers may run meanwhile."

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

    def migration_progress_callback(self, action: str, migration: Migration | None = None, fake: bool = False) -> None:
        """Before a migration begins, have what Django puts off until its end done as its last operation: Django notes a
        migration in its own transaction only if nothing is left to do by then, and one that was killed in between
        could not be gone on with."""
        if action == "apply_start" and migration is not None:
            # Each migration has a list of its own, for this purpose.
            last = RunPython(_catch_up, RunPython.noop)
            migration.operations = [*migration.operations, last]  # type: ignore[misc]
        super().migration_progress_callback(action, migration, fake)

    def _tell_of_newer(self, connection: BaseDatabaseWrapper) -> None:
        """Warn of a newer database, but go on: so do older servers while they are replaced one by one."""
        newest = _last(MigrationRecorder(connection).applied_migrations())
        if newest > _last(MigrationLoader(None).disk_migrations):
            self.stderr.write(
                f"The database was migrated by a newer version, up to records.{newest}. Use that one: this one may "
                "fail on what it does not know."
            )

    def _try_again(self, *args: Any, **options: Any) -> str | None:
        """Try until no table that has to change is in use. What was done by then stays."""
        for _ in range(TRIES - 1):
            try:
                return super().handle(*args, **options)
            except OperationalError as error:
                if not isinstance(error.__cause__, (LockNotAvailable, DeadlockDetected)):
                    raise
                self.stderr.write("A table is in use; trying again.")
                time.sleep(PAUSE_SECONDS)
        return super().handle(*args, **options)


def _catch_up(_: Any, editor: Any) -> None:
    for statement in editor.deferred_sql:
        editor.execute(statement, params=None)
    editor.deferred_sql.clear()


def _last(migrations: Iterable[tuple[str, str]]) -> str:
    """The name of the record's last migration; empty if it has none."""
    return max((name for app, name in migrations if app == "records"), default="")


def _require_whole(connection: BaseDatabaseWrapper) -> None:
    """Raises CommandError for a database with some, but not all, of the migrations that were squashed into one: Django
    would silently leave it as it is."""
    applied = MigrationRecorder(connection).applied_migrations()
    for migration in MigrationLoader(None).disk_migrations.values():
        missing = [name for name in migration.replaces if name not in applied]
        if missing and len(missing) < len(migration.replaces):
            raise CommandError(
                f"The database is too old for this version to upgrade: it lacks the migration {missing[0][1]}."
                " Run `manage.py migrate` of the commit 20421b6 first."
            )
