"""`python manage.py migrate`: Django's, one at a time for a database, however many machines start at once."""

from typing import Any

from django.core.management import CommandError
from django.core.management.commands.migrate import Command as MigrateCommand
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

# An advisory lock of this number is held meanwhile.
_LOCK = 0x5356_4D47


class Command(MigrateCommand):
    """The second waits, and then finds nothing to do."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        connection = connections[options["database"]]
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
        try:
            _require_whole(connection)
            return super().handle(*args, **options)
        finally:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])


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
