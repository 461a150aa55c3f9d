"""GET /api/streams/<id>/events: what each reader gets of a stream, from the record and while it runs."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from django.conf import LazySettings
from django.db import connections
from msgspec.structs import replace

from streamviz.api import admission
from streamviz.api import events as events_module
from streamviz.api.asgi import application
from streamviz.core.context import Frame
from streamviz.core.json_value import encode
from streamviz.events.reports import PIECE
from streamviz.proxy.worker import worker
from streamviz.records.configuration import KnownKey
from streamviz.records.database import conninfo
from streamviz.records.ids import uuid7
from streamviz.records.journal import shared
from streamviz.records.journal.journal import Journal
from streamviz.records.models import ApiKey, Policy
from streamviz.records.models.access import digest
from tests.events.rules import messages, verify
from tests.live.test_consumers import cookie
from tests.records.support import NOON, block, closed, journal_of, judged, move, opened, passed, received, sent, verdict

REQUEST = encode({"messages": [{"role": "user", "content": "Say hello."}]})
MINE, THEIRS = "sv-mine", "sv-theirs"


def chunk(**delta: object) -> bytes:
    return b"data: " + encode({"id": "x", "choices": [{"index": 0, "delta": delta}]}) + b"\n\n"


class Recorder:
    """A worker that records streams of the key `MINE`."""

    def __init__(self, root: Path, key_id: int, version_id: int) -> None:
        self.root = root
        self.version_id = version_id
        self.id = uuid7()
        self.said = 0
        self.journal: Journal = journal_of(root, [opened(self.id, key_id=key_id, request=REQUEST)])

    def add(self, *entries: Any) -> None:
        for entry in entries:
            self.journal.append(entry)
        self.journal.flush()

    def say(self, first: int, *texts: str, at: int = NOON) -> None:
        came = received(self.id, [chunk(content=text) for text in texts], first)
        self.said = first + len(texts)
        self.add(replace(came, received_at=at), sent(self.id, passed(range(first, self.said)), first))

    def end(self, **changes: Any) -> None:
        self.add(closed(self.id, **{"chunk_count": self.said} | changes))

    async def move(self) -> None:
        """Move the journal's contents into Postgres."""
        await asyncio.to_thread(move, self.root)


@pytest.fixture
async def recorder(
    transactional_db: None, tmp_path: Path, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Recorder]:
    settings.JOURNAL_DIR = tmp_path

    def made() -> tuple[int, int, int]:
        mine, theirs = (ApiKey.objects.create(name=name, digest=digest(name)) for name in (MINE, THEIRS))
        policy = Policy(name="guard", kind="tool_rule", parameters={"names": ["x"]})
        policy.save()
        return mine.pk, theirs.pk, policy.versions.get().pk

    mine, theirs, version = await database_sync_to_async(made)()
    monkeypatch.setattr(worker.configuration, "keys", {digest(MINE): KnownKey(mine, MINE),
                                                       digest(THEIRS): KnownKey(theirs, THEIRS)})  # fmt: skip
    monkeypatch.setattr(worker.configuration, "key_ids", frozenset({mine, theirs}))
    found = Recorder(tmp_path, mine, version)
    await found.move()
    yield found
    found.journal.close()
    for run in (database_sync_to_async, sync_to_async):
        await run(connections.close_all)()


class Call:
    """A reader's request, and the response as it arrives."""

    def __init__(self, path: str, query: str = "", method: str = "GET", **headers: str) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.is_over = False
        self.takes, self.stuck = asyncio.Event(), asyncio.Event()
        self.takes.set()
        self._news = asyncio.Condition()
        self._gone = asyncio.Event()
        scope: Any = {
            "type": "http", "method": method, "path": path, "query_string": query.encode(),
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
        }  # fmt: skip
        self.task = asyncio.ensure_future(application(scope, self._receive, self._send))

    async def _receive(self) -> Any:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if not self.takes.is_set():
            self.stuck.set()
            await self.takes.wait()
        async with self._news:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            else:
                self.body += message["body"]
                self.is_over = not message["more_body"]
            self._news.notify_all()

    async def until(self, is_so: Callable[[], Any]) -> None:
        async with asyncio.timeout(60), self._news:
            await self._news.wait_for(is_so)

    async def whole(self) -> "Call":
        await self.until(lambda: self.is_over)
        await self.task
        return self

    async def leave(self) -> None:
        self._gone.set()
        await self.task

    @property
    def numbered(self) -> list[tuple[str, dict[str, Any]]]:
        """The events received so far, each with its id."""
        found = []
        for event in self.body.decode().split("\n\n")[:-1]:
            if not event.startswith(":"):
                id, data = event.split("\n")
                found.append((id.removeprefix("id: "), json.loads(data.removeprefix("data: "))))
        return found

    @property
    def events(self) -> list[dict[str, Any]]:
        return [event for _, event in self.numbered]


def read(recorder: Recorder, query: str = "", key: str = MINE, **headers: str) -> Call:
    return Call(f"/api/streams/{recorder.id}/events", query, authorization=f"Bearer {key}", **headers)


async def test_a_recorded_stream_is_read_whole(recorder: Recorder) -> None:
    recorder.say(0, "Hel", "lo")
    recorder.add(judged(recorder.id, verdict(recorder.version_id, at=NOON)))
    recorder.end(blocks=[block(0, held_at=NOON, held_by=("guard",))])
    await recorder.move()
    call = await read(recorder).whole()
    assert (call.status, call.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    verify(call.events)
    assert messages(call.events)["texts"] == ["Hello"]
    assert next(event["delta"] for event in call.events if "delta" in event) == "Say hello."
    assert {event["name"] for event in call.events if event["type"] == "CUSTOM"} == {
        "streamviz.verdict", "streamviz.hold"
    }  # fmt: skip


async def test_a_running_stream_is_read_from_its_start_and_then_as_it_comes(recorder: Recorder) -> None:
    recorder.say(0, "Hel")
    live = read(recorder)
    await live.until(lambda: b"Hel" in live.body)
    recorder.say(1, "lo")
    await live.until(lambda: b'"lo"' in live.body)
    assert not live.is_over
    recorder.add(judged(recorder.id, verdict(recorder.version_id, at=NOON + 1)))
    recorder.end()
    await live.whole()
    verify(live.events)
    await recorder.move()
    assert (await read(recorder).whole()).numbered == live.numbered


async def test_who_comes_back_gets_what_they_lack(recorder: Recorder) -> None:
    recorder.say(0, "Hel", "lo")
    recorder.end()
    whole = (await read(recorder).whole()).numbered
    rest = await read(recorder, last_event_id=whole[4][0]).whole()
    assert rest.numbered == whole[5:]


async def test_lines_of_json_have_our_own_names(recorder: Recorder) -> None:
    recorder.say(0, "Hello")
    recorder.end()
    call = await read(recorder, "format=jsonl").whole()
    assert call.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in call.body.splitlines()]
    assert [line["type"] for line in lines] == [
        "opened", "asked", "block_started", "block_delta", "block_completed", "block_sealed", "closed"
    ]  # fmt: skip
    assert [line["event_id"] for line in lines] == [f"jk{n}.0.0" for n in range(1, 8)]
    assert lines[3]["text"] == "Hello"


async def test_a_large_picture_comes_in_pieces(recorder: Recorder) -> None:
    picture = "ABCD" * 50_000
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}
    recorder.add(received(recorder.id, [chunk(images=[image])]), sent(recorder.id, passed([0])))
    recorder.said = 1
    recorder.end()
    call = await read(recorder).whole()
    verify(call.events)
    told = [(event["name"], event["value"]) for event in call.events if event["type"] == "CUSTOM"]
    assert [name for name, _ in told] == [
        "streamviz.media_start", *["streamviz.media_content"] * 13, "streamviz.media_end"
    ]  # fmt: skip
    assert "".join(value["data"] for _, value in told[1:-1]) == picture
    assert max(len(value["data"]) for _, value in told[1:-1]) == PIECE


async def test_a_recorded_stream_can_be_read_at_its_pace(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder.say(0, "Hel")
    recorder.say(1, "lo", at=NOON + 3_000_000)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    recorder.end(ended_at=NOON + 3_000_000)
    await recorder.move()
    monkeypatch.setattr(events_module, "sleep", sleep)
    call = await read(recorder, "pace=2").whole()
    assert messages(call.events)["texts"] == ["Hello"]
    assert sum(slept) == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("key", "status"), [(MINE, 200), (THEIRS, 404), ("sv-unknown", 401)], ids=["its key", "another key", "no key"]
)
async def test_a_key_reads_the_streams_that_it_made(recorder: Recorder, key: str, status: int) -> None:
    recorder.end()
    assert (await read(recorder, key=key).whole()).status == status


@pytest.mark.parametrize(
    ("who", "status"), [("bob", 200), ("alice", 200), ("administrator", 200), ("charlie", 404), ("stranger", 401)]
)
async def test_a_browser_reads_what_its_user_may_see(recorder: Recorder, who: str, status: int) -> None:
    recorder.end()
    session = await database_sync_to_async(cookie)(who)
    call = Call(f"/api/streams/{recorder.id}/events", cookie=f"sessionid={session}")
    assert (await call.whole()).status == status


async def test_a_reader_who_leaves_is_noticed_and_makes_room(recorder: Recorder, settings: LazySettings) -> None:
    settings.EVENT_READERS = 1
    first = read(recorder)
    await first.until(lambda: first.body)
    assert (await read(recorder).whole()).status == 429
    await first.leave()
    recorder.end()
    assert (await read(recorder).whole()).status == 200


async def test_a_server_has_no_more_readers_than_it_bears_whoever_they_are(
    recorder: Recorder, settings: LazySettings
) -> None:
    settings.EVENT_READERS_TOTAL = 1
    path, session = f"/api/streams/{recorder.id}/events", await database_sync_to_async(cookie)("bob")
    first = read(recorder)
    await first.until(lambda: first.body)
    assert (await Call(path, cookie=f"sessionid={session}").whole()).status == 503
    await first.leave()
    recorder.end()
    assert (await Call(path, cookie=f"sessionid={session}").whole()).status == 200


async def test_a_key_that_is_revoked_reads_no_further(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_module, "RECHECK_SECONDS", 0.0)
    call = read(recorder)
    await call.until(lambda: call.body)
    monkeypatch.setattr(worker.configuration, "key_ids", frozenset())
    assert "RUN_FINISHED" not in [event["type"] for event in (await call.whole()).events]


async def test_a_key_that_is_revoked_while_it_reads_at_a_pace_reads_no_further(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder.say(0, "Hel")
    recorder.say(1, "lo", at=NOON + 3_000_000)
    recorder.end()
    await recorder.move()

    async def sleep(_: float) -> None:
        monkeypatch.setattr(worker.configuration, "key_ids", frozenset())

    monkeypatch.setattr(events_module, "sleep", sleep)
    monkeypatch.setattr(events_module, "RECHECK_SECONDS", 0.0)
    call = await read(recorder, "pace=1").whole()
    assert b"Hel" in call.body
    assert b'"lo"' not in call.body


async def test_who_waits_for_a_stream_counts_as_a_reader(
    recorder: Recorder, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EVENT_READERS = 1
    waits = asyncio.Event()

    async def find(*_: Any) -> None:
        waits.set()
        await asyncio.Event().wait()

    with monkeypatch.context() as patched:
        patched.setattr(admission, "stream_for", find)
        first = read(recorder)
        await waits.wait()
    assert (await read(recorder).whole()).status == 429
    first.task.cancel()
    await asyncio.wait((first.task,))


async def test_long_texts_come_in_pieces_and_long_requests_are_cut(recorder: Recorder) -> None:
    recorder.id = uuid7()
    turns = [{"role": "user", "content": text} for text in ("x" * 200_000, *["y"] * 1000)]
    key = next(iter(worker.configuration.keys.values())).id
    recorder.add(opened(recorder.id, key_id=key, request=encode({"messages": [*turns, turns[0]]})))
    await recorder.move()
    said = "é" * 100_000
    recorder.say(0, said)
    recorder.end()
    told = (await read(recorder).whole()).events
    verify(told)
    assert messages(told)["texts"] == [said]
    assert max(len(each["delta"]) for each in told if "é" in each.get("delta", "")) == PIECE
    asked = [each for each in told if each.get("role") == "user"]
    assert [each["messageId"].rpartition("-")[2] for each in (asked[0], asked[-1])] == ["2", "1001"]
    assert [each.get("metadata") for each in asked[-2:]] == [None, {"isCut": True}]


@pytest.mark.parametrize(("format", "sign"), [("agui", b": keep-alive\n\n"), ("jsonl", b"\n\n")])
async def test_a_sign_of_life_comes_while_nothing_happens(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch, format: str, sign: bytes
) -> None:
    monkeypatch.setattr(events_module, "KEEP_ALIVE_SECONDS", 0.0)
    call = read(recorder, f"format={format}")
    await call.until(lambda: sign in call.body)
    await call.leave()


async def test_a_slow_reader_is_sent_no_more_than_they_take_and_catches_up(recorder: Recorder) -> None:
    """What the reader has not taken stays in the record and takes up no memory."""
    call = read(recorder)
    await call.until(lambda: call.body)
    call.takes.clear()
    recorder.say(0, *["x" * 1000] * 2000)
    await call.stuck.wait()
    recorder.say(2000, "and the rest")
    recorder.end()
    await recorder.move()
    assert len(call.body) < 2 * events_module.PIECE_BYTES
    call.takes.set()
    assert messages((await call.whole()).events)["texts"] == ["x" * 2_000_000 + "and the rest"]


async def test_a_reader_who_takes_nothing_and_is_cut_off_lets_go_of_everything(recorder: Recorder) -> None:
    call = read(recorder)
    await call.until(lambda: call.body)
    call.takes.clear()
    recorder.say(0, *["x" * 1000] * 2000)
    await call.stuck.wait()
    assert recorder.journal.path in shared._journals
    await call.leave()
    assert (recorder.journal.path in shared._journals, admission._reading) == (False, {})


async def test_a_client_is_not_told_what_policies_kept_from_it_and_its_operator_is(recorder: Recorder) -> None:
    recorder.say(0, "Let me look.")
    call = chunk(tool_calls=[{"index": 0, "id": "c", "function": {"name": "x", "arguments": '{"secret": 1}'}}])
    recorder.add(
        received(recorder.id, [call], 1),
        judged(recorder.id, verdict(recorder.version_id, ordinal=1, at=NOON + 1)),
        sent(recorder.id, [Frame(b"data: denied", None, "guard")], 1),
    )
    held = {"kind": "tool_call", "name": "x", "upstream_id": "c", "held_at": NOON + 1, "held_by": ("guard",)}
    recorder.end(blocks=[block(0, text="Let me look."), block(1, text='{"secret": 1}', released_at=None, **held)])
    told = (await read(recorder).whole()).events
    verify(told)
    assert messages(told) == {"texts": ["Let me look."], "thoughts": [], "calls": []}
    session = await database_sync_to_async(cookie)("bob")
    seen = await Call(f"/api/streams/{recorder.id}/events", cookie=f"sessionid={session}").whole()
    assert messages(seen.events)["calls"] == [["x", '{"secret": 1}']]


@pytest.mark.parametrize("outcome", ["halted", "upstream_error", "interrupted", "client_disconnected"])
async def test_of_an_answer_that_was_cut_off_a_client_is_told_what_it_got(recorder: Recorder, outcome: str) -> None:
    """What arrived together with the end, or was waiting at that point, has not been judged."""
    recorder.say(0, "Hi")
    recorder.add(received(recorder.id, [chunk(content=" precious")], 1))
    blocks = [block(text="Hi precious", released_at=NOON), block(ordinal=1, text="precious", released_at=NOON)]
    said = {"usage": encode({"note": "precious"}), "finish_reason": "precious"}
    recorder.end(outcome=outcome, chunk_count=2, blocks=blocks, **said)
    await recorder.move()
    told = [(await read(recorder, query).whole()).body for query in ("", "format=jsonl")]
    assert all(b"Hi" in each and b"precious" not in each for each in told)


async def test_a_client_is_told_that_it_was_denied_something_and_not_why_or_what_is_only_tried(
    recorder: Recorder,
) -> None:
    given = {"reason": "the secret", "failure": "a fault", "by": "alice"}
    shadow = verdict(recorder.version_id, mode="shadow", **given)
    recorder.add(judged(recorder.id, shadow, verdict(recorder.version_id, number=1, **given)))
    recorder.end()
    told = [event["value"] for event in (await read(recorder).whole()).events if event["type"] == "CUSTOM"]
    assert [(each["number"], each["decision"]) for each in told if "decision" in each] == [(1, "deny")]
    session = await database_sync_to_async(cookie)("bob")
    seen = await Call(f"/api/streams/{recorder.id}/events", cookie=f"sessionid={session}").whole()
    for call, is_told in ((told, False), (seen.events, True)):
        assert [word in str(call) for word in given.values()] == [is_told] * 3


async def test_what_was_asked_is_told_where_policies_took_their_time_over_it(recorder: Recorder) -> None:
    key = next(iter(worker.configuration.keys.values())).id
    recorder.id = uuid7()
    recorder.add(opened(recorder.id, key_id=key, request=b""))
    await recorder.move()
    live = read(recorder)
    await live.until(lambda: live.body)
    recorder.add(opened(recorder.id, key_id=key, request=REQUEST))
    recorder.say(0, "Hel", "lo")
    recorder.end()
    assert "Say hello." in str((await live.whole()).events)
    await recorder.move()
    rest = await read(recorder, last_event_id=live.numbered[4][0]).whole()
    assert live.numbered[5:] == rest.numbered


@pytest.mark.parametrize(
    ("query", "last", "status"),
    [
        ("format=xml", "", 400),
        ("pace=fast", "", 400),
        ("pace=-1", "", 400),
        ("pace=nan", "", 400),
        ("pace=0.001", "", 400),
        ("", "7", 400),
        ("", "ak7.0.0", 200),
        ("", "jk7.0.0", 400),
        ("", "au7.0.0", 400),
        ("format=jsonl", "ak7.0.0", 400),
    ],
)
async def test_a_query_that_makes_no_sense_is_refused(recorder: Recorder, query: str, last: str, status: int) -> None:
    headers = {"last_event_id": last} if last else {}
    recorder.end()
    assert (await read(recorder, query, **headers).whole()).status == status


async def test_other_methods_and_places_are_refused_and_sites_are_named(
    recorder: Recorder, settings: LazySettings
) -> None:
    settings.CORS_ORIGINS = frozenset({"https://agents.example"})
    path = f"/api/streams/{recorder.id}/events"
    assert (await Call(path, method="POST").whole()).status == 405
    assert (await Call("/api/streams/").whole()).status == 404
    unknown = await Call(f"/api/streams/{uuid.uuid4()}/events", authorization=f"Bearer {MINE}",
                         origin="https://agents.example").whole()  # fmt: skip
    assert (unknown.status, unknown.headers["access-control-allow-origin"]) == (404, "https://agents.example")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/api/streams/abc/events", "There is no stream abc that you may read."),
        (f"/api/streams/{'x' * 99}/events", f"There is no stream {'x' * 50} that you may read."),
        ("/api/streams/abc", "There is no /api/streams/abc here. A stream's events are at /api/streams/<id>/events."),
        ("/api/v1/models", "There is no /api/v1/models here; /v1/models is. Check the base URL."),
    ],
)
async def test_a_place_that_does_not_exist_is_told_with_what_may_be_meant(
    recorder: Recorder, path: str, said: str
) -> None:
    answer = await Call(path, authorization=f"Bearer {MINE}").whole()
    assert (answer.status, json.loads(answer.body)["error"]["message"]) == (404, said)


async def test_head_tells_whether_there_are_events_without_them(recorder: Recorder) -> None:
    recorder.say(0, "Hello")
    path = f"/api/streams/{recorder.id}/events"
    asked = await Call(path, "format=jsonl", method="HEAD", authorization=f"Bearer {MINE}").whole()
    assert (asked.status, asked.headers["content-type"], asked.body) == (200, "application/x-ndjson", b"")
    theirs = await Call(path, method="HEAD", authorization=f"Bearer {THEIRS}").whole()
    assert (theirs.status, theirs.body) == (404, b"")


async def test_it_goes_on_where_postgres_was_started_anew(recorder: Recorder) -> None:
    recorder.end()
    await recorder.move()
    unknown = f"/api/streams/{uuid.uuid4()}/events"
    assert (await Call(unknown, authorization=f"Bearer {MINE}").whole()).status == 404
    await asyncio.to_thread(end_connection, await sync_to_async(connection_open)())
    assert (await read(recorder).whole()).status == 200


def connection_open() -> int | None:
    """The Postgres process of this thread's connection, if it has one."""
    found = connections["default"].connection
    return None if found is None else found.info.backend_pid


def end_connection(process: int | None) -> None:
    """End a connection as Postgres does when it stops."""
    with psycopg.connect(conninfo()) as postgres:
        postgres.execute("SELECT pg_terminate_backend(%s)", [process])


async def test_a_stream_that_has_just_begun_is_waited_for(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "LOOKS", 1000)
    new = recorder.id = uuid7()
    call = read(recorder)
    recorder.add(opened(new, key_id=next(iter(worker.configuration.keys.values())).id), closed(new))
    await recorder.move()
    assert (await call.whole()).status == 200
