"""What the supervisor does once everything runs: it restarts whatever dies while the rest goes on."""

import queue
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, NoReturn

from streamviz.faults import Fault
from streamviz.ops.children import Child
from streamviz.ops.embedded_postgres import EmbeddedPostgres
from streamviz.ops.welcome import say

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
# A part that ran this long did not fail at its start.
WELL_SECONDS = 60.0
_CHECK_SECONDS = 0.5
_POSTGRES = "embedded Postgres"


class Pauses:
    """How long to wait before a part is restarted: longer each time, until it has run well for a while."""

    def __init__(self) -> None:
        self._next = FIRST_PAUSE_SECONDS

    def after(self, seconds: float) -> float:
        """The pause for a part that ended after running for `seconds`."""
        if seconds >= WELL_SECONDS:
            self._next = FIRST_PAUSE_SECONDS
        pause, self._next = self._next, min(2 * self._next, LONGEST_PAUSE_SECONDS)
        return pause


class Due(NamedTuple):
    """A part to restart at `at` (s, monotonic)."""

    at: float
    name: str
    start: Callable[[], None]


class Keeping:
    """Keeps the children running, and Postgres if it is the embedded one. Children that end are put into `ended`;
    `require_all` raises Fault if nothing can go on."""

    def __init__(
        self,
        ended: "queue.SimpleQueue[Child]",
        postgres: EmbeddedPostgres | None = None,
        require_all: Callable[[], None] = lambda: None,
    ) -> None:
        self._ended = ended
        self._postgres = postgres
        self._require_all = require_all
        self._pauses: defaultdict[str, Pauses] = defaultdict(Pauses)
        self._postgres_began = time.monotonic()
        self._due: list[Due] = []

    def run(self) -> NoReturn:
        """Run until a signal's exception ends it. Raises Fault if nothing can go on."""
        while True:
            self._look()
            self._require_all()
            for due in [due for due in self._due if due.at <= time.monotonic()]:
                self._due.remove(due)
                self._start(due)

    def _look(self) -> None:
        try:
            child = self._ended.get(timeout=_CHECK_SECONDS)
            ran = time.monotonic() - child.began
            self._note(child.name, child.ending(), ran, partial(child.start, self._ended.put))
        except queue.Empty:
            pass
        postgres = self._postgres
        if postgres is not None and postgres.has_ended() and not any(due.name == _POSTGRES for due in self._due):
            ran = time.monotonic() - self._postgres_began
            ending = f"The {_POSTGRES} ended unexpectedly; see {postgres.log}."
            self._note(_POSTGRES, ending, ran, partial(self._start_postgres, postgres))

    def _note(self, name: str, ending: str, ran: float, start: Callable[[], None]) -> None:
        pause = self._pauses[name].after(ran)
        say(f"{ending} Restarting it in {pause:g} s.")
        self._due.append(Due(time.monotonic() + pause, name, start))

    def _start_postgres(self, postgres: EmbeddedPostgres) -> None:
        self._postgres_began = time.monotonic()
        postgres.start()

    def _start(self, due: Due) -> None:
        try:
            due.start()
            say(f"Restarted the {due.name}")
        except (Fault, OSError) as error:
            self._note(due.name, f"The {due.name} cannot be started: {error}", 0.0, due.start)
