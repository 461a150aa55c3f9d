"""What people allowed for the rest of a session, so that they are not asked again about each call of an agent."""

import uuid
from time import monotonic

SECONDS = 8 * 3600.0
MOST = 10_000

_About = tuple[uuid.UUID, int]


class Approvals:
    """By session and version of a policy: another version asks again. Kept in memory, for SECONDS at most."""

    def __init__(self) -> None:
        self._given: dict[_About, tuple[str, float]] = {}

    def give(self, session_id: uuid.UUID, version_id: int, by: str) -> None:
        """`by` allows whatever this version would deny in this session. The oldest go where there are too many."""
        about = session_id, version_id
        self._given.pop(about, None)
        self._given[about] = by, monotonic() + SECONDS
        while len(self._given) > MOST:
            del self._given[next(iter(self._given))]

    def by(self, session_id: uuid.UUID, version_id: int) -> str | None:
        """Who allowed it; None where nobody did, or too long ago."""
        by, until = self._given.get((session_id, version_id), ("", 0.0))
        return by if monotonic() < until else None


approvals = Approvals()
