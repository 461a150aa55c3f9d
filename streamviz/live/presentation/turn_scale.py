"""The scale of the waterfall of turns: it maps times to places, and cuts out pauses that are too long.

Places are per cent of the width, as text.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from streamviz.live.presentation.waterfall import Mark, Span

# A pause that is longer than _LONG average turns is cut to _CUT of the width; all cuts together take at most a third.
_LONG = 6
_CUT = 0.045
_ALL_CUTS = 0.33
_STEPS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 86_400)
_MOST_MARKS = 8
_LEAST = 0.15
_LEFT = 0.26
_WIDTH = 99.2
_MARK_ROOM = 7.0


class Scale:
    """Maps times to places, with long idle pauses cut out."""

    def __init__(self, spans: Sequence[tuple[int, int]], *, is_cut: bool) -> None:
        busy = _merged(spans)
        self.start, self.end = (busy[0][0], busy[-1][1]) if busy else (0, 1)
        active = sum(until - since for since, until in busy)
        most = max(1, active // max(1, len(spans)) * _LONG)
        pauses = [(one[1], other[0]) for one, other in pairwise(busy)]
        self.cuts = [(since, until) for since, until in pauses if until - since > most] if is_cut else []
        share = min(_CUT, _ALL_CUTS / len(self.cuts)) if self.cuts else 0.0
        kept = max(1, self.end - self.start - sum(until - since for since, until in self.cuts))
        self._places = list(self._knots(kept, share))
        self._times = [at for at, _ in self._places]

    def _knots(self, kept: int, share: float) -> Iterator[tuple[int, float]]:
        """Times with their places; between them the scale is linear."""
        unit = (1 - share * len(self.cuts)) / kept
        at, place = self.start, 0.0
        yield at, place
        for since, until in self.cuts:
            place += (since - at) * unit
            yield since, place
            at, place = until, place + share
            yield at, place
        yield max(self.end, at + 1), 1.0

    def place(self, at: int) -> float:
        """The place of a time, in per cent."""
        after = min(max(1, bisect_right(self._times, at)), len(self._places) - 1)
        (since, left), (until, right) = self._places[after - 1], self._places[after]
        share = left + (right - left) * (min(max(at, since), until) - since) / max(1, until - since)
        return _LEFT + share * _WIDTH

    def percent(self, at: int) -> str:
        return f"{self.place(at):.2f}%"

    def span(self, since: int, until: int, least: float = _LEAST) -> Span:
        width = max(least, self.place(until) - self.place(since))
        return Span(self.percent(since), f"{width:.2f}%", self.percent(until))

    def marks(self) -> Iterator[Mark]:
        """The times on the axis, in even steps, as far as there is room."""
        kept = (self.end - self.start - sum(until - since for since, until in self.cuts)) / 1_000_000
        step = next((step for step in _STEPS_S if kept / step <= _MOST_MARKS), kept / _MOST_MARKS)
        number, last = 0, -100.0
        while (at := self.start + int(number * step * 1_000_000)) <= self.end:
            cut = next(((since, until) for since, until in self.cuts if since <= at < until), None)
            if cut is not None:
                number += int((cut[1] - at) / (step * 1_000_000)) + 1
                continue
            if self.place(at) - last >= _MARK_ROOM and self.place(at) < 95:
                last = self.place(at)
                yield Mark(self.percent(at), _clock(number * step))
            number += 1


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for since, until in sorted(spans):
        if merged and since <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], until))
        else:
            merged.append((since, until))
    return merged


def _clock(seconds: float) -> str:
    """`0 s`, `20 s`, `2 m 20 s`, `3 h`."""
    if seconds < 60:
        return f"{seconds:g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} m {rest} s" if rest else f"{minutes} m"
    return f"{minutes // 60} h {minutes % 60} m" if minutes % 60 else f"{minutes // 60} h"
