"""The clock of a stream: it ignores adjustments, and starts at the wall clock's time."""

import time

import pytest

from streamviz.records.moments import Clock

DAY = 86_400 * 10**6


def test_a_stream_does_not_end_before_it_began_and_the_next_has_the_time_of_day(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = Clock()
    began = stream.now()
    there = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: there - 3 * DAY * 1000)
    assert 0 <= stream.now() - began < DAY
    assert abs(Clock().now() - (began - 3 * DAY)) < DAY


def test_the_time_that_a_machine_sleeps_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Clock()
    began = stream.now()
    awake = time.clock_gettime_ns
    monkeypatch.setattr(time, "clock_gettime_ns", lambda clock: awake(clock) + 3 * DAY * 1000)
    assert 3 * DAY <= stream.now() - began < 4 * DAY
