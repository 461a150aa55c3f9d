"""`python manage.py import FILE`: sessions that were exported, from this installation or another."""

from argparse import ArgumentParser, FileType
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from streamviz.live.presentation.figures import plural
from streamviz.records.database import conninfo
from streamviz.records.importing import Importing, NotAnExport, lines_of
from streamviz.records.writer.store import Store


class Command(BaseCommand):
    """Importing twice changes nothing the second time."""

    help = "Store the sessions of a file that `export` wrote; - is standard input."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=FileType("rb"))

    def handle(self, *args: Any, **options: Any) -> None:
        store = Store(conninfo)
        importing = Importing(store)
        try:
            with options["file"] as file:
                importing.take(lines_of(file))
        except NotAnExport as error:
            raise CommandError(str(error)) from error
        finally:
            store.close()
        bare = f", {importing.bare} of them without their chunks" if importing.bare else ""
        self.stdout.write(f"{plural(importing.streams, 'stream')}{bare}")
