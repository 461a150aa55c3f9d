"""Pages of streams whose chunks are archived: unchanged, and without the chunks while the storage is down."""

import asyncio
import json
import math
import threading
import uuid
from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from asgiref.sync import async_to_sync
from django.core.management import call_command

from streamviz.dashboard import playback
from streamviz.dashboard.exports.sse import to_client
from streamviz.proxy.replays import ReplayedAnswer
from streamviz.records.archive import reading
from streamviz.records.archive.bucket import Bucket, ChunksAway
from streamviz.records.archive.reading import Kept
from streamviz.records.database import conninfo
from streamviz.records.exporting import by_turns
from streamviz.records.partitions import make_days
from streamviz.records.tapes import client_bytes
from streamviz.upstream.targets import Replay
from tests.dashboard.conftest import Cast
from tests.records.archive.conftest import away, endpoint, storage
from tests.records.archive.support import Storage, archive
from tests.records.conftest import Query, connected, query
from tests.records.history import day, make_policy, store, story

__all__ = ["away", "connected", "endpoint", "query", "storage"]

TABS = ("", "tapes/", "chunks/", "?at=2", "chunks/1/", "export/", "export/?as=har", "export/?as=client")


@pytest.fixture
def stream(cast: Cast, storage: Storage, query: Query, monkeypatch: pytest.MonkeyPatch) -> uuid.UUID:
    """A stream that a policy intervened in, old enough to be archived."""
    monkeypatch.setattr(reading, "_kept", Kept(reading.MOST_KEPT_BYTES))
    monkeypatch.setattr(playback, "_kept", OrderedDict())
    with psycopg.connect(conninfo(), autocommit=True) as connection:
        make_days(connection, [day(4).date()])
    [stream_id] = store(story(day(4), session="old", denied=make_policy("guard")))
    return stream_id


def page(cast: Cast, path: str) -> tuple[int, str]:
    cast["bob"].raise_request_exception = False
    answer: Any = cast["bob"].get(path)
    body = async_to_sync(sent)(answer.streaming_content) if answer.streaming else answer.content
    return answer.status_code, body.decode()


async def sent(pieces: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in pieces])


def test_the_pages_of_an_archived_stream_are_as_before(cast: Cast, storage: Storage, stream: uuid.UUID) -> None:
    paths = [f"/streams/{stream}/{tab}" for tab in TABS]
    before = [page(cast, path) for path in paths]
    archive(storage.bucket)
    playback._kept.clear()
    for path, (status, shown) in zip(paths, before, strict=True):
        assert status == 200, path
        assert bare(page(cast, path)[1]) == bare(shown), path


def test_a_download_has_the_chunks_that_are_archived_while_it_is_sent(
    cast: Cast, storage: Storage, stream: uuid.UUID
) -> None:
    [beside] = store(story(day(4), session="old", number=1))
    written = to_client(by_turns([stream, beside]), "")
    assert next(written) == b": stream %s\n\n" % str(stream).encode()
    before = [*client_bytes(stream)]
    archive(storage.bucket)
    assert before
    assert [*written][: len(before)] == before


def bare(shown: str) -> list[str]:
    """The lines that do not change with each request."""
    return [line for line in shown.splitlines() if "csrf" not in line.lower()]


def test_while_it_is_away_all_but_chunks_is_there(
    cast: Cast, storage: Storage, stream: uuid.UUID, away: Bucket, caplog: pytest.LogCaptureFixture
) -> None:
    archive(storage.bucket)
    status, shown = page(cast, f"/streams/{stream}/")
    assert status == 200
    assert "cannot be read now: the object storage does not answer" in shown
    assert "Let me look." in shown
    assert page(cast, f"/streams/{stream}/?at=2")[0] == 200
    for tab in ("tapes/", "chunks/", "export/?as=client"):
        caplog.clear()
        status, shown = page(cast, f"/streams/{stream}/{tab}")
        assert status == 503, tab
        assert any(f"{stream}" in line and "does not answer" in line for line in caplog.messages), caplog.messages
        assert "the object storage does not answer" in shown
        assert (f"/streams/{stream}/request/" in shown) is not tab.startswith("export")
    assert [each for each in caplog.records if each.exc_info] == []
    assert page(cast, f"/streams/{stream}/export/?as=markdown")[0] == 200
    with pytest.raises(ChunksAway):
        call_command("verify")


def test_events_answer_503_while_it_is_away(cast: Cast, storage: Storage, stream: uuid.UUID, away: Bucket) -> None:
    archive(storage.bucket)
    cookie = cast["bob"].cookies["sessionid"].value
    status, body = async_to_sync(events)(stream, f"sessionid={cookie}")
    assert status == 503
    assert "does not answer" in json.loads(body)["error"]["message"]


def test_events_and_replays_wait_for_the_storage_in_threads_of_its_own(
    cast: Cast, storage: Storage, stream: uuid.UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive(storage.bucket)
    get, threads = Bucket.get, list[str]()

    def noted(*asked: Any) -> bytes:
        threads.append(threading.current_thread().name)
        return get(*asked)

    monkeypatch.setattr(Bucket, "get", noted)
    assert async_to_sync(events)(stream, f"sessionid={cast['bob'].cookies['sessionid'].value}")[0] == 200
    assert len(threads) == 1
    monkeypatch.setattr(reading, "_kept", Kept(reading.MOST_KEPT_BYTES))
    assert async_to_sync(replayed)(stream)
    assert len(threads) == 2
    assert all(name.startswith("archive") for name in threads), threads


async def replayed(stream_id: uuid.UUID) -> bytes:
    return await sent(aiter(ReplayedAnswer(Replay(stream_id, math.inf, 0, (), hides_usage=False), is_streaming=True)))


async def test_while_readers_wait_for_the_storage_others_have_threads() -> None:
    answers = threading.Event()
    waiting = [asyncio.ensure_future(reading.in_thread(answers.wait)()) for _ in range(100)]
    assert await asyncio.to_thread(str, 1) == "1"
    answers.set()
    assert all(await asyncio.gather(*waiting))


async def events(stream_id: uuid.UUID, cookie: str) -> tuple[int, bytes]:
    from streamviz.api.asgi import application

    said: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        said.append(message)

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()  # the reader stays
        return {}

    scope = {
        "type": "http",
        "method": "GET",
        "path": f"/api/streams/{stream_id}/events",
        "query_string": b"format=jsonl",
        "headers": [(b"cookie", cookie.encode())],
        "client": ("127.0.0.1", 1),
    }
    await application(scope, receive, send)
    return said[0]["status"], b"".join(each.get("body", b"") for each in said)


def test_system_says_how_much_is_archived(cast: Cast, storage: Storage, stream: uuid.UUID) -> None:
    archive(storage.bucket)
    status, shown = page(cast, "/system/")
    assert status == 200
    assert "in 1 object" in shown
    assert "<dt>Chunks archived after</dt><dd>3 days</dd>" in shown
