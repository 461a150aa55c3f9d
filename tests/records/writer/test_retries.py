"""Which streams are found to be retries, and what the search costs."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg

from streamviz.records.database import conninfo
from streamviz.records.ids import around
from streamviz.records.links import Kind, numbered
from streamviz.records.writer.retries import ALIKE
from tests.records.conftest import Query
from tests.records.history import NOW, store, story

MARK = numbered(Kind.REQUEST, b"the same")
FAILED = "upstream_error"
# Repeat a request this many times in its session, each slightly later.
POPULAR = """
INSERT INTO records_stream SELECT (jsonb_populate_record(stream, jsonb_build_object(
    'id', left(id::text, 13) || right(gen_random_uuid()::text, 23),
    'requested_at', requested_at + number * interval '1 millisecond'
))).* FROM records_stream AS stream, generate_series(1, %s) AS number WHERE id = %s
"""


def again(minutes: float, *, session: str = "one", outcome: str = "completed") -> UUID:
    """Store the request, `minutes` after NOW, with a new writer."""
    [stream_id] = store(story(NOW + timedelta(minutes=minutes), session=session, marks=(MARK,), outcome=outcome))
    return stream_id


def link_of(query: Query, stream_id: UUID) -> tuple[UUID | None, str]:
    [link] = query("SELECT parent, relation FROM records_stream WHERE id = %s", stream_id)
    return link


def test_a_retry_goes_on_from_the_last_that_failed(query: Query) -> None:
    first, second, third = again(0, outcome=FAILED), again(1, outcome=FAILED), again(60)
    assert link_of(query, second) == (first, "retry")
    assert link_of(query, third) == (second, "retry")


def test_a_retry_goes_on_from_what_failed_where_that_is_stored_behind_it(query: Query) -> None:
    retry = again(1)
    failed = again(0, outcome=FAILED)
    assert link_of(query, retry) == (failed, "retry")


def test_it_begins_anew_where_nothing_failed_there_in_the_last_hour(query: Query) -> None:
    for session, outcome in {"long ago": FAILED, "without failure": "completed", "another": FAILED}.items():
        again(0, session=session, outcome=outcome)
    for minutes, session in ((61, "long ago"), (1, "without failure"), (1, "one")):
        assert link_of(query, again(minutes, session=session)) == (None, ""), session


def test_a_request_that_many_make_crowds_nothing_out(query: Query) -> None:
    failed = again(0, outcome=FAILED)
    popular = again(1, session="popular")
    query(POPULAR, 2_000, popular)
    assert link_of(query, again(2)) == (failed, "retry")


def test_what_is_read_does_not_grow_with_how_often_it_was_asked(query: Query) -> None:
    stream = again(0, outcome=FAILED)
    few = rows_read(stream)
    query(POPULAR, 300, stream)
    query("ANALYZE records_stream")
    # Of the later ones, only a limited number is examined.
    assert rows_read(stream) <= few + 100


def rows_read(stream_id: UUID) -> int:
    """How many rows of streams are read to find identical requests."""
    return read_by(ALIKE, {"streams": [stream_id], "failed": [FAILED], **around([stream_id])._asdict()})


def read_by(statement: str, told: dict[str, Any]) -> int:
    """How many rows of streams a statement reads."""
    with psycopg.connect(conninfo()) as connection:
        [(plan,)] = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON, TIMING OFF) {statement}", told)
    return _read(plan[0]["Plan"])


def _read(node: dict[str, Any]) -> int:
    own = node["Actual Rows"] * node["Actual Loops"] if node.get("Relation Name") == "records_stream" else 0
    return int(own + node.get("Rows Removed by Filter", 0)) + sum(map(_read, node.get("Plans", [])))
