"""Time spans in a URL, and their steps."""

from datetime import UTC, datetime, timedelta

import pytest

from streamviz.dashboard.chosen_timespans import MOST_STEPS, ORIGIN, chosen
from streamviz.dashboard.timespans import RANGES, between

NOW = datetime(2026, 9, 21, 12, 34, 56, tzinfo=UTC)
OLD = NOW - timedelta(days=400)


@pytest.mark.parametrize("name", [*RANGES, "all"])
def test_a_range_is_whole_steps_up_to_now(name: str) -> None:
    span = chosen({"range": name}, NOW, OLD)
    length = RANGES[name] if name in RANGES else NOW - OLD
    assert span.since <= NOW - length < span.since + span.step
    assert span.until - span.step <= NOW < span.until
    assert span.steps[0] == span.since
    assert span.steps[-1] + span.step == span.until
    assert len(span.steps) <= MOST_STEPS + 1
    assert (span.since - ORIGIN) % span.step == timedelta(0)
    assert span.query == {"range": name}


def test_a_step_of_one_is_a_time_of_its_own() -> None:
    day = chosen({"range": "24h"}, NOW, OLD)
    one = chosen(between(day.steps[3], day.steps[4]), NOW, OLD)
    assert (one.since, one.until, one.name) == (day.steps[3], day.steps[4], "")
    assert one.step < day.step
    assert chosen(one.query, NOW, OLD) == one


NONE = [
    {},
    {"range": ""},
    {"range": "9d"},
    {"since": "x", "until": "y"},
    {"since": "2026-09-21T12:00:00Z"},
    {"since": "2026-09-21T12:00:00Z", "until": "2026-09-21T12:00:00Z"},
    {"since": "2026-09-21T12:00:00", "until": "2026-09-21T13:00:00"},
    {"since": "0001-01-01T00:00:00+23:00", "until": "9999-12-31T23:59:59-23:00"},
]


@pytest.mark.parametrize("query", NONE)
def test_what_is_no_time_is_the_usual_one(query: dict[str, str]) -> None:
    assert chosen(query, NOW, OLD).name == "24h"
    assert chosen(query, NOW, OLD, "all").name == "all"
    assert chosen({**query, "range": "all"}, NOW, OLD).name == "all"


def test_all_time_is_a_moment_where_nothing_is_recorded() -> None:
    assert len(chosen({"range": "all"}, NOW, None).steps) == 1
