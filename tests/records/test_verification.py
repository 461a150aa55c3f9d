"""`verify` finds nothing in an intact record, and each kind of damage in a damaged one."""

import asyncio
import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from io import StringIO
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command

from streamviz.core.aggregator import Chunk
from streamviz.core.judgements import ChainContext
from streamviz.core.processor import StreamProcessor, pass_through
from streamviz.core.request import ModelCall
from streamviz.core.sse import events_in
from streamviz.core.wire import AGGREGATORS
from streamviz.records import verification
from streamviz.records.block_record import BlockRecord
from streamviz.records.deletion import delete_session
from streamviz.records.journal import folder
from streamviz.records.models import UpstreamRun
from streamviz.records.partitions import RUNS
from streamviz.records.retention import run_retention
from streamviz.records.rules import Retention
from streamviz.records.tables import BLOCK
from streamviz.records.verification import strays, verify, wrong_sums
from tests.records.conftest import Query
from tests.records.history import NOW, day, make_policy, store, story, tool_stream
from tests.records.support import NOON as START
from tests.records.support import block, closed, journal_of, move, opened, received

BLOCK_COLUMNS = ", ".join(name for name in BLOCK.names if name != "ordinal")
DAMAGE = {
    "a run of chunks is gone": ("DELETE FROM records_upstreamrun", "there are 0 chunks, and 5 were counted"),
    "a run of frames is gone": ("DELETE FROM records_clientrun", "there are 0 frames, and 1 were counted"),
    "a gap in the chunks": ("UPDATE records_upstreamrun SET first_seq = 1", "chunk 0 is missing"),
    "a gap in the frames": ("UPDATE records_clientrun SET first_frame = 1", "frame 0 is missing"),
    "a chunk's time is wrong": (
        "UPDATE records_upstreamrun SET offsets = ARRAY[9, 1, 2, 3, 4]",
        "a chunk was received before the one before it",
    ),
    "a chunk's bytes are wrong": (
        "UPDATE records_upstreamrun SET payload = overlay(payload PLACING '\\x58' FROM position('look' IN"
        " convert_from(payload, 'UTF8')))",
        "block 0 is not what its chunks add up to: text",
    ),
    "a frame was sent before its chunk came": (
        "UPDATE records_clientrun SET first_at = first_at - 10",
        "chunk 0 was sent before it came",
    ),
    "a frame is no chunk": (
        "UPDATE records_clientrun SET first_seq = 9",
        "chunk 9 was sent and is not on the upstream",
    ),
    "a denied block was sent": (
        "UPDATE records_clientrun SET first_seq = 1",
        "block 1 was denied by verdict 0 and sent",
    ),
    "a verdict is about no block": ("UPDATE records_verdict SET ordinal = 7", "is about block 7, which does not exist"),
    "a policy is gone": (
        "UPDATE records_verdict SET policy_version_id = 999999",
        "verdict 0 is of a policy that is not on record",
    ),
    "a verdict is gone": ("UPDATE records_verdict SET number = 1", "verdict 0 is missing"),
    "a block is gone": ("DELETE FROM records_block WHERE ordinal = 1", "there are 1 blocks, and 2 were counted"),
    "a block too many": (
        f"INSERT INTO records_block (ordinal, {BLOCK_COLUMNS}) SELECT 2, {BLOCK_COLUMNS} FROM records_block"
        " WHERE ordinal = 1",
        "there are 3 blocks, and 2 were counted",
    ),
    "a block's text was changed": (
        "UPDATE records_block SET text = 'Let me lie.' WHERE ordinal = 0",
        "block 0 is not what its chunks add up to: text",
    ),
    "a block's tool was changed": (
        "UPDATE records_block SET name = 'other' WHERE ordinal = 1",
        "block 1 is not what its chunks add up to: name",
    ),
    "a block begins elsewhere": (
        "UPDATE records_block SET first_seq = 3 WHERE ordinal = 0",
        "block 0 is not what its chunks add up to: first_seq",
    ),
    "there is no such stream": (
        "SET session_replication_role = replica; DELETE FROM records_stream",
        "there is no such",
    ),
    "sums that are too large": ("UPDATE records_halfhour SET streams = streams + 1", "sums of"),
    "sums of another model": ("UPDATE records_halfhour SET requested_model = 'another'", "sums of"),
    "sums of no stream": (
        "SET session_replication_role = replica; DELETE FROM records_upstreamrun; DELETE FROM records_clientrun;"
        " DELETE FROM records_block; DELETE FROM records_verdict; DELETE FROM records_stream",
        "sums of",
    ),
    "a format of a later version": (
        "UPDATE records_stream SET wire_format = 'of_a_later_version'",
        "of_a_later_version is a wire format unknown to this version",
    ),
    "a stream that nobody closed": ("UPDATE records_stream SET outcome = ''", "open for more than a day"),
}


def found() -> list[str]:
    damages = [damage for each in verify() for damage in each] + list(strays())
    return [damage.what for damage in damages] + [f"sums of {at}" for at in wrong_sums()]


@pytest.fixture
def stream(query: Query) -> uuid.UUID:
    """An intact stream with a denied call."""
    [stream_id] = store(story(day(1), denied=make_policy()))
    assert found() == []
    return stream_id


@pytest.mark.parametrize(("statement", "what"), DAMAGE.values(), ids=DAMAGE)
def test_it_finds_each_kind_of_damage(query: Query, stream: uuid.UUID, statement: str, what: str) -> None:
    for each in statement.split("; "):
        query(each)
    assert any(what in each for each in found()), found()


def test_a_damage_names_its_stream(query: Query, stream: uuid.UUID) -> None:
    query("DELETE FROM records_block")
    assert {damage.stream_id for each in verify() for damage in each} == {stream}


class OtherClock(datetime):
    """The clock of servers that are two days ahead of Postgres."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return datetime.now(tz) + timedelta(days=2)


def test_how_long_a_stream_is_open_is_by_the_clock_of_the_servers(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "datetime", OtherClock)
    ahead = OtherClock.now(UTC)
    old, _ = store(story(ahead - timedelta(hours=25)), story(ahead - timedelta(hours=23), number=1))
    query("UPDATE records_stream SET outcome = ''")
    assert [damage.stream_id for damage in strays()] == [old]


WHOLE = {
    "an outcome that is no completion": {"outcome": "client_disconnected"},
    "odd bytes": {"raws": [b"", b"\xff\n\n", *tool_stream("nul \\u0000, half \\ud800 of a pair")]},
}


@pytest.mark.parametrize("changes", WHOLE.values(), ids=WHOLE)
def test_it_finds_nothing_wrong_with(query: Query, changes: dict[str, object]) -> None:
    store(story(day(1), **changes))
    assert found() == []


def event(**members: object) -> bytes:
    return f"event: {members['type']}\ndata: {json.dumps(members)}\n\n".encode()


def test_what_a_policy_kept_out_of_chunks_is_not_missed(query: Query) -> None:
    item = {"type": "reasoning", "id": "rs(1)", "summary": []}
    raws = [
        event(type="response.created", response={"id": "resp_1", "status": "in_progress", "output": []}),
        event(type="response.output_item.added", output_index=0, item=item),
        event(type="response.reasoning_summary_text.delta", output_index=0, summary_index=0, delta="Hm"),
        event(type="response.output_item.done", output_index=0, item=item),
        event(type="response.completed", response={"id": "resp_1", "status": "completed", "output": []}),
    ]
    aggregator = AGGREGATORS["openai_responses"]()
    context = ChainContext("run", lambda: 0, ModelCall("openai_responses"))
    read = enumerate(each for raw in raws for each in events_in(raw))
    chunks = [Chunk(seq, START, each.raw, each.data, each.name) for seq, each in read]
    asyncio.run(StreamProcessor(pass_through, aggregator, is_enforcing=True).take(chunks, context))
    aggregator.close()
    [kept] = aggregator.state.blocks
    assert kept.id != "rs(1)"
    stream_id = uuid.uuid4()
    entries = [
        opened(stream_id, wire_format="openai_responses"),
        received(stream_id, raws),
        closed(stream_id, blocks=[BlockRecord.of(kept)], chunk_count=5, frame_count=0),
    ]
    store((stream_id, entries))
    assert found() == []
    query("UPDATE records_block SET text = 'Ho'")
    [wrong] = found()
    assert wrong.startswith("block 0 is not what its chunks add up to: ")
    assert "text" in wrong


def test_a_stream_that_was_cut_short_is_whole_as_far_as_it_went(query: Query, tmp_path: Path) -> None:
    stream_id = uuid.uuid4()
    journal_of(tmp_path, [opened(stream_id), received(stream_id, tool_stream()[:3])]).close()
    move(tmp_path)
    assert found() == []


def test_what_retention_dropped_is_not_missed(query: Query) -> None:
    store(story(day(1)))
    run_retention(Retention(chunk_days=14, stream_days=0, kept_days=0), NOW + timedelta(days=20), lambda _: None)
    assert query("SELECT count(*) FROM records_chunk") == [(0,)]
    assert found() == []
    store(story(day(1), number=1))  # arriving late, it has its day's partition created again
    assert found() == []
    query("TRUNCATE records_retentionrun")
    assert "there are 0 chunks, and 5 were counted" in found()


def test_of_long_streams_it_reads_fewer_at_once(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "CHUNKS_AT_ONCE", 10)
    store(*(story(day(1), number=n) for n in range(5)), story(day(1), tool_stream() * 4, number=5))
    at_once: list[int] = []
    read = verification.upstream_runs_of

    def noted(ids: list[uuid.UUID]) -> Iterator[UpstreamRun]:
        at_once.append(len(ids))
        return read(ids)

    monkeypatch.setattr(verification, "upstream_runs_of", noted)
    assert list(verify()) == [[]] * 6
    assert at_once == [2, 2, 1, 1]


def test_what_is_deleted_while_it_runs_is_no_damage(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "AT_ONCE", 1)
    store(story(day(1), session="stays"), story(day(0.9), session="gone"), story(day(0.8), session="stays"))
    running = verify()
    assert next(running) == []
    [(gone,)] = query("SELECT id FROM records_session WHERE label = 'gone'")
    delete_session(gone)
    assert list(running) == [[], []]


def test_what_retention_drops_while_it_runs_is_no_damage(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    store(story(day(1)))
    read = verification.upstream_runs_of

    def before_retention(ids: list[uuid.UUID]) -> list[UpstreamRun]:
        found = list(read(ids))
        for table in RUNS:
            query(f"DROP TABLE IF EXISTS {table}_{day(1):%Y%m%d}")
        return found

    monkeypatch.setattr(verification, "upstream_runs_of", before_retention)
    assert [damage.what for each in verify() for damage in each] == []


def test_the_command_ends_with_a_fault_where_it_finds_damage(
    query: Query, stream: uuid.UUID, settings: LazySettings, tmp_path: Path
) -> None:
    settings.JOURNAL_DIR = tmp_path
    said = StringIO()
    call_command("verify", stdout=said)
    assert said.getvalue() == "1 stream checked, 0 damaged\n"
    bad = uuid.uuid4()
    journal_of(tmp_path, [opened(bad), closed(bad, blocks=[block(length=-1)])])
    move(tmp_path)
    with pytest.raises(CommandError):
        call_command("verify", stdout=said)
    assert f"{bad}: Postgres would not take it" in said.getvalue()


def test_the_command_names_damaged_segments(
    query: Query, stream: uuid.UUID, settings: LazySettings, tmp_path: Path
) -> None:
    settings.JOURNAL_DIR = tmp_path
    worker = journal_of(tmp_path, [opened(uuid.uuid4()) for _ in range(3)])
    path = folder.segment(worker.path, 1)
    data = path.read_bytes()
    path.write_bytes(data[:20] + b"?" + data[21:])
    worker.close()
    move(tmp_path)
    said = StringIO()
    with pytest.raises(CommandError):
        call_command("verify", stdout=said)
    [kept] = folder.damaged(tmp_path)
    assert f"a segment of the journal was damaged; what was whole is stored, and it is in {kept}" in said.getvalue()
    assert query("SELECT count(*) FROM records_stream") == [(3,)]
