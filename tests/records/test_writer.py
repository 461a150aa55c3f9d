"""The writer: from entries to rows, and back through the views."""

import asyncio
import uuid
from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.conninfo import make_conninfo

from streamviz.core.context import Frame
from streamviz.records.database import conninfo
from streamviz.records.models import Policy
from streamviz.records.rows import RUN_CHUNKS
from streamviz.records.writer import Writer
from tests.records.conftest import Query
from tests.records.support import NOON, Heard, block, closed, opened, passed, received, sent, verdict, write

CHUNKS = "SELECT seq, raw FROM records_chunk WHERE stream_id = %s ORDER BY seq"
FRAMES = "SELECT number, seq, origin, made FROM records_frame WHERE stream_id = %s ORDER BY number"
ODD = [b"", b"\x00", b"\xff\xfe", b"data: \xc3\n\n", "data: \U0001f9ea\n\n".encode(), b"\r\n\r\n", b"", b"\x00" * 3000]


@pytest.fixture
def stream_id() -> uuid.UUID:
    return uuid.uuid4()


def chunks_of(query: Query, stream_id: uuid.UUID) -> list[bytes]:
    """The upstream tape, which must have no gap."""
    found = query(CHUNKS, stream_id)
    assert [seq for seq, _ in found] == list(range(len(found)))
    return [bytes(raw) for _, raw in found]


async def test_it_gives_every_chunk_back_byte_for_byte(query: Query, stream_id: uuid.UUID) -> None:
    await write([opened(stream_id), received(stream_id, ODD)])
    assert chunks_of(query, stream_id) == ODD


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(flushes=st.lists(st.lists(st.lists(st.binary(max_size=40), min_size=1, max_size=90), max_size=3), max_size=3))
def test_it_keeps_any_bytes_in_order_however_they_came(query: Query, flushes: list[list[list[bytes]]]) -> None:
    stream_id = uuid.uuid4()
    entries, first = [], 0
    for reads in flushes:
        entries.append([])
        for raws in reads:
            entries[-1].append(received(stream_id, raws, first))
            first += len(raws)
    asyncio.run(write([opened(stream_id)], *entries))
    assert chunks_of(query, stream_id) == [raw for reads in flushes for raws in reads for raw in raws]


async def test_it_keeps_the_time_of_each_chunk(query: Query, stream_id: uuid.UUID) -> None:
    await write([opened(stream_id), received(stream_id, [b"a", b"b"]), received(stream_id, [b"c"], 2)])
    times = query(
        "SELECT extract(epoch FROM received_at) FROM records_chunk WHERE stream_id = %s ORDER BY 1", stream_id
    )
    assert [round(time * 10**6) for (time,) in times] == [NOON, NOON + 1, NOON + 2]


async def test_it_keeps_the_client_tape_and_the_bytes_of_what_was_made(query: Query, stream_id: uuid.UUID) -> None:
    made = [Frame(b"", None, "guard"), Frame(b"\x00\xff", None, "guard"), Frame(b"tail", None, "streamviz")]
    await write(
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


async def test_it_cuts_long_streams_into_runs(query: Query, stream_id: uuid.UUID) -> None:
    raws = [b"%d" % n for n in range(2 * RUN_CHUNKS + 1)]
    await write([opened(stream_id), received(stream_id, raws), sent(stream_id, passed(range(len(raws))))])
    assert query("SELECT first_seq FROM records_upstreamrun ORDER BY 1") == [(0,), (RUN_CHUNKS,), (2 * RUN_CHUNKS,)]
    assert chunks_of(query, stream_id) == raws
    assert [seq for _, seq, _, _ in query(FRAMES, stream_id)] == list(range(len(raws)))


async def test_it_changes_nothing_when_the_same_is_written_twice(query: Query, stream_id: uuid.UUID) -> None:
    entries = [
        opened(stream_id),
        received(stream_id, ODD),
        sent(stream_id, passed([0])),
        closed(stream_id, blocks=[block()]),
    ]
    everything = (
        "SELECT (SELECT json_agg(s) FROM records_stream s)::text, (SELECT json_agg(b) FROM records_block b)::text"
    )
    await write(entries)
    before = query(everything), query(CHUNKS, stream_id), query(FRAMES, stream_id)
    await write(entries)
    assert (query(everything), query(CHUNKS, stream_id), query(FRAMES, stream_id)) == before


async def test_it_loses_nothing_when_the_news_of_a_commit_is_lost(query: Query, stream_id: uuid.UUID) -> None:
    first = [opened(stream_id), received(stream_id, [b"a", b"b"]), sent(stream_id, passed([0, 1]))]
    more = [received(stream_id, [b"c"], 2), sent(stream_id, [Frame(b"made", None, "guard")], 2)]
    # The first batch is in Postgres, but the writer never heard so: it tries again, together with what came since.
    await write(first, first + more)
    assert chunks_of(query, stream_id) == [b"a", b"b", b"c"]
    assert query(FRAMES, stream_id)[2:] == [(2, None, "guard", b"made")]


async def test_it_stores_what_a_closed_stream_came_to(query: Query, stream_id: uuid.UUID) -> None:
    await write(
        [opened(stream_id, request=b"\x00 not JSON"), closed(stream_id, blocks=[block(), block(1, text="two")])]
    )
    row = query(
        "SELECT outcome, finish_reason, status, usage, input_tokens, output_tokens, cost::float, chunk_count,"
        " frame_count,"
        " block_count, itl_p50_us, itl_p95_us, extract(epoch FROM ended_at - requested_at) * 1000000, request"
        " FROM records_stream"
    )
    usage = {"prompt_tokens": 1, "completion_tokens": 2}
    assert row == [("completed", "stop", 200, usage, 1, 2, 0.25, 2, 2, 2, 3, 4, 2, b"\x00 not JSON")]
    assert query("SELECT ordinal, text FROM records_block ORDER BY ordinal") == [(0, "Hello"), (1, "two")]


async def test_it_leaves_unknown_what_is_not_known(query: Query, stream_id: uuid.UUID) -> None:
    unknown = dict.fromkeys(
        "status usage input_tokens output_tokens cost upstream_first_at client_first_at itl_p50 itl_p95".split()
    )
    await write([opened(stream_id), closed(stream_id, **unknown)])
    columns = (
        "status, usage, input_tokens, output_tokens, cost, upstream_first_at, client_first_at, itl_p50_us, itl_p95_us"
    )
    assert query(f"SELECT {columns} FROM records_stream") == [(None,) * 9]


HOSTILE = "a\x00b\ud800c\U0001f9ea'; DROP TABLE records_stream; --"
STORED = "a\ufffdb?c\U0001f9ea'; DROP TABLE records_stream; --"


@pytest.fixture
def version_id(transactional_db: None) -> int:
    """The key of a policy's version."""
    policy = Policy(name="guard", kind="tool_rule", mode="enforce")
    policy.save()
    return policy.versions.get().pk


async def test_it_stores_hostile_text_wherever_text_comes_from_strangers(
    query: Query, stream_id: uuid.UUID, version_id: int
) -> None:
    opening = opened(stream_id, session_label=HOSTILE, client=HOSTILE, user_agent=HOSTILE, requested_model=HOSTILE)
    texts = dict.fromkeys("upstream_id name label text signature".split(), HOSTILE)
    closing = closed(
        stream_id,
        upstream_model=HOSTILE,
        finish_reason=HOSTILE,
        error=HOSTILE,
        usage={HOSTILE: [HOSTILE, {"deep": HOSTILE}], "tokens": 10**30},
        blocks=[block(**texts)],
        verdicts=[verdict(version_id, reason=HOSTILE, failure=HOSTILE)],
    )
    await write([opening, closing])
    columns = "label, client, user_agent, requested_model, upstream_model, finish_reason, error"
    joined = "records_stream JOIN records_session ON records_session.id = session_id"
    assert query(f"SELECT {columns} FROM {joined}") == [(STORED,) * 7]
    assert query("SELECT usage FROM records_stream") == [({STORED: [STORED, {"deep": STORED}], "tokens": 10**30},)]
    assert query("SELECT upstream_id, name, label, text, signature FROM records_block") == [(STORED,) * 5]
    assert query("SELECT reason, failure FROM records_verdict") == [(STORED,) * 2]


def nested(depth: int) -> dict[str, object]:
    """An object so deep that nobody can walk it recursively."""
    value: dict[str, object] = {}
    for _ in range(depth):
        value = {"in": value}
    return value


UNSTORABLE = {
    "refused by Postgres": {"status": 10**6},
    "refused by the driver": {"provider": "\ud800"},
    "too deep to walk": {"usage": nested(100_000)},
}


@pytest.mark.parametrize("fault", UNSTORABLE.values(), ids=UNSTORABLE)
async def test_it_loses_no_other_stream_for_one_that_cannot_be_stored(query: Query, fault: dict[str, object]) -> None:
    good, bad, later = uuid.uuid4(), uuid.uuid4(), uuid.uuid4()
    writer = Writer(conninfo)
    for each, changes in ((good, {}), (bad, fault)):
        writer.append(opened(each))
        writer.append(received(each, [b"x"]))
        writer.append(closed(each, **changes))
    with Heard("streamviz.records.writer", str(bad)) as heard:
        writer.start()
        async with asyncio.timeout(30):
            await heard.event.wait()
    writer.append(opened(later))
    writer.append(closed(later))
    await writer.stop()
    assert {row[0] for row in query("SELECT id FROM records_stream WHERE outcome = 'completed'")} == {good, later}
    assert writer.backlog == 0


@pytest.fixture
def named(query: Query) -> Iterator[str]:
    """A connection string whose connections the test can tell from all others, to end them."""
    yield make_conninfo(conninfo(), application_name="the writer")
    assert query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'the writer'") == [(0,)]


async def test_it_goes_on_when_its_connection_is_killed(query: Query, named: str, stream_id: uuid.UUID) -> None:
    writer = Writer(lambda: named)
    writer.start()
    await written(query, writer, [opened(stream_id), received(stream_id, [b"a"])], stream_id, 1)
    with Heard("streamviz.records.writer", "cannot be written to") as heard:
        assert query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'the writer'")
        writer.append(received(stream_id, [b"b"], 1))
        writer.append(closed(stream_id))
        async with asyncio.timeout(30):
            await heard.event.wait()
    assert writer.backlog == 2
    writer.append(received(stream_id, [b"c"], 2))
    await writer.stop()
    assert chunks_of(query, stream_id) == [b"a", b"b", b"c"]
    assert query("SELECT outcome FROM records_stream") == [("completed",)]


async def written(query: Query, writer: Writer, entries: list, stream_id: uuid.UUID, chunks: int) -> None:
    """Append entries and wait until they are in Postgres."""
    for entry in entries:
        writer.append(entry)
    async with asyncio.timeout(30):
        while len(await asyncio.to_thread(query, CHUNKS, stream_id)) < chunks:
            await asyncio.sleep(0)


async def test_it_waits_for_a_database_that_is_away(query: Query, stream_id: uuid.UUID) -> None:
    places = ["host=/nowhere dbname=none"]
    writer = Writer(lambda: places[-1])
    with Heard("streamviz.records.writer", "cannot be written to") as heard:
        writer.start()
        writer.append(opened(stream_id))
        writer.append(closed(stream_id, chunk_count=1))
        async with asyncio.timeout(30):
            await heard.event.wait()
    writer.append(received(stream_id, [b"meanwhile"]))
    places.append(conninfo())
    await writer.stop()
    assert chunks_of(query, stream_id) == [b"meanwhile"]
    assert query("SELECT outcome, chunk_count FROM records_stream") == [("completed", 1)]


async def test_it_leaves_no_connection_behind(named: str, stream_id: uuid.UUID) -> None:
    writer = Writer(lambda: named)
    writer.append(opened(stream_id))
    writer.start()
    await writer.stop()  # `named` looks for what is left


def test_its_database_is_the_one_that_django_uses(query: Query) -> None:
    with psycopg.connect(conninfo()) as connection:
        name = connection.execute("SELECT current_database()").fetchone()
    assert query("SELECT current_database()") == [name]
