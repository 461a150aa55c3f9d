"""`python manage.py upgrade_postgres`: move the embedded Postgres' data from an older major version to this one's."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from streamviz.faults import Fault, end_with
from streamviz.ops import checks, postgres_upgrade
from streamviz.ops.welcome import say


class Command(BaseCommand):
    """Needs the older version's programs, and room for the data twice; streamviz must not run."""

    help = "Take over the data of an embedded Postgres of an older major version. Stop streamviz first."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--old-programs", type=Path, required=True, metavar="FOLDER", help="folder with that version's `postgres`"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if not settings.EMBEDDED_POSTGRES:
                raise Fault("DATABASE_URL is set: there is no embedded Postgres.")
            with checks.only_one_running(settings.VAR_DIR):
                kept = postgres_upgrade.upgrade(settings.EMBEDDED_POSTGRES_DIR, options["old_programs"], say)
        except Fault as fault:
            end_with(fault)
        say(f"Done. Start streamviz, then look with `verify`; the old data is in {kept}, for you to delete")
