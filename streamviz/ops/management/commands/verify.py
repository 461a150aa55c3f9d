"""`python manage.py verify`: check the record against itself."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from streamviz.live.presentation.figures import plural
from streamviz.ops.days import add_days, since
from streamviz.records.journal.folder import damaged as damaged_segments
from streamviz.records.journal.folder import refused
from streamviz.records.verification import strays, verify, wrong_sums

_TELL_EVERY = 10_000


class Command(BaseCommand):
    """Exits with status 1 if anything is damaged. Changes nothing."""

    help = "Check the record for gaps, blocks that differ from their chunks, and tapes that contradict verdicts."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_days(parser, "only streams of the last DAYS days")

    def handle(self, *args: Any, **options: Any) -> None:
        damaged = streams = 0
        for streams, found in enumerate(verify(since(options["days"])), 1):
            damaged += bool(found)
            for damage in found:
                self.stdout.write(f"{damage.stream_id}: {damage.what}")
            if streams % _TELL_EVERY == 0:
                self.stderr.write(f"{plural(streams, 'stream')} checked")
        others = [f"{damage.stream_id}: {damage.what}" for damage in strays()]
        others += [f"the half hour from {at}: its sums are not those of its streams" for at in wrong_sums()]
        others += [
            f"{path.stem}: Postgres would not take it; it is in {path}" for path in refused(settings.JOURNAL_DIR)
        ]
        others += [
            f"a segment of the journal was damaged; what was whole is stored, and it is in {path}"
            for path in damaged_segments(settings.JOURNAL_DIR)
        ]
        for line in others:
            self.stdout.write(line)
        self.stdout.write(f"{plural(streams, 'stream')} checked, {damaged + len(others)} damaged")
        if damaged or others:
            raise CommandError("The record is damaged.")
