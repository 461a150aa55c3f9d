"""`python manage.py export`: sessions as lines of JSON, to be imported elsewhere."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from streamviz.ops.days import add_days, since
from streamviz.records.exporting import export
from streamviz.records.models import Session


class Command(BaseCommand):
    """Credentials are in no record, and so in no export; requests and answers are."""

    help = "Write sessions as JSON lines to a file, or to standard output."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("sessions", nargs="*", type=UUID, metavar="session", help="its id")
        add_days(parser, "all sessions from the last so many days")
        parser.add_argument("--output", metavar="FILE")

    def handle(self, *args: Any, **options: Any) -> None:
        ids = self._ids(options["sessions"], since(options["days"]))
        if options["output"]:
            try:
                with open(options["output"], "wb") as file:
                    file.writelines(export(ids))
            except OSError as error:
                raise CommandError(f"{options['output']}: {error.strerror}.") from error
        else:
            for line in export(ids):
                self.stdout.write(line.decode(), ending="")

    def _ids(self, named: list[UUID], first: datetime | None) -> list[UUID]:
        if first is not None:
            recent = Session.objects.filter(last_at__gte=first)
            named = [*named, *recent.order_by("started_at").values_list("pk", flat=True)]
        elif not named:
            raise CommandError("Give session ids or --days.")
        known = set(Session.objects.filter(pk__in=named).values_list("pk", flat=True))
        if missing := [str(each) for each in named if each not in known]:
            raise CommandError(f"No such session: {', '.join(missing)}.")
        return list(dict.fromkeys(named))
