"""A made-up history is as complete as a recorded one, and the same each time."""

from datetime import timedelta

import psycopg
import pytest
from django.core.management import CommandError, call_command

from streamviz.records.database import conninfo
from streamviz.records.multiplying import multiply
from streamviz.records.queries.filters import Filters
from streamviz.records.queries.pages import stream_page
from streamviz.records.retention import days
from streamviz.records.seeding import Size, seed
from streamviz.records.verification import strays, verify, wrong_sums
from tests.records.conftest import Query
from tests.records.history import NOW, make_policy

SIZE = Size(streams=60, chunks=3_000, streams_a_session=7, days=3)
WHAT = "SELECT requested_model, outcome, chunk_count, block_count FROM records_stream ORDER BY requested_at, id"


def make(size: Size = SIZE) -> list[str]:
    said: list[str] = []
    with psycopg.connect(conninfo(), autocommit=True) as connection:
        seed(connection, size, NOW, 1, make_policy(f"guard-{size.days}"), said.append)
    return said


def test_a_made_up_history_has_the_size_that_was_asked_for(query: Query) -> None:
    assert make() == ["60 of 60 streams"]
    assert query("SELECT count(*) FROM records_stream") == [(60,)]
    assert query("SELECT count(*) FROM records_session") == [(9,)]
    [(chunks, counted)] = query("SELECT count(*), (SELECT sum(chunk_count) FROM records_stream) FROM records_chunk")
    assert chunks == counted
    assert 1_000 < chunks < 20_000
    [(first, last)] = query("SELECT min(requested_at), max(requested_at) FROM records_stream")
    assert first == NOW - timedelta(days=3)
    assert NOW - timedelta(days=1) < last < NOW
    assert {(NOW - timedelta(days=n)).date() for n in range(4)} == set(days())


def test_nothing_of_a_made_up_history_is_damaged(query: Query) -> None:
    make()
    assert [damage.what for found in verify() for damage in found] == []
    assert list(strays()) == []
    assert query("SELECT count(*) FROM records_upstreamrun_default") == [(0,)]


def test_a_search_finds_each_stream(query: Query) -> None:
    make()
    assert len(stream_page(Filters(text="case-00000041"), None, 10).ids) == 1


def test_the_same_seed_gives_the_same_streams(query: Query) -> None:
    make()
    first = query(WHAT)
    query("TRUNCATE records_session, records_stream, records_upstreamrun, records_clientrun CASCADE")
    make(SIZE._replace(days=4))
    assert query(WHAT) == first


def test_copies_are_streams_like_the_first(query: Query) -> None:
    make()
    sums = "SELECT sum(streams), sum(output_tokens) FROM records_halfhour"
    counts = [query(f"SELECT count(*) FROM records_{each}") for each in ("block", "requestwords", "session")]
    [(streams, tokens)] = query(sums)
    with psycopg.connect(conninfo(), autocommit=True) as connection:
        multiply(connection, 2, [].append)
    assert query("SELECT count(*), count(DISTINCT id) FROM records_stream") == [(180, 180)]
    for before, each in zip(counts, ("block", "requestwords", "session"), strict=True):
        assert query(f"SELECT count(*) FROM records_{each}") == [(3 * before[0][0],)], each
    assert query(sums) == [(3 * streams, 3 * tokens)]
    assert query("SELECT count(*) FROM records_stream_default") == [(0,)], "each in the partition of its time"
    assert list(wrong_sums()) == list(strays()) == []


def test_the_command_makes_as_many_streams_as_it_is_told(query: Query) -> None:
    make_policy()
    call_command("seed_history", streams=5, chunks=100, verbosity=0)
    assert query("SELECT count(*) FROM records_stream") == [(5,)]
    with pytest.raises(CommandError, match="at least 1"):
        call_command("seed_history", streams=0)
    with pytest.raises(CommandError, match="back to 2020-01-01 at most"):
        call_command("seed_history", streams=5, chunks=100, days=36_500)
