"""The sources of figures: half hours if possible, and a sample if there are very many streams."""

from datetime import timedelta

import pytest

from streamviz.records.queries.filters import Filters
from streamviz.records.queries.samples import one_in, sampled
from streamviz.records.queries.sources import ORIGIN, has_half_hours
from tests.records.history import NOW

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    "filters",
    [
        Filters(),
        Filters(since=NOW, until=NOW + timedelta(minutes=30)),
        Filters(models=("a",), providers=("b",), keys=("c",), outcomes=("",)),
        Filters(without=Filters(models=("a",))),
        Filters(text="  "),
    ],
)
def test_half_hours_answer_what_they_have(filters: Filters) -> None:
    assert has_half_hours(filters, ORIGIN, NOW)


@pytest.mark.parametrize(
    "filters",
    [
        Filters(since=NOW + SECOND),
        Filters(until=NOW - SECOND),
        Filters(text="word"),
        Filters(least_cost=0.5),
        Filters(starred=False),
        Filters(without=Filters(tools=("a",))),
    ],
)
def test_half_hours_do_not_answer_what_they_lack(filters: Filters) -> None:
    assert not has_half_hours(filters, ORIGIN, NOW)


def test_buckets_that_begin_within_a_half_hour_need_the_streams() -> None:
    assert not has_half_hours(Filters(), ORIGIN, ORIGIN + timedelta(minutes=45))


def test_the_sample_stays_small() -> None:
    assert [one_in(streams) for streams in (0, 8_000, 8_001, 128_000, 128_001, 10**7)] == [1, 1, 16, 16, 32, 2048]
    assert one_in(10**12) == 256**2
    assert sampled(1) == "true"
    assert sampled(32).endswith("< 8")
    assert sampled(1024).endswith("< 64")
