"""How fast a stream is, and what it waited for, from timestamps passed in. Times are µs since the epoch."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import sub
from typing import NamedTuple

_STALL_US = 1_000_000
UPSTREAM_SILENT = "upstream silent"


class Percentiles(NamedTuple):
    """The median and the 95th percentile; None if there is nothing to measure."""

    p50: int | None
    p95: int | None


class Wait(NamedTuple):
    """A time in which nothing moved, from `began` to `ended`, and why, in words."""

    began: int
    ended: int
    cause: str

    @property
    def duration(self) -> int:
        """In µs."""
        return self.ended - self.began


def inter_token_latency(times: Sequence[int], first_at: int | None) -> Percentiles:
    """The gaps between chunks that came at `times`, in order, from the first delta at `first_at` on."""
    begun = () if first_at is None else times[bisect_left(times, first_at) :]
    gaps = sorted(map(sub, begun[1:], begun))
    return Percentiles(_percentile(gaps, 50), _percentile(gaps, 95))


def stalls(times: Sequence[int], waits: Sequence[Wait]) -> list[Wait]:
    """The waits of a second and longer, the longest first: those that are known, of holds and of a client that did not
    read, and upstream's silences between `times`, in order. A silence in which something else kept the stream waiting
    says nothing about upstream, and is not a stall of its own."""
    silences = [gap for gap in _silences(times) if not any(_explains(wait, gap) for wait in waits)]
    found = silences + [wait for wait in waits if wait.duration >= _STALL_US]
    return sorted(found, key=lambda wait: -wait.duration)


def _silences(times: Sequence[int]) -> Iterator[Wait]:
    """Upstream's silences of a second and longer. Looks at a time or two of each second, however many there are."""
    position = 0
    while position + 1 < len(times):
        began = times[position]
        following = bisect_left(times, began + _STALL_US, position + 1)
        if following > position + 1:
            position = following - 1  # all up to it came within a second
        else:
            yield Wait(began, times[following], UPSTREAM_SILENT)
            position = following


def _explains(wait: Wait, gap: Wait) -> bool:
    """Whether a wait is most of a silence: the two never begin and end in the same microsecond."""
    common = min(gap.ended, wait.ended) - max(gap.began, wait.began)
    return common * 2 > gap.duration


def _percentile(ordered: Sequence[int], percent: int) -> int | None:
    """The value that `percent` of 100 do not exceed; None if there is none."""
    return ordered[max(-(-percent * len(ordered) // 100), 1) - 1] if ordered else None
