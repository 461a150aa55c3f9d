"""How fast a stream is, from timestamps passed in. All times are in µs, points in time in µs since the epoch."""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from enum import StrEnum
from operator import sub
from typing import NamedTuple

import msgspec

STALL_AFTER = 2_000_000


class StallCause(StrEnum):
    """Who kept the client waiting."""

    UPSTREAM_SILENT = "upstream_silent"
    HELD = "held"
    CLIENT_NOT_READING = "client_not_reading"


class Stall(msgspec.Struct, frozen=True, gc=False):
    """Nothing moved from `began` on, for `duration`."""

    cause: StallCause
    began: int
    duration: int


class Tape:
    """The pace of the deltas on one tape, upstream's or the client's. Eight bytes a delta."""

    def __init__(self, requested_at: int) -> None:
        self._requested_at = requested_at
        self._gaps = array("q")
        self.first_at: int | None = None
        self.last_at: int | None = None

    def add(self, at: int) -> int:
        """A chunk with a non-empty delta came, or left, at `at`. Gives the gap before it, 0 for the first."""
        if self.last_at is None:
            self.first_at = self.last_at = at
            return 0
        gap = at - self.last_at
        self._gaps.append(gap)
        self.last_at = at
        return gap

    @property
    def ttft(self) -> int | None:
        """From the request to the first delta; None while there is none."""
        return None if self.first_at is None else self.first_at - self._requested_at

    def itl(self, percent: int) -> int | None:
        """The gap between deltas that `percent` of 100 do not exceed (50 the median); None below two deltas."""
        return _percentile(sorted(self._gaps), percent)

    def tpot(self, ended_at: int, output_tokens: int | None) -> float | None:
        """Time an output token behind the first; None where the tokens are unknown or below two, or no delta came."""
        if self.first_at is None or output_tokens is None or output_tokens < 2:
            return None
        return (ended_at - self.first_at) / (output_tokens - 1)


class Timing:
    """The pace of one stream on both tapes, and its stalls: waits longer than `stall_after`, each by its cause.

    The wait for the first delta is TTFT and no stall.
    """

    def __init__(self, requested_at: int, stall_after: int = STALL_AFTER) -> None:
        self.upstream = Tape(requested_at)
        self.client = Tape(requested_at)
        self.stalls: list[Stall] = []
        self._stall_after = stall_after

    def received(self, at: int) -> None:
        """A chunk with a non-empty delta came from upstream."""
        self._waited(StallCause.UPSTREAM_SILENT, at - self.upstream.add(at), at)

    def sent(self, at: int) -> None:
        """A frame with a non-empty delta went to the client."""
        self.client.add(at)

    def held(self, since: int, until: int) -> None:
        """Something waited for its verdicts."""
        self._waited(StallCause.HELD, since, until)

    def client_not_reading(self, since: int, until: int) -> None:
        """The client's socket took nothing."""
        self._waited(StallCause.CLIENT_NOT_READING, since, until)

    def ended(self, at: int) -> None:
        """Upstream's end of input, or the time at which it was given up."""
        if self.upstream.last_at is not None:
            self._waited(StallCause.UPSTREAM_SILENT, self.upstream.last_at, at)

    def _waited(self, cause: StallCause, since: int, until: int) -> None:
        if until - since > self._stall_after:
            self.stalls.append(Stall(cause, since, until - since))


class Percentiles(NamedTuple):
    """The median and the 95th percentile; None where there is nothing to measure."""

    p50: int | None
    p95: int | None


def inter_token_latency(times: Sequence[int], first_at: int | None) -> Percentiles:
    """The gaps between chunks that came at `times`, in order, from the first delta at `first_at` on."""
    begun = () if first_at is None else times[bisect_left(times, first_at) :]
    gaps = sorted(map(sub, begun[1:], begun))
    return Percentiles(_percentile(gaps, 50), _percentile(gaps, 95))


def _percentile(ordered: Sequence[int], percent: int) -> int | None:
    """The value that `percent` of 100 do not exceed; None where there is none."""
    return ordered[max(-(-percent * len(ordered) // 100), 1) - 1] if ordered else None
