"""The writer: from the journal to rows, and back through the views."""

import random
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.conninfo import make_conninfo

from streamviz.core.context import Frame
from streamviz.core.json_value import encode
from streamviz.faults import Fault
from streamviz.records.database import conninfo
from streamviz.records.ids import uuid7
from streamviz.records.journal import folder
from streamviz.records.journal.decoding import records_in
from streamviz.records.journal.folder import refused
from streamviz.records.journal.journal import Journal
from streamviz.records.models import DeletedStream, Policy
from streamviz.records.queries import streams
from streamviz.records.recorder import AnyEntry, ChunksReceived
from streamviz.records.rules import Retention
from streamviz.records.runs import RUN
from streamviz.records.upkeep import Upkeep
from streamviz.records.writer.process import Writer
from streamviz.records.writer.status import is_running, writer_status
from tests.e2e.proxied import until
from tests.records.conftest import Query
from tests.records.support import (
    NOON,
    block,
    closed,
    journal_of,
    judged,
    move,
    opened,
    passed,
    received,
    sent,
    verdict,
    write,
)
from tests.thorough import examples

CHUNKS = "SELECT seq, raw FROM records_chunk WHERE stream_id = %s ORDER BY seq"
FRAMES = "SELECT number, seq, origin, made FROM records_frame WHERE stream_id = %s ORDER BY number"
ODD = [b"", b"\x00", b"\xff\xfe", b"data: \xc3\n\n", "data: \U0001f9ea\n\n".encode(), b"\r\n\r\n", b"", b"\x00" * 3000]


@pytest.fixture
def stream_id() -> uuid.UUID:
    return uuid.uuid4()


def chunks_of(query: Query, stream_id: uuid.UUID) -> list[bytes]:
    """The upstream tape, without gaps."""
    found = query(CHUNKS, stream_id)
    assert [seq for seq, _ in found] == list(range(len(found)))
    return [bytes(raw) for _, raw in found]


def test_it_gives_every_chunk_back_byte_for_byte(query: Query, stream_id: uuid.UUID) -> None:
    write([opened(stream_id), received(stream_id, ODD)])
    assert chunks_of(query, stream_id) == ODD


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(flushes=st.lists(st.lists(st.lists(st.binary(max_size=40), min_size=1, max_size=90), max_size=3), max_size=3))
def test_it_keeps_any_bytes_in_order_however_they_came(query: Query, flushes: list[list[list[bytes]]]) -> None:
    stream_id = uuid.uuid4()
    entries, first = list[AnyEntry](), 0
    for reads in flushes:
        entries.append([])
        for raws in reads:
            entries[-1].append(received(stream_id, raws, first))
            first += len(raws)
    write([opened(stream_id)], *entries)
    assert chunks_of(query, stream_id) == [raw for reads in flushes for raws in reads for raw in raws]


def test_it_keeps_the_time_of_each_chunk(query: Query, stream_id: uuid.UUID) -> None:
    write([opened(stream_id), received(stream_id, [b"a", b"b"]), received(stream_id, [b"c"], 2)])
    times = query(
        "SELECT extract(epoch FROM received_at) FROM records_chunk WHERE stream_id = %s ORDER BY 1", stream_id
    )
    assert [round(time * 10**6) for (time,) in times] == [NOON, NOON, NOON + 2]


def test_it_keeps_the_client_tape_and_the_bytes_of_what_was_made(query: Query, stream_id: uuid.UUID) -> None:
    made = [Frame(b"", None, "guard"), Frame(b"\x00\xff", None, "guard"), Frame(b"tail", None, "streamviz")]
    write(
        [opened(stream_id), sent(stream_id, passed([0, 1])), sent(stream_id, made, 2)],
        [sent(stream_id, passed([2]), 5)],
    )
    assert query(FRAMES, stream_id) == [
        (0, 0, "upstream", None),
        (1, 1, "upstream", None),
        (2, None, "guard", b""),
        (3, None, "guard", b"\x00\xff"),
        (4, None, "streamviz", b"tail"),
        (5, 2, "upstream", None),
    ]


@pytest.mark.parametrize("at_once", [False, True])
def test_a_request_that_was_settled_late_is_kept_once_it_is(query: Query, stream_id: uuid.UUID, at_once: bool) -> None:
    not_run = [{"policy": "guard", "version": 1, "mode": "enforce", "why": "the model is outside its scope"}]
    first = opened(stream_id, request=b"", session_label="", not_run=not_run)
    settled = opened(stream_id, request=b'{"model":"m"}', session_label="My key is [removed].", not_run=not_run)
    write([first, settled, closed(stream_id)]) if at_once else write([first], [settled], [first, closed(stream_id)])
    stream = "SELECT request, label, not_run, outcome FROM records_stream s JOIN records_session n ON n.id = session_id"
    [(request, label, told, outcome)] = query(f"{stream} WHERE s.id = %s", stream_id)
    assert (bytes(request), label, outcome) == (b'{"model":"m"}', "My key is [removed].", "completed")
    assert told == not_run


def test_it_cuts_long_streams_into_runs(query: Query, stream_id: uuid.UUID) -> None:
    raws = [b"%d" % n for n in range(2 * RUN + 1)]
    write([opened(stream_id), received(stream_id, raws), sent(stream_id, passed(range(len(raws))))])
    third = -(-len(raws) // 3)
    assert query("SELECT first_seq FROM records_upstreamrun ORDER BY 1") == [(0,), (third,), (2 * third,)]
    assert chunks_of(query, stream_id) == raws
    assert [seq for _, seq, _, _ in query(FRAMES, stream_id)] == list(range(len(raws)))


def test_it_changes_nothing_when_the_same_is_written_twice(query: Query, stream_id: uuid.UUID) -> None:
    entries = [
        opened(stream_id),
        received(stream_id, ODD),
        sent(stream_id, passed([0])),
        closed(stream_id, blocks=[block()]),
    ]
    everything = (
        "SELECT (SELECT json_agg(s) FROM records_stream s)::text, (SELECT json_agg(b) FROM records_block b)::text"
    )
    write(entries)
    before = query(everything), query(CHUNKS, stream_id), query(FRAMES, stream_id)
    write(entries)
    assert (query(everything), query(CHUNKS, stream_id), query(FRAMES, stream_id)) == before


def test_it_loses_nothing_when_the_news_of_a_commit_is_lost(query: Query, stream_id: uuid.UUID) -> None:
    first = [opened(stream_id), received(stream_id, [b"a", b"b"]), sent(stream_id, passed([0, 1]))]
    more = [received(stream_id, [b"c"], 2), sent(stream_id, [Frame(b"made", None, "guard")], 2)]
    # The first batch is in Postgres, but the writer did not learn of it: it tries again, together with newer entries.
    write(first, first + more)
    assert chunks_of(query, stream_id) == [b"a", b"b", b"c"]
    assert query(FRAMES, stream_id)[2:] == [(2, None, "guard", b"made")]


def test_it_stores_what_a_closed_stream_came_to(query: Query, stream_id: uuid.UUID) -> None:
    write([opened(stream_id, request=b"\x00 not JSON"), closed(stream_id, blocks=[block(), block(1, text="two")])])
    row = query(
        "SELECT outcome, finish_reason, status, usage, input_tokens, output_tokens, cost::float, chunk_count,"
        " frame_count,"
        " block_count, itl_p50_us, itl_p95_us, extract(epoch FROM ended_at - requested_at) * 1000000, request"
        " FROM records_stream"
    )
    usage = {"prompt_tokens": 1, "completion_tokens": 2}
    assert row == [("completed", "stop", 200, usage, 1, 2, 0.25, 2, 2, 2, 3, 4, 2, b"\x00 not JSON")]
    assert query("SELECT ordinal, text FROM records_block ORDER BY ordinal") == [(0, "Hello"), (1, "two")]


def test_it_keeps_when_the_client_did_not_read(query: Query, stream_id: uuid.UUID) -> None:
    write([opened(stream_id), closed(stream_id, client_waits=[(NOON, NOON + 300_000)])])
    assert query("SELECT client_waits FROM records_stream") == [([[NOON, NOON + 300_000]],)]
    assert streams.entries_of(streams.load(stream_id)).times.client_waits == [(NOON, NOON + 300_000)]


def test_it_leaves_unknown_what_is_not_known(query: Query, stream_id: uuid.UUID) -> None:
    unknown = dict.fromkeys(
        "status usage input_tokens output_tokens cost upstream_first_at client_first_at itl_p50 itl_p95".split()
    )
    write([opened(stream_id), closed(stream_id, **unknown)])
    columns = (
        "status, usage, input_tokens, output_tokens, cost, upstream_first_at, client_first_at, itl_p50_us, itl_p95_us"
    )
    assert query(f"SELECT {columns} FROM records_stream") == [(None,) * 9]


HOSTILE = "a\x00b\ud800c\U0001f9ea'; DROP TABLE records_stream; --"
NUL = "a\x00"
STORED = "a\ufffdb?c\U0001f9ea'; DROP TABLE records_stream; --"


@pytest.fixture
def version_id(transactional_db: None) -> int:
    """The primary key of a policy's version."""
    policy = Policy(name="guard", kind="tool_rule", mode="enforce")
    policy.save()
    return policy.versions.get().pk


def test_it_stores_hostile_text_wherever_text_comes_from_strangers(
    query: Query, stream_id: uuid.UUID, version_id: int
) -> None:
    fields = dict.fromkeys("session_label client user_agent requested_model upstream_model provider".split(), HOSTILE)
    opening = opened(stream_id, **fields)
    texts = dict.fromkeys("upstream_id name label text signature".split(), HOSTILE)
    closing = closed(
        stream_id,
        upstream_model=HOSTILE,
        provider=HOSTILE,
        finish_reason=HOSTILE,
        error=HOSTILE,
        usage=encode({NUL: [NUL, {"deep": NUL}]}),
        blocks=[block(**texts)],
    )
    write([opening, judged(stream_id, verdict(version_id, reason=HOSTILE, failure=HOSTILE)), closing])
    columns = "label, client, user_agent, requested_model, upstream_model, provider, finish_reason, error"
    joined = "records_stream JOIN records_session ON records_session.id = session_id"
    assert query(f"SELECT {columns} FROM {joined}") == [(STORED,) * 8]
    assert query("SELECT usage FROM records_stream") == [({"a\ufffd": ["a\ufffd", {"deep": "a\ufffd"}]},)]
    assert query("SELECT upstream_id, name, label, text, signature FROM records_block") == [(STORED,) * 5]
    assert query("SELECT reason, failure FROM records_verdict") == [(STORED,) * 2]


def test_names_of_any_length_are_stored_and_numbers_that_no_column_takes_are_unknown(
    query: Query, tmp_path: Path, stream_id: uuid.UUID
) -> None:
    # Random, so that nothing in it can be compressed, as an index would do with repetitions.
    chance = random.Random(3)
    name = "".join(chr(chance.randrange(0x10000, 0x110000)) for _ in range(9000))
    odd = {"index": 2**40, "choice": 2**70, "name": name, "label": name}
    fields = "endpoint requested_model upstream_model provider session_label client".split()
    head = opened(stream_id, **dict.fromkeys(fields, name))
    numbers = {"input_tokens": 2**70, "output_tokens": -1, "cost": 1e300}
    write([head, closed(stream_id, upstream_model=name, provider=name, blocks=[block(**odd)], **numbers)])
    columns = "outcome, requested_model, upstream_model, provider, endpoint, input_tokens, output_tokens, cost"
    cut, cut_short = f"{name[:499]}…", f"{name[:99]}…"
    assert query(f"SELECT {columns} FROM records_stream") == [
        ("completed", cut, cut, cut_short, cut_short, None, None, None)
    ]
    assert query("SELECT choice, index, name, label FROM records_block") == [(0, None, cut, name)]
    assert query("SELECT label FROM records_session") == [(name,)]


def test_a_session_begins_with_the_earliest_of_its_streams_however_the_clock_was_set(query: Query) -> None:
    session = {"session_id": uuid.uuid4()}
    for shift in (0, -3600 * 10**6, 3600 * 10**6):
        write([opened(uuid.uuid4(), requested_at=NOON + shift, **session)])
    [(lasted,)] = query("SELECT extract(epoch FROM last_at - started_at)::int FROM records_session")
    assert lasted == 7200


def test_it_keeps_when_each_verdict_was_given_whether_the_stream_ended_or_not(
    query: Query, stream_id: uuid.UUID, version_id: int
) -> None:
    write(
        [opened(stream_id), judged(stream_id, verdict(version_id))], [judged(stream_id, verdict(version_id, number=1))]
    )
    assert query("SELECT number, decision, took_us FROM records_verdict ORDER BY number") == [
        (0, "deny", 12),
        (1, "deny", 12),
    ]


def test_it_keeps_the_lengths_of_chunks_whose_bytes_are_not_to_be_kept(query: Query, stream_id: uuid.UUID) -> None:
    write([opened(stream_id), ChunksReceived(stream_id, 0, NOON, [], [120, 7])])
    assert query("SELECT seq, length, raw FROM records_chunk") == [(0, 120, None), (1, 7, None)]


def tables_of(query: Query, table: str) -> dict[uuid.UUID, str]:
    """The table that contains each stream's runs."""
    return dict(query(f"SELECT stream_id, tableoid::regclass::text FROM records_{table}"))


def test_a_stream_is_in_the_partition_of_its_day_which_is_made_for_it(query: Query) -> None:
    last = query("SELECT streamviz_first_id('2026-03-05 00:00Z')")[0][0]
    inside, behind = (uuid.UUID(int=first | 7 << 76 | 2 << 62) for first in (last.int - 2**80, last.int))
    timeless = uuid.uuid4()
    for each in (inside, behind, timeless):
        write([opened(each), received(each, [b"x"]), sent(each, passed([0]))])
    for table in ("upstreamrun", "clientrun"):
        days = {inside: "20260304", behind: "20260305", timeless: "default"}
        assert tables_of(query, table) == {each: f"records_{table}_{day}" for each, day in days.items()}


def test_a_day_that_cannot_be_made_holds_up_nothing_and_is_tried_again_later(
    query: Query, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamviz.records.partitions.LOCK_SECONDS", 0.1)
    ids = [uuid7() for _ in range(3)]
    journal = journal_of(tmp_path, [])
    writer = Writer(tmp_path, conninfo)

    def turn(stream_id: uuid.UUID) -> None:
        for entry in (opened(stream_id), received(stream_id, [b"x"]), closed(stream_id)):
            journal.append(entry)
        journal.flush()
        writer.turn()

    with psycopg.connect(conninfo()) as reader:
        reader.execute("SELECT count(*) FROM records_upstreamrun_default")
        turn(ids[0])
        turn(ids[1])
    assert set(tables_of(query, "upstreamrun").values()) == {"records_upstreamrun_default"}
    monkeypatch.setattr("streamviz.records.writer.store.DAY_RETRY_SECONDS", 0.0)
    writer.finish()
    writer = Writer(tmp_path, conninfo)
    turn(ids[2])
    writer.finish()
    assert set(tables_of(query, "upstreamrun")) == set(ids)
    # Those stored earlier are moved as well.
    assert "records_upstreamrun_default" not in tables_of(query, "upstreamrun").values()


UNSTORABLE = {
    "refused by Postgres": {"status": 10**6},
    "refused for a row that is not there": {"blocks": [block(), block(held_by=("a",), length=-1, ordinal=1)]},
    "refused by the driver": {"usage": b"no JSON"},
}


@pytest.mark.parametrize("fault", UNSTORABLE.values(), ids=UNSTORABLE)
def test_what_cannot_be_stored_is_set_aside_and_holds_up_no_other_stream(
    query: Query, tmp_path: Path, fault: dict[str, object]
) -> None:
    good, bad, later = uuid.uuid4(), uuid.uuid4(), uuid.uuid4()
    entries = [opened(bad), received(bad, [b"x"]), closed(bad, **fault)]
    journal = journal_of(tmp_path, [opened(good), *entries, closed(good)])
    move(tmp_path)
    for entry in (opened(later), closed(later)):
        journal.append(entry)
    journal.flush()
    move(tmp_path)
    assert {row[0] for row in query("SELECT id FROM records_stream WHERE outcome = 'completed'")} == {good, later}
    [kept] = refused(tmp_path)
    assert records_in(kept.read_bytes())[0] == entries


def test_it_stores_nothing_of_a_stream_that_was_deleted(query: Query, tmp_path: Path, stream_id: uuid.UUID) -> None:
    journal = journal_of(tmp_path, [opened(stream_id), received(stream_id, [b"x"])])
    DeletedStream.objects.create(stream_id=stream_id)
    move(tmp_path)
    journal.append(closed(stream_id, blocks=[block()]))
    journal.flush()
    move(tmp_path)
    assert query("SELECT count(*) FROM records_stream") == [(0,)]
    assert query("SELECT count(*) FROM records_upstreamrun") == [(0,)]
    assert refused(tmp_path) == []


def test_a_stream_whose_beginning_is_lost_is_set_aside(query: Query, tmp_path: Path, stream_id: uuid.UUID) -> None:
    journal_of(tmp_path, [received(stream_id, [b"x"], 4)])
    move(tmp_path)
    assert query("SELECT count(*) FROM records_upstreamrun") == [(0,)]
    assert [path.stem for path in refused(tmp_path)] == [str(stream_id)]


def test_it_removes_what_it_has_stored(query: Query, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamviz.records.journal.journal.SEGMENT_BYTES", 1)
    ids = [uuid.uuid4() for _ in range(3)]
    journal = journal_of(tmp_path, [entry for each in ids for entry in (opened(each), closed(each))])
    assert len(folder.segments(journal.path)) == 6
    move(tmp_path)
    assert len(folder.segments(journal.path)) == 1
    assert query("SELECT count(*) FROM records_stream WHERE outcome = 'completed'") == [(3,)]


def test_what_waits_to_become_a_run_keeps_its_segment(
    query: Query, tmp_path: Path, stream_id: uuid.UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamviz.records.journal.journal.SEGMENT_BYTES", 1)
    other = uuid.uuid4()
    journal = journal_of(tmp_path, [opened(stream_id), received(stream_id, [b"a"]), opened(other), closed(other)])
    writer = Writer(tmp_path, conninfo)
    while writer.turn():
        pass
    assert query("SELECT outcome FROM records_stream WHERE id = %s", other) == [("completed",)]
    assert chunks_of(query, stream_id) == []
    assert folder.segments(journal.path) == [2, 3, 4]
    writer.finish()
    assert chunks_of(query, stream_id) == [b"a"]
    assert folder.segments(journal.path) == [4]


def test_the_beginning_and_the_end_of_a_stream_are_stored_in_the_turn_that_reads_them(
    query: Query, tmp_path: Path
) -> None:
    ended, running = uuid.uuid4(), uuid.uuid4()
    journal_of(tmp_path, [opened(ended), opened(running), closed(ended)])
    writer = Writer(tmp_path, conninfo)
    try:
        writer.turn()
        assert set(query("SELECT id, outcome FROM records_stream")) == {(ended, "completed"), (running, "")}
    finally:
        writer.finish()


class Beside(Writer):
    """Before each of the writer's turns, a running server records more."""

    def __init__(self, root: Path, journal: Journal, stream_id: uuid.UUID) -> None:
        super().__init__(root, conninfo)
        self.journal, self.stream_id, self.turns = journal, stream_id, 0

    def turn(self, everything: bool = False) -> int:
        self.journal.append(received(self.stream_id, [b"more"], self.turns))
        self.journal.flush()
        self.turns += 1
        assert self.turns < 20, "it stores on and on"
        return super().turn(everything)


def test_told_to_stop_it_does_not_wait_for_servers_that_go_on(
    query: Query, tmp_path: Path, stream_id: uuid.UUID
) -> None:
    ended, left = [uuid.uuid4() for _ in range(2)], uuid.uuid4()
    for each in ended:
        journal_of(tmp_path, [opened(each), closed(each)]).close()
    journal_of(tmp_path, [opened(left), received(left, [b"x"])]).close()
    journal = journal_of(tmp_path, [opened(stream_id)])
    Beside(tmp_path, journal, stream_id).finish()
    assert chunks_of(query, stream_id)
    # Everything left by stopped servers is stored.
    assert folder.journals(tmp_path) == [journal.path]
    outcomes: dict[uuid.UUID, str] = dict(query("SELECT id, outcome FROM records_stream"))
    assert outcomes == {**dict.fromkeys(ended, "completed"), left: "interrupted", stream_id: ""}


def test_what_comes_with_the_beginning_is_stored_with_the_end(
    query: Query, tmp_path: Path, stream_id: uuid.UUID
) -> None:
    journal = journal_of(tmp_path, [opened(stream_id), received(stream_id, [b"a"])])
    writer = Writer(tmp_path, conninfo)
    runs = "SELECT first_seq, cardinality(lengths) FROM records_upstreamrun WHERE stream_id = %s"
    try:
        writer.turn()
        assert query("SELECT outcome, chunk_count FROM records_stream") == [("", 0)]
        assert query(runs, stream_id) == []
        journal.append(received(stream_id, [b"b"], first=1))
        journal.append(closed(stream_id, chunk_count=2))
        journal.flush()
        writer.turn()
        assert query("SELECT outcome, chunk_count FROM records_stream") == [("completed", 2)]
        assert query(runs, stream_id) == [(0, 2)]
    finally:
        writer.finish()


@pytest.fixture
def named(query: Query) -> Iterator[str]:
    """A connection string whose connections the test can tell from all others, to terminate them."""
    yield make_conninfo(conninfo(), application_name="the writer")
    # Postgres ends a session some time after its connection was closed.
    until(lambda: query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'the writer'") == [(0,)])


def test_it_goes_on_when_its_connection_is_killed(
    query: Query, named: str, tmp_path: Path, stream_id: uuid.UUID
) -> None:
    journal = journal_of(tmp_path, [opened(stream_id), received(stream_id, [b"a"]), closed(stream_id)])
    writer = Writer(tmp_path, lambda: named)
    writer.turn()
    assert query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'the writer'")
    later = uuid.uuid4()
    for entry in (opened(later), closed(later)):
        journal.append(entry)
    journal.flush()
    with pytest.raises(psycopg.OperationalError):
        writer.turn()
    assert writer.turn() == 0
    assert query("SELECT count(*) FROM records_stream WHERE outcome = 'completed'") == [(2,)]
    writer.finish()


def test_it_waits_for_a_database_that_is_away(query: Query, tmp_path: Path, stream_id: uuid.UUID) -> None:
    places = ["host=/nowhere dbname=none"]
    ended = uuid.uuid4()
    journal = journal_of(tmp_path, [opened(ended), closed(ended), opened(stream_id)])
    writer = Writer(tmp_path, lambda: places[-1])
    for _ in range(2):
        with pytest.raises(psycopg.OperationalError):
            writer.turn()
    journal.append(received(stream_id, [b"meanwhile"]))
    journal.flush()
    places.append(conninfo())
    writer.finish()
    assert chunks_of(query, stream_id) == [b"meanwhile"]
    assert dict(query("SELECT id, outcome FROM records_stream")) == {ended: "completed", stream_id: ""}
    assert refused(tmp_path) == []


def test_a_database_without_tables_is_waited_for_too(query: Query, tmp_path: Path, stream_id: uuid.UUID) -> None:
    journal_of(tmp_path, [opened(stream_id), closed(stream_id)])
    query("ALTER TABLE records_deletedstream RENAME TO hidden")
    writer = Writer(tmp_path, conninfo)
    with pytest.raises(psycopg.ProgrammingError):
        writer.turn()
    query("ALTER TABLE hidden RENAME TO records_deletedstream")
    writer.finish()
    assert query("SELECT outcome FROM records_stream") == [("completed",)]
    assert refused(tmp_path) == []


class Tended(Upkeep):
    """Signals when it has done everything once."""

    def __init__(self) -> None:
        super().__init__(Retention(0, 0, 0), conninfo)
        self.done = threading.Event()

    def round(self, stop: threading.Event) -> float:
        try:
            return super().round(stop)
        finally:
            self.done.set()


class Running:
    """A writer in its own thread, run as by the command."""

    def __init__(self, root: Path) -> None:
        self.stop = threading.Event()
        self._upkeep = Tended()
        self._writer = Writer(root, conninfo)
        self._thread = threading.Thread(target=self._writer.run, args=(self.stop, self._upkeep))

    def __enter__(self) -> "Running":
        self._thread.start()
        assert self._upkeep.done.wait(120)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self._thread.join(120)
        assert not self._thread.is_alive()


def test_told_to_stop_it_stores_what_there_is(query: Query, tmp_path: Path, stream_id: uuid.UUID) -> None:
    with Running(tmp_path):
        journal_of(tmp_path, [opened(stream_id), received(stream_id, [b"a"])])
    assert chunks_of(query, stream_id) == [b"a"]


def test_there_is_one_writer_at_a_time_and_others_can_tell(query: Query, tmp_path: Path) -> None:
    assert not is_running(tmp_path)
    with Running(tmp_path):
        assert is_running(tmp_path)
        with pytest.raises(Fault, match="Another writer"):
            Writer(tmp_path, conninfo).run(threading.Event(), Tended())
        status = writer_status(tmp_path)
        assert status is not None
        assert status.trouble == ""
    assert not is_running(tmp_path)


def test_its_database_is_the_one_that_django_uses(query: Query) -> None:
    with psycopg.connect(conninfo()) as connection:
        name = connection.execute("SELECT current_database()").fetchone()
    assert query("SELECT current_database()") == [name]
