"""The pace of a stream, from timestamps passed in."""

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamviz.core.timing import UPSTREAM_SILENT, Percentiles, Wait, inter_token_latency, stalls

SECOND = 1_000_000
START = 1_700_000_000 * SECOND


@pytest.mark.parametrize(("count", "p50", "p95"), [(1, 1, 1), (2, 1, 2), (10, 5, 10), (20, 10, 19), (100, 50, 95)])
def test_latency_is_the_gap_that_so_many_do_not_exceed(count: int, p50: int, p95: int) -> None:
    times = [0]
    for gap in sorted(range(1, count + 1), key=lambda gap: gap * 7 % 11):
        times.append(times[-1] + gap)
    assert inter_token_latency(times, 0) == Percentiles(p50, p95)


def test_latency_counts_from_the_first_delta_on() -> None:
    assert inter_token_latency([0, 1000, 1005, 1010], 1000) == Percentiles(5, 5)


@pytest.mark.parametrize(("times", "first_at"), [([], None), ([5, 9], None), ([5], 5), ([5, 9], 9)])
def test_latency_is_unknown_below_two_deltas(times: list[int], first_at: int | None) -> None:
    assert inter_token_latency(times, first_at) == Percentiles(None, None)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=60))
def test_latency_holds_for_any_gaps(gaps: list[int]) -> None:
    times = [0]
    for gap in gaps:
        times.append(times[-1] + gap)
    for percent, found in zip((50, 95), inter_token_latency(times, 0), strict=True):
        assert found is not None
        assert sum(gap <= found for gap in gaps) * 100 >= percent * len(gaps)
        assert sum(gap < found for gap in gaps) * 100 < percent * len(gaps)


def test_each_stall_has_its_cause_and_the_longest_is_first() -> None:
    held = Wait(13 * SECOND, 16 * SECOND, "held by a policy")
    not_read = Wait(20 * SECOND, 24 * SECOND, "client not reading")
    times = [10 * SECOND, 13 * SECOND, 16 * SECOND, 16 * SECOND + 1, 26 * SECOND]
    assert stalls(times, [held, not_read]) == [
        Wait(16 * SECOND + 1, 26 * SECOND, UPSTREAM_SILENT),
        not_read,
        Wait(10 * SECOND, 13 * SECOND, UPSTREAM_SILENT),
        held,
    ]


def test_a_silence_that_another_explains_is_no_stall_of_its_own() -> None:
    held = Wait(1 * SECOND + 5, 4 * SECOND + 9, "held by a policy")
    assert stalls([0, SECOND - 1, 4 * SECOND], [held]) == [held]


@given(st.lists(st.sampled_from([0, 1, 300_000, SECOND - 1, SECOND, 5 * SECOND]), max_size=60))
def test_every_silence_is_found(gaps: list[int]) -> None:
    times = list(accumulate(gaps, initial=START))
    found = sorted((wait.began, wait.ended) for wait in stalls(times, []))
    assert found == [(began, ended) for began, ended in pairwise(times) if ended - began >= SECOND]


def test_a_short_wait_is_no_stall() -> None:
    assert stalls([0, SECOND - 1, 2 * SECOND - 2], [Wait(0, SECOND - 1, "held by a policy")]) == []
