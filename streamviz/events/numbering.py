"""The numbers of a stream's events, the same whenever it is read.

Verdicts and holds become known independently of the chunks, and their order among those is not fixed. So each kind is
counted by itself: an id such as `41.2.1` says how many events of the chunks, of verdicts and of holds have been sent. A
reader who gives the last id that they received gets exactly the events that they lack. Another format, or another kind
of reader, has different events; their ids begin with other letters.
"""

import re
from typing import NamedTuple, Self

from streamviz.events.reports import Held, Judged, Report

_ID = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})")


class EventId(NamedTuple):
    """How many events were sent up to this one: of the stream itself, of its verdicts, of its holds."""

    stream: int = 0
    verdicts: int = 0
    holds: int = 0

    @classmethod
    def parse(cls, id: str, kind: str) -> Self | None:
        """Parse an id that begins with the letters `kind`; None if it is not one."""
        found = _ID.fullmatch(id.strip().removeprefix(kind)) if id.strip().startswith(kind) else None
        return cls(*map(int, found.groups())) if found else None

    def and_one(self, report: Report) -> Self:
        """The id after one more event, for this report."""
        match report:
            case Judged():
                return self._replace(verdicts=self.verdicts + 1)
            case Held():
                return self._replace(holds=self.holds + 1)
            case _:
                return self._replace(stream=self.stream + 1)

    def includes(self, other: "EventId", report: Report) -> bool:
        """Whether the event with the id `other`, for this report, was already sent."""
        match report:
            case Judged():
                return other.verdicts <= self.verdicts
            case Held():
                return other.holds <= self.holds
            case _:
                return other.stream <= self.stream

    def __str__(self) -> str:
        return f"{self.stream}.{self.verdicts}.{self.holds}"
