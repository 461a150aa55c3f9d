"""The numbers of a stream's events, the same whenever it is read.

Verdicts and holds come to be known beside the chunks, and between which of them is no certain thing. So they are
counted by themselves: an id such as `41.2.1` says that so many events of the chunks, verdicts and holds have been told.
Whoever names the last id that they had gets exactly what they did not have. Events are other ones in another form, or
for another who reads: their ids begin with other letters.
"""

import re
from typing import NamedTuple, Self

from streamviz.events.facts import Fact, Held, Judged

_ID = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})")


class EventId(NamedTuple):
    """How many events were told up to this one: of the stream itself, of its verdicts, of its holds."""

    stream: int = 0
    verdicts: int = 0
    holds: int = 0

    @classmethod
    def parse(cls, id: str, kind: str) -> Self | None:
        """What an id of these letters says; None where it is none."""
        found = _ID.fullmatch(id.strip().removeprefix(kind)) if id.strip().startswith(kind) else None
        return cls(*map(int, found.groups())) if found else None

    def and_one(self, fact: Fact) -> Self:
        """With one more event, which tells of this."""
        match fact:
            case Judged():
                return self._replace(verdicts=self.verdicts + 1)
            case Held():
                return self._replace(holds=self.holds + 1)
            case _:
                return self._replace(stream=self.stream + 1)

    def includes(self, other: "EventId", fact: Fact) -> bool:
        """Whether the event that has the id `other`, and tells of this, is among those that were told."""
        match fact:
            case Judged():
                return other.verdicts <= self.verdicts
            case Held():
                return other.holds <= self.holds
            case _:
                return other.stream <= self.stream

    def __str__(self) -> str:
        return f"{self.stream}.{self.verdicts}.{self.holds}"
