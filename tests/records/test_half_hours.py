"""The totals in half hours equal the sums over individual streams, whatever happens to them."""

import threading
from collections.abc import Callable
from datetime import timedelta

import psycopg
import pytest
from django.core.management import call_command

from streamviz.records.database import conninfo
from streamviz.records.deletion import delete_session, delete_streams
from streamviz.records.half_hours import put_together
from streamviz.records.models import ApiKey, HalfHour, Session, Stream
from streamviz.records.retention import Retaining
from streamviz.records.rules import Retention
from streamviz.records.upkeep import Upkeep
from tests.records.conftest import Query
from tests.records.history import NOW, day, id_at, store, story

GROUP = "requested_at, requested_model, provider, key_id, outcome"
SUMS = "sum(streams), sum(input_tokens), sum(output_tokens), sum(cost), sum(reported_input), sum(reported), sum(priced)"
ADDED_UP = f"SELECT {GROUP}, {SUMS} FROM records_halfhour GROUP BY {GROUP} HAVING ({SUMS}) <> (0, 0, 0, 0, 0, 0, 0)"
ONE_BY_ONE = """
SELECT to_timestamp(floor(extract(epoch FROM requested_at) / 1800) * 1800), requested_model, provider, key_id, outcome,
    count(*), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), coalesce(sum(cost), 0),
    count(input_tokens), count(output_tokens), count(cost)
FROM records_stream WHERE outcome <> '' GROUP BY 1, 2, 3, 4, 5
"""
HALF = timedelta(minutes=30)


def agrees(query: Query) -> bool:
    """Whether both ways of summing give the same result, and not an empty one."""
    added_up, one_by_one = set(query(ADDED_UP)), set(query(ONE_BY_ONE))
    return added_up == one_by_one and bool(one_by_one)


@pytest.fixture
def key(query: Query) -> ApiKey:
    found, _ = ApiKey.objects.issue("nightly")
    return found


@pytest.fixture
def history(key: ApiKey, query: Query) -> None:
    """Streams of several half hours, models and outcomes, some with unknown figures, and one that is running."""
    unknown = {"input_tokens": None, "output_tokens": None, "cost": None}
    store(
        story(NOW, session="one", requested_model="a", key_id=key.pk),
        story(NOW + HALF - timedelta(microseconds=1), number=1, session="one", requested_model="a", key_id=key.pk),
        story(NOW + HALF, number=2, session="two", requested_model="a", outcome="halted"),
        story(NOW + HALF, number=3, session="two", requested_model="b", outcome="upstream_error", **unknown),
        story(day(40), number=4, session="old", requested_model="b"),
    )
    [running] = store(story(NOW, number=5, session="two"))
    query("UPDATE records_stream SET outcome = '' WHERE id = %s", running)


CHANGES: dict[str, Callable[[], object]] = {
    "nothing": lambda: None,
    "a stream ends": lambda: store(story(NOW, number=5, session="two")),
    "it is recorded again": lambda: store(story(NOW, session="one", requested_model="a")),
    "a session is deleted": lambda: delete_session(Session.objects.get(label="two").pk),
    "streams are deleted": lambda: delete_streams([id_at(NOW), id_at(NOW, 5)]),
    "retention": lambda: Retaining(Retention(1, 30, 30), NOW).apply(lambda _: None),
    "a key is deleted": lambda: ApiKey.objects.all().delete(),
    "a stream is corrected": lambda: Stream.objects.filter(requested_model="b").update(
        requested_model="c", outcome="interrupted", cost=3, requested_at=day(2)
    ),
    "a figure becomes unknown": lambda: Stream.objects.filter(requested_model="a").update(input_tokens=None),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_half_hours_agree_with_the_streams_after_a_change(
    history: None, query: Query, change: Callable[[], object]
) -> None:
    change()
    assert agrees(query)
    with psycopg.connect(conninfo(), autocommit=True) as connection:
        put_together(connection)
    assert agrees(query)
    assert HalfHour.objects.count() == len(query(ONE_BY_ONE))


def test_an_import_is_added_up(history: None, query: Query, tmp_path: str) -> None:
    path = f"{tmp_path}/all.jsonl"
    call_command("export", *(str(each.pk) for each in Session.objects.all()), "--output", path)
    for session in Session.objects.all():
        delete_session(session.pk)
    assert query(ADDED_UP) == []
    call_command("import", path)
    assert agrees(query)


def test_a_stream_that_runs_is_in_none(history: None, query: Query) -> None:
    Stream.objects.exclude(outcome="").delete()
    assert Stream.objects.count() == 1
    assert query(ADDED_UP) == []


def test_two_that_put_them_together_at_once_lose_nothing(history: None, query: Query) -> None:
    done = threading.Event()

    def another() -> None:
        with psycopg.connect(conninfo(), autocommit=True) as connection:
            put_together(connection)
        done.set()

    with psycopg.connect(conninfo()) as connection:
        put_together(connection)
        thread = threading.Thread(target=another)
        thread.start()
        # Rows added in the meantime belong to neither yet.
        store(story(NOW, number=7, session="one", requested_model="a"))
        connection.commit()
        assert done.wait(60)
    thread.join()
    assert agrees(query)


def test_the_upkeep_puts_them_together(history: None, query: Query) -> None:
    Stream.objects.filter(outcome="halted").delete()
    assert HalfHour.objects.count() > len(query(ONE_BY_ONE))
    Upkeep(Retention(0, 0, 0), conninfo).round(threading.Event())
    assert HalfHour.objects.count() == len(query(ONE_BY_ONE))
    assert agrees(query)
