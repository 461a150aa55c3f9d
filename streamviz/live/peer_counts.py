"""What the other workers report about themselves: how many streams wait for a person there, what they left out."""

from time import monotonic
from typing import NamedTuple

import msgspec

from streamviz.live import messages
from streamviz.live.fleet_members import SERVER, Member

# How long a server is listed as silent after it was last heard.
SILENT_SECONDS = 600.0


class _Counts(NamedTuple):
    """What a worker last reported, and when."""

    asking: int
    newest_ask: int
    dropped: int
    member: Member | None
    heard_at: float


class PeerCounts:
    """The counts of each worker, by the name of its channel. Threads may read them while they change."""

    def __init__(self) -> None:
        self._counts: dict[str, _Counts] = {}
        self._silent: dict[str, _Counts] = {}

    @property
    def names(self) -> list[str]:
        """The workers that have reported any."""
        return list(self._counts)

    @property
    def asking(self) -> int:
        """How many streams of the other workers wait for a person."""
        return sum(counts.asking for counts in list(self._counts.values()))

    @property
    def newest_ask(self) -> int:
        """When one of them last asked a person something that is still open (µs since the epoch); 0 if none did."""
        return max((counts.newest_ask for counts in list(self._counts.values())), default=0)

    @property
    def dropped(self) -> int:
        """How many updates the others have left out for slow browsers."""
        return sum(counts.dropped for counts in list(self._counts.values()))

    @property
    def members(self) -> list[Member]:
        """The other processes' reports on themselves, including the last ones of servers that are silent now."""
        heard = [counts.member for counts in list(self._counts.values()) if counts.member is not None]
        now = monotonic()
        return heard + [
            _silent(counts.member, now - counts.heard_at) for counts in self._silent.values() if counts.member
        ]

    def take(self, message: messages.Counted) -> None:
        """Replace what a worker reported before."""
        counts = _Counts(message.asking, message.newest_ask, message.dropped, message.member, monotonic())
        self._counts[message.sender] = counts
        if message.sender in self._silent:
            self._silent = {name: counts for name, counts in self._silent.items() if name != message.sender}

    def forget(self, limit: float) -> None:
        """Drop those that have reported nothing since `limit`, of `time.monotonic`."""
        gone = {name: counts for name, counts in self._counts.items() if counts.heard_at < limit}
        self._counts = {name: counts for name, counts in self._counts.items() if name not in gone}
        servers = {name: counts for name, counts in gone.items() if counts.member and counts.member.process == SERVER}
        kept = {name: each for name, each in self._silent.items() if each.heard_at >= limit - SILENT_SECONDS}
        self._silent = kept | servers


def _silent(member: Member, seconds: float) -> Member:
    """Its last report, marked as silent."""
    said = [f"no answer for {seconds:.0f} s"]
    return msgspec.structs.replace(member, silent=round(seconds, 1) or 0.1, is_ready=False, troubles=said)
