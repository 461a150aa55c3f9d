"""`python manage.py retention`: free what no longer has to be kept; `--dry-run` says how much that would be."""

from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from streamviz.records.retention import Retaining, megabytes, run_retention


class Command(BaseCommand):
    """The writer does the same once a day."""

    help = "Delete chunks and streams that are past their retention (the settings RETAIN_*)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only print what each rule would free")

    def handle(self, *args: Any, **options: Any) -> None:
        now = datetime.now(UTC)
        if options["dry_run"]:
            self._show(now)
            return
        try:
            is_applied = run_retention(settings.RETENTION, now, self.stdout.write)
        except OperationalError as error:
            raise CommandError(f"Retention was applied only in part: {error}".strip()) from error
        if not is_applied:
            raise CommandError("Another process is already applying retention.")

    def _show(self, now: datetime) -> None:
        plan = Retaining(settings.RETENTION, now).plan()
        for freed in plan:
            self.stdout.write(f"{freed.rule}: {freed.number} {freed.what}, about {megabytes(freed.size)}")
        self.stdout.write(f"about {megabytes(sum(freed.size for freed in plan))} in all")
