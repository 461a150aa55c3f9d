"""`python manage.py import FILE`: sessions that were exported, from this installation or another."""

import sys
from argparse import ArgumentParser
from typing import Any, BinaryIO

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
        parser.add_argument("file", help="the file, or - for standard input")

    def handle(self, *args: Any, **options: Any) -> None:
        with _opened(options["file"]) as file:
            self._store(file)

    def _store(self, file: BinaryIO) -> None:
        store = Store(conninfo)
        importing = Importing(store)
        try:
            importing.take(lines_of(file))
        except NotAnExport as error:
            raise CommandError(str(error)) from error
        finally:
            store.close()
        bare = f", {importing.bare} of them without their chunks" if importing.bare else ""
        self.stdout.write(f"{plural(importing.streams, 'stream')}{bare}")


def _opened(path: str) -> BinaryIO:
    """The file with this path, or standard input for `-`. Raises CommandError."""
    if path == "-":
        return sys.stdin.buffer
    try:
        return open(path, "rb")
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}.") from error
