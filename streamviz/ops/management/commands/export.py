"""`python manage.py export`: sessions as JSON lines, to be imported elsewhere."""

import fcntl
import os
import shutil
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from streamviz.live.presentation.figures import plural
from streamviz.ops.days import add_days, since
from streamviz.records.archive.bucket import ObjectAway, ObjectLost
from streamviz.records.exporting import export
from streamviz.records.models import Session

# How the names of files begin that are not whole yet.
_HALF = ".streamviz-export-"


class Command(BaseCommand):
    """The record has no credentials, and so an export has none; requests and answers are in it."""

    help = "Write sessions as JSON lines to a file, or to standard output."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("sessions", nargs="*", type=UUID, metavar="session", help="a session's id")
        add_days(parser, "all sessions of the last DAYS days")
        parser.add_argument(
            "--output", metavar="FILE", help="file to write; an existing one is replaced once all is exported"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self._without_tapes = self._refused = 0
        lines = export(self._ids(options["sessions"], since(options["days"])), self._tell)
        if options["output"]:
            try:
                _save(path := Path(options["output"]), self._unless_worse(path, lines))
            except OSError as error:
                raise CommandError(f"{options['output']}: {error.strerror}.") from error
        else:
            for line in lines:
                self.stdout.write(line.decode(), ending="")
        if self._without_tapes:
            raise CommandError(f"Everything is exported except the chunks of {plural(self._without_tapes, 'stream')}.")

    def _unless_worse(self, path: Path, lines: Iterable[bytes]) -> Iterator[bytes]:
        """The same lines. Raises CommandError after them if the storage has chunks that it cannot deliver now, which
        the existing file may have. Chunks that the storage has lost must not keep later exports from that file."""
        yield from lines
        if self._refused and path.is_file() and path.stat().st_size:
            raise CommandError(
                f"{path} is unchanged: the chunks of {plural(self._refused, 'stream')} cannot be read. Everything"
                " else can be exported to another file."
            )

    def _tell(self, stream_id: UUID, why: ObjectAway) -> None:
        self._without_tapes += 1
        self._refused += not isinstance(why, ObjectLost)
        self.stderr.write(f"{stream_id}: its chunks cannot be read: {why}")

    def _ids(self, named: list[UUID], first: datetime | None) -> list[UUID]:
        if first is not None:
            recent = Session.objects.filter(last_at__gte=first)
            named = [*named, *recent.order_by("started_at").values_list("pk", flat=True)]
        elif not named:
            raise CommandError("Name sessions by their ids, or use --days.")
        known = set(Session.objects.filter(pk__in=named).values_list("pk", flat=True))
        if missing := [str(each) for each in named if each not in known]:
            raise CommandError(f"No such session: {', '.join(missing)}.")
        return list(dict.fromkeys(named))


def _save(path: Path, lines: Iterable[bytes]) -> None:
    """Write a file, in place of an existing one once it is complete. A new file is for its owner only. A pipe or a
    device is written to directly. Raises OSError."""
    if path.exists() and not path.is_file():
        with path.open("wb") as there:
            there.writelines(lines)
        return
    path = path.resolve()
    _remove_half_ones(path.parent)
    with NamedTemporaryFile(dir=path.parent, prefix=_HALF, delete=False) as fresh:
        try:
            with suppress(OSError):  # not every file system can
                fcntl.flock(fresh, fcntl.LOCK_EX)
            fresh.writelines(lines)
            fresh.flush()
            os.fsync(fresh.fileno())
            with suppress(FileNotFoundError):
                _hand_on(path, fresh.name)
            os.replace(fresh.name, path)
        except BaseException:
            os.unlink(fresh.name)
            raise


def _remove_half_ones(folder: Path) -> None:
    """Remove what exports that were killed have left in a folder: nobody has it locked. One that has just been made is
    empty, and may not be locked yet."""
    for half in folder.glob(f"{_HALF}*"):
        with suppress(OSError), half.open("rb") as there:
            fcntl.flock(there, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(there.fileno()).st_size:
                half.unlink()


def _hand_on(path: Path, fresh: str) -> None:
    """Give a new file the mode of the one that it replaces, and its owner if the system allows: whoever reads the old
    one has to be able to read the new one. Raises FileNotFoundError if there is none to replace."""
    there = path.stat()
    with suppress(OSError):
        os.chown(fresh, there.st_uid, there.st_gid)
    shutil.copymode(path, fresh)
