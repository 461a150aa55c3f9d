"""`python manage.py seed_history`: a made-up history for trying out pages and queries."""

from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import Any

import psycopg
from django.core.management.base import BaseCommand, CommandError

from streamviz.ops.days import since
from streamviz.records.database import conninfo
from streamviz.records.half_hours import put_together
from streamviz.records.models import PolicyVersion
from streamviz.records.multiplying import multiply
from streamviz.records.partitions import FIRST
from streamviz.records.seeding import Size, seed


class Command(BaseCommand):
    """Adds to what is there. On an empty database, the same arguments give the same streams, except for their times."""

    help = "Store made-up streams as if they had been recorded. Add --days and sizes to taste."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--streams", type=int, default=2_000, help="how many streams (default %(default)s)")
        parser.add_argument("--chunks", type=int, default=200_000, help="about how many in all (default %(default)s)")
        parser.add_argument("--streams-a-session", type=int, default=10, help="default %(default)s")
        parser.add_argument("--days", type=int, default=7, help="age of the oldest stream (default %(default)s)")
        parser.add_argument(
            "--copies", type=int, default=0, help="more copies of each, without chunks (default %(default)s)"
        )
        parser.add_argument("--seed", type=int, default=1, help="another one gives other streams (default %(default)s)")

    def handle(self, *args: Any, **options: Any) -> None:
        version = PolicyVersion.objects.order_by("pk").first()
        if version is None:
            raise CommandError("There are no policies to take verdicts from; is the database migrated?")
        sizes = ("streams", "chunks", "streams_a_session", "days")
        if any(options[name] < 1 for name in sizes):
            raise CommandError("Every size must be at least 1.")
        first = since(options["days"])
        if first is None or first < FIRST:
            raise CommandError(f"--days takes a number of days, back to {FIRST:%Y-%m-%d} at most.")
        size = Size(*(options[name] for name in sizes))
        with psycopg.connect(conninfo(), autocommit=True) as connection:
            seed(connection, size, datetime.now(UTC), options["seed"], version.pk, self.stdout.write)
            if options["copies"] > 0:
                multiply(connection, options["copies"], self.stdout.write)
            put_together(connection)
            connection.execute("VACUUM ANALYZE")
