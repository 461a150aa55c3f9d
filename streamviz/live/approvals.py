"""What people have allowed for the rest of a session, so that they are not asked again about each call of an agent."""

import uuid
from collections.abc import Callable, Container
from time import monotonic

SECONDS = 8 * 3600.0
MOST = 10_000

_About = tuple[uuid.UUID, int]


def nobody(session_id: uuid.UUID, version_id: int, by: str) -> None:
    """There are no other workers to tell."""


def words_for(by: str) -> str:
    """How a verdict names `by`, who was not asked about this call."""
    return f"{by} (for the session)"


class Approvals:
    """Keyed by session and version of a policy, so another version asks again. Kept in memory, for SECONDS at most, and
    only while the person who gave them may decide. `tell_others` tells the other workers, and one that starts later
    asks again."""

    def __init__(self) -> None:
        self._given: dict[_About, tuple[str, float]] = {}
        self.tell_others: Callable[[uuid.UUID, int, str], None] = nobody

    def give(self, session_id: uuid.UUID, version_id: int, by: str) -> None:
        """Note that `by` allows whatever this version would deny in this session. Beyond MOST, the oldest go."""
        about = session_id, version_id
        self._given.pop(about, None)
        self._given[about] = by, monotonic() + SECONDS
        while len(self._given) > MOST:
            del self._given[next(iter(self._given))]

    def by(self, session_id: uuid.UUID, version_id: int) -> str | None:
        """Who allowed it, as a verdict says it; None if nobody did, or it was too long ago."""
        by, until = self._given.get((session_id, version_id), ("", 0.0))
        return words_for(by) if monotonic() < until else None

    def keep(self, deciders: Container[str]) -> None:
        """Forget the approvals of anybody else, who may no longer decide."""
        self._given = {about: given for about, given in self._given.items() if given[0] in deciders}


approvals = Approvals()
