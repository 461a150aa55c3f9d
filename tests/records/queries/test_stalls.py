"""Stalls of streams: noted when they are stored, counted by time and cause, deleted with the stream."""

import uuid
from datetime import timedelta

import pytest

from streamviz.records.deletion import delete_session
from streamviz.records.models import Stall, Stream
from streamviz.records.moments import as_microseconds
from streamviz.records.queries.stalls import stalls_by_time
from streamviz.records.recorder import AnyEntry, ChunksReceived
from tests.records.history import NOW, id_at, store
from tests.records.support import block, closed, opened

pytestmark = pytest.mark.django_db(transaction=True)

SECOND = 1_000_000
START = as_microseconds(NOW)


def waiting(number: int, seconds: list[int], **more: object) -> tuple[uuid.UUID, list[AnyEntry]]:
    """A stream whose chunks arrived this many seconds after its request."""
    stream_id = id_at(NOW, number)
    received = [
        ChunksReceived(stream_id, n, START + at * SECOND, [b"data: {}\n\n"], []) for n, at in enumerate(seconds)
    ]
    end = closed(stream_id, chunk_count=len(seconds), ended_at=START + 60 * SECOND, **more)
    head = opened(stream_id, requested_at=START, requested_model="slow" if number else "fast")
    return stream_id, [head, *received, end]


def held(first: int, last: int, ordinal: int = 0) -> object:
    return block(ordinal=ordinal, held_at=START + first * SECOND, released_at=START + last * SECOND)


def test_each_wait_is_counted_for_who_caused_it() -> None:
    store(
        waiting(0, [0, 1, 3, 3, 8]),
        waiting(1, [0, 20], blocks=[held(1, 19)], client_waits=[(START, START + 2 * SECOND)]),
    )
    [found] = stalls_by_time(NOW, NOW + timedelta(hours=1), timedelta(hours=1))
    assert (found.upstream, found.held, found.client, found.times) == (3, 1, 1, 5)
    [slow] = stalls_by_time(NOW, NOW + timedelta(hours=1), timedelta(hours=1), ("slow",))
    assert (slow.upstream, slow.held, slow.client) == (0, 1, 1)
    assert Stall.objects.get(cause="upstream").lasted_us == 8 * SECOND
    assert stalls_by_time(NOW + timedelta(hours=1), NOW + timedelta(hours=2), timedelta(hours=1)) == []


def test_blocks_that_are_held_at_the_same_time_keep_a_stream_waiting_once() -> None:
    blocks = [held(1, 4, 0), held(2, 9, 1), held(3, 5, 2), held(20, 21, 3)]
    store(waiting(0, [0, 30], blocks=blocks))
    [stall] = Stall.objects.filter(cause="held")
    assert (stall.times, stall.lasted_us) == (2, 9 * SECOND)


def test_stalls_are_deleted_with_their_stream() -> None:
    [stream_id] = store(waiting(0, [0, 9]))
    assert Stall.objects.count() == 1
    delete_session(Stream.objects.get(pk=stream_id).session_id)
    assert not Stall.objects.exists()
