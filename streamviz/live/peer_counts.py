"""What the other workers count and tell of themselves: how many wait for a person there, what they left out."""

from time import monotonic
from typing import NamedTuple

from streamviz.live import messages
from streamviz.live.fleet import Member


class _Counts(NamedTuple):
    """What a worker said last, and when."""

    asking: int
    dropped: int
    member: Member | None
    heard_at: float


class PeerCounts:
    """The counts of each, by the name of its channel. Threads may read them while they change."""

    def __init__(self) -> None:
        self._counts: dict[str, _Counts] = {}

    @property
    def names(self) -> list[str]:
        """Who has told any."""
        return list(self._counts)

    @property
    def asking(self) -> int:
        """How many streams of the other workers wait for a person."""
        return sum(counts.asking for counts in list(self._counts.values()))

    @property
    def dropped(self) -> int:
        """How many updates the others have left out for slow browsers."""
        return sum(counts.dropped for counts in list(self._counts.values()))

    @property
    def members(self) -> list[Member]:
        """What the others tell of themselves."""
        return [counts.member for counts in list(self._counts.values()) if counts.member is not None]

    def take(self, message: messages.Counted) -> None:
        """What one says in place of what it said before."""
        self._counts[message.sender] = _Counts(message.asking, message.dropped, message.member, monotonic())

    def forget(self, limit: float) -> None:
        """Drop those who have said nothing since this moment, of `time.monotonic`."""
        self._counts = {name: counts for name, counts in self._counts.items() if counts.heard_at >= limit}
