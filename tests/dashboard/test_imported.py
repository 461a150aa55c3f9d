"""Pages, exports and upkeep where a file was imported whose numbers are as large, or as small, as a column takes."""

from datetime import timedelta
from typing import Any

import msgspec
import psycopg
import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from streamviz.dashboard.playback import playback_of
from streamviz.records.database import conninfo
from streamviz.records.deletion import delete_session
from streamviz.records.exporting import export
from streamviz.records.half_hours import put_together
from streamviz.records.models import Session, Stream
from streamviz.records.retention import run_retention
from streamviz.records.rules import Retention
from tests.dashboard.conftest import Cast
from tests.records.conftest import Query, connected, query
from tests.records.history import make_policy, store, story
from tests.records.test_exporting import take

__all__ = ["connected", "query"]

NUMBERS = {
    "stream": ("input_tokens", "output_tokens", "cache_read_tokens", "reasoning_tokens", "itl_p50_us", "itl_p95_us"),
    "verdict": ("took_us",),
}
PATHS = ("/stats/", "/policies/", "/errors/", "/sessions/", "/sessions/histogram/", "/")


@pytest.fixture
def lines(query: Query) -> list[Any]:
    """A session that was exported and deleted: two streams of one half hour, in which a policy intervened."""
    at, version_id = timezone.now() - timedelta(minutes=5), make_policy()
    store(*(story(at, session="one", number=number, denied=version_id) for number in range(2)))
    session = Session.objects.get().pk
    found = [msgspec.json.decode(line) for line in export([session])]
    delete_session(session)
    return found


def imported(lines: list[Any]) -> Session:
    take([msgspec.json.encode(line) for line in lines])
    return Session.objects.get()


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63)])
def test_no_number_keeps_others_from_being_added_up(cast: Cast, lines: list[Any], number: int) -> None:
    for line in lines:
        [(what, value)] = line.items()
        value |= dict.fromkeys(NUMBERS.get(what, ()), number)
    imported(lines)
    assert {path: cast["bob"].get(path).status_code for path in PATHS} == dict.fromkeys(PATHS, 200)
    with psycopg.connect(conninfo(), autocommit=True) as connection:
        put_together(connection)
    run_retention(Retention(30, 60, 90), timezone.now() + timedelta(days=400), lambda _: None)
    assert not Stream.objects.exists()


def test_a_session_is_exported_however_many_chunks_its_streams_are_said_to_have(cast: Cast, lines: list[Any]) -> None:
    for line in lines:
        if "stream" in line:
            line["stream"] |= {"chunk_count": 2**31 - 1, "frame_count": 2**31 - 1}
    answer: Any = cast["bob"].get(f"/sessions/{imported(lines).pk}/export/")
    assert async_to_sync(whole)(answer).endswith(b'{"end":{}}\n')


async def whole(answer: Any) -> bytes:
    return b"".join([part async for part in answer.streaming_content])


def test_a_stream_is_shown_and_not_played_however_high_its_frames_are_numbered(cast: Cast, lines: list[Any]) -> None:
    """All that a tape lacks is prepared with it: that took all memory that there was."""
    first = 2**31 - 1 - len(lines)
    for line in lines:
        if "frame" in line:
            line["frame"]["number"] += first
    stream = imported(lines).streams.first()
    assert stream is not None
    assert stream.frame_count > first
    for tab in ("", "tapes/", "chunks/"):
        assert cast["bob"].get(f"/streams/{stream.pk}/{tab}").status_code == 200
    assert async_to_sync(playback_of)(stream.pk) is None
