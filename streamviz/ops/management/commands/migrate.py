"""`python manage.py migrate`: Django's, one at a time for a database, however many machines start at once."""

from typing import Any

from django.core.management.commands.migrate import Command as MigrateCommand
from django.db import connections

# An advisory lock of this number is held meanwhile.
_LOCK = 0x5356_4D47


class Command(MigrateCommand):
    """The second waits, and then finds nothing to do."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        connection = connections[options["database"]]
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
        try:
            return super().handle(*args, **options)
        finally:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])
