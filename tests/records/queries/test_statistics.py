"""Statistics: counts are exact, times are percentiles of the known values."""

from datetime import timedelta

import pytest

from streamviz.records.models import ApiKey, Session
from streamviz.records.moments import as_microseconds
from streamviz.records.queries import grouping as groupings
from streamviz.records.queries import largest as choosing
from streamviz.records.queries import samples, search, sources, statistics
from streamviz.records.queries.filters import Filters
from streamviz.records.queries.grouping import Grouping
from streamviz.records.queries.largest import largest
from streamviz.records.queries.sizes import table_sizes
from streamviz.records.queries.statistics import by_group, by_time
from tests.records.conftest import Query
from tests.records.history import NOW, day, store, story

HOUR = timedelta(hours=1)


def test_streams_are_counted_by_time_and_outcome(query: Query) -> None:
    outcomes = ["completed", "completed", "halted", "upstream_error", "client_disconnected", "interrupted"]
    store(*(story(NOW + timedelta(minutes=n), number=n, outcome=outcome) for n, outcome in enumerate(outcomes)))
    store(story(NOW + HOUR, cost=None, input_tokens=None, output_tokens=None))
    first, second = by_time(Filters(since=NOW), HOUR).buckets
    assert (first.at, first.streams) == (NOW, 6)
    assert (first.completed, first.halted, first.upstream_errors, first.left, first.interrupted, first.running) == (
        2,
        1,
        1,
        1,
        1,
        0,
    )
    assert (first.input_tokens, first.output_tokens, first.cost) == (6, 12, 1.5)
    assert (first.reported, first.priced, second.reported, second.priced) == (6, 6, 0, 0)
    assert (second.at, second.streams) == (NOW + HOUR, 1)
    assert (second.input_tokens, second.output_tokens, second.cost) == (None, None, None)


def test_times_are_percentiles(query: Query) -> None:
    start = as_microseconds(NOW)
    for n, milliseconds in enumerate([100, 200, 300]):
        firsts = {"upstream_first_at": start + milliseconds * 1000, "client_first_at": start + milliseconds * 2000}
        store(story(NOW, number=n, itl_p50=milliseconds, output_tokens=11, ended_at=start + 10**6, **firsts))
    store(story(NOW, number=9, upstream_first_at=None, client_first_at=None, itl_p50=None, output_tokens=None))
    statistics_of_all = by_time(Filters(), HOUR)
    assert statistics_of_all.timed == 1
    [bucket] = statistics_of_all.buckets
    assert bucket.streams == 4
    assert bucket.ttft_upstream_p50 == pytest.approx(200_000)
    assert bucket.ttft_upstream_p95 == pytest.approx(290_000)
    assert bucket.ttft_client_p50 == pytest.approx(400_000)
    assert bucket.ttft_client_p95 == pytest.approx(580_000)
    assert bucket.itl_p50 == pytest.approx(200)
    assert bucket.itl_p95 == pytest.approx(290)
    assert bucket.tpot_p50 == pytest.approx(80_000)
    assert bucket.tpot_p95 == pytest.approx(89_000)


def test_very_many_are_sampled_but_all_are_counted(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "SAMPLE", 10)
    # The last bytes of these ids are 0, 8, 16 and so on: the first two are the sample.
    firsts = [as_microseconds(NOW) + (100_000 if n < 2 else 900_000) for n in range(11)]
    store(*(story(NOW, number=8 * n, upstream_first_at=first) for n, first in enumerate(firsts)))
    found = by_time(Filters(), HOUR)
    assert (found.timed, found.counted) == (16, 1)
    assert found.buckets[0].streams == 11
    assert found.buckets[0].ttft_upstream_p50 == pytest.approx(100_000)


def test_all_streams_are_one_bucket_too(query: Query) -> None:
    store(story(NOW), story(NOW + HOUR, number=1, outcome="halted", cost=None, upstream_first_at=None))
    total = by_time(Filters(since=NOW), HOUR).total
    assert total
    assert (total.at, total.streams, total.completed, total.halted, total.priced) == (NOW, 2, 1, 1, 1)
    assert total.ttft_upstream_p50 == pytest.approx(200_000)
    assert by_time(Filters(since=day(9), until=day(8)), HOUR).total is None


FILTERS = {
    "all": Filters(since=day(2), until=NOW + HOUR),
    "a model": Filters(since=day(2), models=("a",)),
    "no key": Filters(keys=("",)),
    "some outcomes": Filters(outcomes=("halted", "")),
    "not a model, not a key": Filters(without=Filters(models=("a",), keys=("nightly",))),
}


@pytest.mark.parametrize("filters", FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize("grouping", [Grouping.NOTHING, Grouping.MODEL, Grouping.PROVIDER, Grouping.KEY])
def test_half_hours_say_what_streams_do(
    query: Query, monkeypatch: pytest.MonkeyPatch, grouping: Grouping, filters: Filters
) -> None:
    key, _ = ApiKey.objects.issue("nightly")
    store(
        story(NOW, requested_model="a", key_id=key.pk),
        story(NOW, number=1, requested_model="b", outcome="halted", input_tokens=None, cost=None),
        story(NOW + HOUR, number=2, requested_model="a", provider="anthropic"),
        story(day(1), number=3, requested_model="b"),
    )
    query("UPDATE records_stream SET outcome = '', provider = '' WHERE requested_at = %s", NOW + HOUR)
    assert sources.has_half_hours(filters, sources.ORIGIN, sources.ORIGIN + HOUR)
    added_up = by_time(filters, HOUR, grouping), largest(filters, grouping, 5)
    monkeypatch.setattr(groupings, "has_half_hours", lambda *_: False)
    assert added_up == (by_time(filters, HOUR, grouping), largest(filters, grouping, 5))
    assert added_up[0].buckets


@pytest.mark.parametrize(
    ("grouping", "in_half_hours"),
    [
        (Grouping.SESSION, False),
        *((each, how) for each in (Grouping.MODEL, Grouping.PROVIDER, Grouping.KEY) for how in (True, False)),
    ],
)
def test_groups_are_in_all_what_they_are_by_time(
    query: Query, monkeypatch: pytest.MonkeyPatch, grouping: Grouping, in_half_hours: bool
) -> None:
    key, _ = ApiKey.objects.issue("nightly")
    store(
        *(
            story(NOW + HOUR * n, number=n, session="one", requested_model="a", key_id=key.pk, cost=0.1)
            for n in range(3)
        ),
        story(NOW, number=3, session="two", requested_model="b", input_tokens=None, output_tokens=None, cost=None),
        story(NOW + HOUR, number=4, session="two", requested_model="b", provider="anthropic", outcome="halted"),
    )
    if not in_half_hours:
        monkeypatch.setattr(groupings, "has_half_hours", lambda *_: False)
    since, until = NOW - HOUR, NOW + HOUR * 5
    found = by_group(Filters(), since, until, HOUR, grouping)
    asked = Filters(since=since, until=until)
    assert (groupings.source_of(asked, grouping, since) == sources.HALF_HOURS) is in_half_hours
    whole = by_time(asked, until - since, grouping, origin=since).buckets
    assert sorted(found.whole, key=lambda each: each.group) == sorted(whole, key=lambda each: each.group)
    assert found.by_time == by_time(asked, HOUR, grouping, has_times=False).buckets
    assert len(found.whole) == 2


def test_what_is_common_is_estimated_and_what_is_rare_is_counted(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "SAMPLE", 10)
    monkeypatch.setattr(statistics, "ENOUGH", 2)
    # The last bytes of these ids are 0, 8, 16 and so on: the first two are the sample.
    store(*(story(NOW, number=8 * n, cost=5 if n in (1, 9) else 1) for n in range(11)))
    common, rare = Filters(least_cost=1), Filters(least_cost=5)
    estimated = by_time(common, HOUR, has_times=False, may_estimate=True)
    assert (estimated.counted, estimated.buckets[0].streams, estimated.buckets[0].completed) == (16, 32, 32)
    exact = by_time(rare, HOUR, has_times=False, may_estimate=True)
    assert (exact.counted, exact.buckets[0].streams) == (1, 2)
    assert by_time(common, HOUR, has_times=False).buckets[0].streams == 11
    assert by_time(Filters(), HOUR, may_estimate=True).buckets[0].streams == 11


def test_of_what_few_of_a_sample_have_more_are_looked_at(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "one_in", lambda streams: 256)
    monkeypatch.setattr(statistics, "WHOLE_INDEX", 16)
    monkeypatch.setattr(statistics, "ENOUGH", 2)
    # One of these is in a sample of one in 256, two are in one of one in 16.
    store(*(story(NOW, number=8 * n) for n in range(11)))
    found = by_time(Filters(least_cost=0), HOUR, has_times=False, may_estimate=True)
    assert (found.counted, found.buckets[0].streams) == (16, 32)
    monkeypatch.setattr(statistics, "ENOUGH", 3)
    found = by_time(Filters(least_cost=0), HOUR, has_times=False, may_estimate=True)
    assert (found.counted, found.buckets[0].streams) == (1, 11)


def test_what_takes_too_long_to_count_is_estimated_from_few(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    slowly = "FROM (SELECT pg_sleep(0.15)) AS nap, {source}"
    monkeypatch.setattr(statistics, "_COUNTS", statistics._COUNTS.replace("FROM {source}", slowly))
    monkeypatch.setattr(samples, "SAMPLE", 10)
    monkeypatch.setattr(statistics, "ENOUGH", 3)
    monkeypatch.setattr(statistics, "LEAST", 2)
    store(*(story(NOW, number=8 * n) for n in range(11)))
    found = by_time(Filters(least_cost=0), HOUR, has_times=False, may_estimate=True)
    assert (found.counted, found.buckets[0].streams) == (16, 32)
    monkeypatch.setattr(statistics, "LEAST", 3)
    found = by_time(Filters(least_cost=0), HOUR, has_times=False, may_estimate=True)
    assert (found.counted, found.buckets[0].streams) == (1, 11)


def test_what_the_index_of_samples_has_not_is_estimated_too(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "SAMPLE", 10)
    monkeypatch.setattr(statistics, "ENOUGH", 1)
    store(*(story(NOW, number=8 * n, finish_reason="length" if n else "stop") for n in range(11)))
    found = by_time(Filters(finish_reasons=("length",)), HOUR, has_times=False, may_estimate=True)
    assert (found.counted, found.buckets[0].streams) == (16, 16)


def test_a_common_word_is_estimated_where_enough_of_the_sample_have_it(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samples, "SAMPLE", 10)
    monkeypatch.setattr(search, "COMMON", 1)
    monkeypatch.setattr(statistics, "ENOUGH", 2)
    store(*(story(NOW, number=8 * n) for n in range(11)))
    estimated = by_time(Filters(text="look"), HOUR, has_times=False, may_estimate=True)
    assert (estimated.counted, estimated.buckets[0].streams) == (16, 32)
    monkeypatch.setattr(statistics, "ENOUGH", 3)
    counted = by_time(Filters(text="look"), HOUR, has_times=False, may_estimate=True)
    assert (counted.counted, counted.buckets[0].streams) == (1, 11)


def test_the_largest_groups_come_first(query: Query) -> None:
    labels = ["one", "two", "two", "three", "three", "three"]
    store(*(story(NOW, number=n, session=label) for n, label in enumerate(labels)))
    ids = {session.label: str(session.pk) for session in Session.objects.all()}
    assert largest(Filters(since=NOW), Grouping.SESSION, 2) == ([ids["three"], ids["two"]], 3, 1)
    assert largest(Filters(since=NOW), Grouping.KEY, 2) == ([""], 1, 1)
    assert largest(Filters(since=NOW + HOUR), Grouping.SESSION, 2) == ([], 0, 1)


def test_of_very_many_streams_a_sample_tells_which_sessions_may_be_the_largest(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The ids end in their numbers: one in 16 has a last byte below 16.
    store(*(story(NOW, number=n, session="large" if n % 4 else "small") for n in range(64)))
    store(*(story(NOW, number=n, session="never chosen") for n in range(64, 256)))
    ids = {session.label: str(session.pk) for session in Session.objects.all()}
    monkeypatch.setattr(samples, "SAMPLE", 1)
    monkeypatch.setattr(choosing, "MOST_ADDED_UP", 255)
    monkeypatch.setattr(choosing, "CANDIDATES", 2)
    assert largest(Filters(since=NOW), Grouping.SESSION, 9) == ([ids["large"], ids["small"]], None, 16)
    monkeypatch.setattr(choosing, "CANDIDATES", 3)  # the sample has fewer
    assert largest(Filters(since=NOW), Grouping.SESSION, 9).groups == 3
    monkeypatch.setattr(choosing, "MOST_ADDED_UP", 256)
    assert largest(Filters(since=NOW), Grouping.SESSION, 9).names[0] == ids["never chosen"]


GROUPS = {
    Grouping.MODEL: {"a", "b"},
    Grouping.PROVIDER: {"openai", "anthropic"},
    Grouping.KEY: {"", "nightly"},
}


@pytest.mark.parametrize(("grouping", "groups"), GROUPS.items(), ids=[each.name for each in GROUPS])
def test_streams_are_grouped(query: Query, grouping: Grouping, groups: set[str]) -> None:
    key, _ = ApiKey.objects.issue("nightly")
    store(
        story(NOW, session="one", requested_model="a"),
        story(NOW, session="two", number=1, requested_model="b", provider="anthropic", key_id=key.pk),
    )
    buckets = by_time(Filters(), HOUR, grouping).buckets
    assert {bucket.group for bucket in buckets} == groups
    assert [bucket.streams for bucket in buckets] == [1, 1]


def test_sessions_are_grouped_by_their_ids(query: Query) -> None:
    store(story(NOW, session="one"), story(NOW, session="two", number=1))
    groups = {bucket.group for bucket in by_time(Filters(), HOUR, Grouping.SESSION).buckets}
    assert groups == {str(session.pk) for session in Session.objects.all()}


def test_filters_and_searches_apply(query: Query) -> None:
    store(story(NOW, requested_model="a"), story(NOW, number=1, requested_model="b"))
    assert [bucket.streams for bucket in by_time(Filters(models=("a",)), HOUR).buckets] == [1]
    assert [bucket.streams for bucket in by_time(Filters(text="app.py"), HOUR).buckets] == [2]
    assert by_time(Filters(models=("c",)), HOUR).buckets == []


def test_a_stretch_can_begin_anywhere_and_times_be_left_out(query: Query) -> None:
    start = NOW - timedelta(minutes=7)
    store(story(start), story(NOW, number=1))
    [bucket] = by_time(Filters(since=start), HOUR, origin=start, has_times=False).buckets
    assert (bucket.at, bucket.streams, bucket.ttft_upstream_p50) == (start, 2, None)


def test_tables_have_sizes_with_their_partitions(query: Query) -> None:
    store(story(day(1)))
    sizes = {each.name: each for each in table_sizes()}
    assert sizes["records_upstreamrun"].size > sizes["records_upstreamrun"].without_indexes > 0
    assert not any(name.endswith("_default") for name in sizes)
