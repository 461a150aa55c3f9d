"""What a server, and the screens of one, report about themselves."""

import os
import socket
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings

from streamviz.live.fleet_members import SCREENS, SERVER, Journal, Member, Writer, late
from streamviz.live.presentation.figures import plural
from streamviz.live.publisher import publisher
from streamviz.records.backlog import Backlog
from streamviz.records.journal.folder import machine_id
from streamviz.version import version
from streamviz.vitals import Vitals

if TYPE_CHECKING:  # the screens do without it
    from streamviz.proxy.worker import Worker

_BEGAN_AT = time.time_ns() // 1000


def server(vitals: Vitals, worker: "Worker") -> Member:
    """This process, as a server."""
    refused = worker.why_refused()
    away = ["other servers cannot be reached"] if publisher.wall.are_others_away else []
    troubles = [*([refused] if refused else []), *away, *late(vitals.lag)]
    return _member(SERVER, vitals, troubles, not refused, settings.WORKERS, _journal(worker.backlog))


def screens(vitals: Vitals) -> Member:
    """This process, as the screens."""
    return _member(SCREENS, vitals, late(vitals.lag), True)


def _member(
    process: str, vitals: Vitals, troubles: list[str], is_ready: bool, servers: int = 1, journal: Journal | None = None
) -> Member:
    return Member(
        process,
        _machine(settings.JOURNAL_DIR),
        socket.gethostname(),
        os.getpid(),
        version(),
        _BEGAN_AT,
        len(publisher.feed.running),
        publisher.watchers,
        round(vitals.lag, 3),
        is_ready,
        troubles,
        servers,
        journal,
    )


@cache
def _machine(journals: Path) -> str:
    try:
        return machine_id(journals)
    except OSError:
        return socket.gethostname()


def _journal(found: Backlog | None) -> Journal | None:
    if found is None:
        return None
    told = found.status if found.is_moved else None
    writer = Writer(told.pid, told.version, round(told.began_at * 1_000_000)) if told else None
    failing = [f"Postgres cannot be written to: {found.trouble}"] if found.trouble else []
    upkeep = [f"table maintenance failed and will be retried: {found.upkeep}"] if found.upkeep else []
    aside = [f"{plural(found.set_aside, 'stream')} set aside"] if found.set_aside else []
    damaged = [f"{plural(found.damaged, 'damaged file')} set aside"] if found.damaged else []
    said = [clause for clause in (found.stuck, found.full) if clause]
    return Journal(found.size, found.lag, writer, [*said, *failing, *upkeep, *aside, *damaged])
