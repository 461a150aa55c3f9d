"""`python manage.py write`: the writer alone, which moves what servers recorded into Postgres."""

import signal
from threading import Event
from typing import Any

from django.conf import settings

from streamviz import descriptors, figures
from streamviz.cores import give_way
from streamviz.faults import Fault, end_with
from streamviz.ops import checks
from streamviz.ops.command_line import SetByEnvironment
from streamviz.ops.stopping import stopped_by
from streamviz.records.database import conninfo

# If they share a processor, clients and people who watch them come before the record's way into Postgres.
NICENESS = 10


class Command(SetByEnvironment):
    """Runs until SIGINT or SIGTERM, then stores what is there and ends. One per machine, next to its servers."""

    help = "Move what this machine's servers recorded into Postgres, until stopped. Run one next to `serve`."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        descriptors.raise_limit()
        give_way(NICENESS)
        try:
            checks.require_folder(settings.VAR_DIR)
            _write(stopped_by(signal.SIGINT, signal.SIGTERM))
        except Fault as fault:
            end_with(fault)


def _write(stop: Event) -> None:
    figures.share(settings.METRICS_DIR)  # before anything that counts is loaded
    from streamviz.records.set_aside import SetAside
    from streamviz.records.upkeep import Upkeep
    from streamviz.records.writer.process import Writer

    upkeep = Upkeep(settings.RETENTION, conninfo, settings.ARCHIVE, SetAside(settings.JOURNAL_DIR))
    Writer(settings.JOURNAL_DIR, conninfo).run(stop, upkeep)
