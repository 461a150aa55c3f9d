"""The pace of a stream, from timestamps passed in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamviz.core.timing import Stall, StallCause, Tape, Timing

SECOND = 1_000_000


def tape(*times: int, requested_at: int = 0) -> Tape:
    made = Tape(requested_at)
    for at in times:
        made.add(at)
    return made


def test_ttft_is_from_the_request_to_the_first_delta() -> None:
    assert tape(requested_at=100).ttft is None
    assert tape(350, 900, requested_at=100).ttft == 250


def test_ttft_is_measured_on_both_tapes() -> None:
    timing = Timing(requested_at=0)
    timing.received(10)
    timing.sent(25)
    assert (timing.upstream.ttft, timing.client.ttft) == (10, 25)


@pytest.mark.parametrize(("percent", "gap"), [(50, 5), (95, 10), (100, 10), (1, 1), (90, 9)])
def test_itl_is_the_gap_that_so_many_do_not_exceed(percent: int, gap: int) -> None:
    times = [0]
    for size in (3, 1, 10, 7, 5, 2, 9, 4, 6, 8):
        times.append(times[-1] + size)
    assert tape(*times).itl(percent) == gap


def test_itl_is_unknown_below_two_deltas() -> None:
    assert tape().itl(50) is None
    assert tape(7).itl(50) is None
    assert tape(7, 7).itl(50) == 0


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=60), st.integers(1, 100))
def test_itl_holds_for_any_gaps(gaps: list[int], percent: int) -> None:
    times = [0]
    for gap in gaps:
        times.append(times[-1] + gap)
    found = tape(*times).itl(percent)
    assert found is not None
    assert sum(gap <= found for gap in gaps) * 100 >= percent * len(gaps)
    assert sum(gap < found for gap in gaps) * 100 < percent * len(gaps)


def test_tpot_is_what_each_token_behind_the_first_took() -> None:
    assert tape(200, 900, requested_at=100).tpot(1200, 11) == 100


@pytest.mark.parametrize("tokens", [None, 0, 1])
def test_tpot_is_unknown_where_it_means_nothing(tokens: int | None) -> None:
    assert tape(200, 900).tpot(1200, tokens) is None
    assert tape().tpot(1200, 10) is None


def test_each_stall_has_its_cause() -> None:
    timing = Timing(requested_at=0, stall_after=2 * SECOND)
    for at in (9 * SECOND, 10 * SECOND, 13 * SECOND):
        timing.received(at)
    timing.held(13 * SECOND, 16 * SECOND)
    timing.client_not_reading(17 * SECOND, 20 * SECOND)
    timing.ended(18 * SECOND)
    assert timing.stalls == [
        Stall(StallCause.UPSTREAM_SILENT, 10 * SECOND, 3 * SECOND),
        Stall(StallCause.HELD, 13 * SECOND, 3 * SECOND),
        Stall(StallCause.CLIENT_NOT_READING, 17 * SECOND, 3 * SECOND),
        Stall(StallCause.UPSTREAM_SILENT, 13 * SECOND, 5 * SECOND),
    ]


def test_a_wait_up_to_the_threshold_is_no_stall_nor_is_that_for_the_first_delta() -> None:
    timing = Timing(requested_at=0, stall_after=2 * SECOND)
    timing.ended(60 * SECOND)
    timing.received(60 * SECOND)
    timing.received(62 * SECOND)
    timing.held(0, 2 * SECOND)
    timing.client_not_reading(0, 2 * SECOND)
    timing.ended(64 * SECOND)
    assert timing.stalls == []


def test_a_delta_costs_eight_bytes() -> None:
    timing = tape(*range(10_001))
    assert len(timing._gaps) * timing._gaps.itemsize == 80_000
