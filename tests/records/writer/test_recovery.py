"""What happens to streams whose worker is gone."""

import uuid
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamviz.core.context import OURSELVES, Frame
from streamviz.core.events import StreamFailed
from streamviz.core.wire import WIRE_FORMATS
from streamviz.records.database import conninfo
from streamviz.records.journal import folder
from streamviz.records.models import Policy
from streamviz.records.recorder import CANCELLED, AnyEntry, ChunksReceived
from streamviz.records.writer.recovery import WHY, end_of
from tests.core.support import call, calls, delta, sse
from tests.records.conftest import Query
from tests.records.support import NOON, closed, journal_of, judged, move, opened, passed, received, sent, verdict
from tests.thorough import examples

STREAM = uuid.UUID(int=1)
MICROSECONDS = "(extract(epoch FROM {}) * 1000000)::bigint"
RAWS = [
    sse(delta(content="Let me ")),
    sse(delta(content="look.")),
    sse(calls(call(0, "call-1", "run_shell", '{"command":'))),
    sse(calls(call(0, None, None, '"rm -rf /"}'))),
]
EVERYTHING = " || ".join(
    f"coalesce((SELECT json_agg(r ORDER BY {order})::text FROM records_{table} r), '')"
    for table, order in {
        "stream": "id",
        "block": "stream_id, ordinal",
        "verdict": "number",
        "upstreamrun": "first_seq",
        "clientrun": "first_frame",
    }.items()
)


def left_behind(root: Path, entries: list[AnyEntry]) -> Path:
    """The journal of a worker that died."""
    journal = journal_of(root, entries)
    journal.close()
    return journal.path


def test_a_stream_is_closed_as_interrupted_with_its_blocks(query: Query, tmp_path: Path) -> None:
    left_behind(tmp_path, [opened(STREAM), received(STREAM, RAWS), sent(STREAM, passed([0, 1]), 0)])
    move(tmp_path)
    ends = MICROSECONDS.format("ended_at")
    columns = f"outcome, error, chunk_count, frame_count, block_count, cost, {ends}"
    why = "streamviz ended while the stream was running"
    assert query(f"SELECT {columns} FROM records_stream") == [("interrupted", why, 4, 2, 2, None, NOON)]
    released = MICROSECONDS.format("released_at")
    assert query(f"SELECT kind, name, text, length, is_truncated, {released} FROM records_block ORDER BY ordinal") == [
        ("content", "", "Let me look.", 12, False, NOON),
        ("tool_call", "run_shell", '{"command":"rm -rf /"}', 22, True, None),
    ]


def test_a_stream_in_a_format_of_a_newer_release_is_closed_without_its_blocks(query: Query, tmp_path: Path) -> None:
    head = opened(STREAM, wire_format="of tomorrow")
    left_behind(tmp_path, [head, received(STREAM, RAWS), sent(STREAM, passed([0, 1]), 0)])
    move(tmp_path)
    columns = "outcome, chunk_count, frame_count, block_count"
    assert query(f"SELECT {columns} FROM records_stream") == [("interrupted", 4, 2, 0)]


def test_what_a_policy_denied_was_held(query: Query, tmp_path: Path) -> None:
    policy = Policy(name="guard", kind="tool_rule", mode="enforce")
    policy.save()
    version = policy.versions.get().pk
    denial = judged(STREAM, verdict(version, ordinal=1))
    frames = sent(STREAM, [*passed([0, 1]), Frame(b"no", None, "guard")])
    left_behind(tmp_path, [opened(STREAM), received(STREAM, RAWS), denial, frames])
    move(tmp_path)
    assert query("SELECT held_at IS NULL, released_at IS NULL FROM records_block ORDER BY ordinal") == [
        (True, False),
        (False, True),
    ]
    assert query("SELECT decision FROM records_verdict") == [("deny",)]


def test_a_text_of_which_the_client_had_the_beginning_was_not_held(query: Query, tmp_path: Path) -> None:
    left_behind(tmp_path, [opened(STREAM), received(STREAM, RAWS[:2]), sent(STREAM, passed([0]))])
    move(tmp_path)
    assert query("SELECT held_at FROM records_block") == [(None,)]


def test_a_stream_with_nothing_in_it_ends_when_it_began(query: Query, tmp_path: Path) -> None:
    left_behind(tmp_path, [opened(STREAM)])
    move(tmp_path)
    columns = f"outcome, chunk_count, {MICROSECONDS.format('ended_at')}"
    assert query(f"SELECT {columns} FROM records_stream") == [("interrupted", 0, NOON)]


def test_an_answer_that_was_no_stream_is_read_as_one(query: Query, tmp_path: Path) -> None:
    body = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"Whole"},"finish_reason":"stop"}]}'
    left_behind(tmp_path, [opened(STREAM, is_streaming=False), received(STREAM, [body])])
    move(tmp_path)
    assert query("SELECT kind, text, is_truncated FROM records_block") == [("content", "Whole", False)]
    assert query("SELECT finish_reason FROM records_stream") == [("stop",)]


ENDS = {
    "openai_chat": [
        sse(delta(content="Hello")),
        sse(delta(finish="stop")),
        b"data: [DONE]\n\n",
    ],
    "anthropic_messages": [
        b'event: content_block_start\ndata: {"type":"content_block_start","index":0,'
        b'"content_block":{"type":"text","text":"Hello"}}\n\n',
        b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n',
        b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    ],
    "openai_responses": [
        b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","output_index":0,'
        b'"content_index":0,"delta":"Hello"}\n\n',
        b'event: response.completed\ndata: {"type":"response.completed","response":{"status":"completed"}}\n\n',
    ],
    "gemini": [
        b'data: {"candidates":[{"content":{"parts":[{"text":"Hello"}]}}]}\n\n',
        b'data: {"candidates":[{"content":{"parts":[{"text":"."}]},"finishReason":"STOP"}]}\n\n',
    ],
}
BODIES = {
    "openai_chat": b'{"choices":[{"index":0,"message":{"content":"Whole"},"finish_reason":"stop"}]}',
    "anthropic_messages": b'{"type":"message","content":[{"type":"text","text":"Whole"}],"stop_reason":"end_turn"}',
    "openai_responses": b'{"object":"response","status":"completed","output":[]}',
    "gemini": b'{"candidates":[{"content":{"parts":[{"text":"Whole"}]},"finishReason":"STOP"}]}',
}
OUTCOME = "SELECT outcome, error FROM records_stream"


@pytest.mark.parametrize("wire_format", ENDS)
def test_a_stream_whose_end_the_client_was_sent_is_completed(query: Query, tmp_path: Path, wire_format: str) -> None:
    raws = ENDS[wire_format]
    last = len(raws) - 1
    for number, frames in enumerate([raws[:last], raws]):
        stream_id = uuid.UUID(int=number)
        head = opened(stream_id, wire_format=wire_format)
        left_behind(tmp_path, [head, received(stream_id, raws), sent(stream_id, passed(range(len(frames))))])
    move(tmp_path)
    assert query(f"{OUTCOME} ORDER BY id") == [("interrupted", WHY), ("completed", "")]


@pytest.mark.parametrize("wire_format", BODIES)
def test_a_whole_answer_that_the_client_was_sent_is_completed_also_behind_keep_alives(
    query: Query, tmp_path: Path, wire_format: str
) -> None:
    body = BODIES[wire_format]
    head = opened(STREAM, wire_format=wire_format, is_streaming=False)
    frames = [Frame(b" ", None, OURSELVES), *passed([0])]
    left_behind(tmp_path, [head, received(STREAM, [body]), sent(STREAM, frames)])
    move(tmp_path)
    assert query(OUTCOME) == [("completed", "")]


def test_what_a_policy_wrote_anew_counts_as_the_client_had_it(query: Query, tmp_path: Path) -> None:
    frames = [*passed([0]), Frame(b"".join(ENDS["openai_chat"][1:]), None, "guard")]
    left_behind(tmp_path, [opened(STREAM), received(STREAM, RAWS), sent(STREAM, frames)])
    move(tmp_path)
    assert query(OUTCOME) == [("completed", "")]


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({"decision": "halt"}, "halted"),
        ({"decision": "deny", "ordinal": None, "subject": "request"}, "halted"),
        ({"decision": "deny"}, "completed"),
        ({"decision": "halt", "mode": "shadow"}, "completed"),
    ],
)
def test_a_stream_that_a_policy_ended_is_halted(
    query: Query, tmp_path: Path, changes: dict[str, object], outcome: str
) -> None:
    policy = Policy(name="guard", kind="tool_rule", mode="enforce")
    policy.save()
    judgement = judged(STREAM, verdict(policy.versions.get().pk, **changes))
    raws = ENDS["openai_chat"]
    left_behind(tmp_path, [opened(STREAM), received(STREAM, raws), judgement, sent(STREAM, passed(range(3)))])
    move(tmp_path)
    assert query("SELECT outcome FROM records_stream") == [(outcome,)]


@pytest.mark.parametrize("wire_format", ENDS)
@pytest.mark.parametrize(("message", "outcome"), [("upstream broke off", "upstream_error"), (CANCELLED, "halted")])
def test_a_stream_that_ended_with_an_error_ended_so(
    query: Query, tmp_path: Path, wire_format: str, message: str, outcome: str
) -> None:
    known = WIRE_FORMATS[wire_format]
    last_words = known.composer({}).fail(StreamFailed(message, "upstream_error"))
    frames = [*passed([0]), Frame(last_words, None, OURSELVES)]
    head = opened(STREAM, wire_format=wire_format)
    left_behind(tmp_path, [head, received(STREAM, ENDS[wire_format]), sent(STREAM, frames)])
    move(tmp_path)
    assert query(OUTCOME) == [(outcome, message)]


def test_of_what_was_not_kept_nobody_knows_how_it_ended(query: Query, tmp_path: Path) -> None:
    sizes = ChunksReceived(STREAM, 0, NOON, [], [len(raw) for raw in ENDS["openai_chat"]])
    left_behind(tmp_path, [opened(STREAM), sizes, sent(STREAM, passed(range(3)))])
    move(tmp_path)
    assert query(OUTCOME) == [("interrupted", WHY)]


def test_what_ended_stays_as_it_ended(query: Query, tmp_path: Path) -> None:
    left_behind(tmp_path, [opened(STREAM), closed(STREAM)])
    move(tmp_path)
    assert query("SELECT outcome, chunk_count FROM records_stream") == [("completed", 2)]


def test_the_streams_of_a_living_worker_stay_open_and_its_journal_stays(query: Query, tmp_path: Path) -> None:
    journal = journal_of(tmp_path, [opened(STREAM)])
    other = uuid.uuid4()
    left_behind(tmp_path, [opened(other)])
    move(tmp_path)
    assert dict(query("SELECT id, outcome FROM records_stream")) == {STREAM: "", other: "interrupted"}
    assert folder.journals(tmp_path) == [journal.path]
    journal.close()
    move(tmp_path)
    assert dict(query("SELECT id, outcome FROM records_stream")) == {STREAM: "interrupted", other: "interrupted"}
    assert folder.journals(tmp_path) == []


def test_what_cannot_be_read_behind_some_chunk_is_kept_and_makes_no_block(query: Query, tmp_path: Path) -> None:
    left_behind(tmp_path, [opened(STREAM), received(STREAM, [RAWS[0], b"data: {nonsense\n\n", RAWS[1]])])
    move(tmp_path)
    assert query("SELECT text FROM records_block") == [("Let me ",)]
    assert query("SELECT count(*) FROM records_chunk") == [(3,)]


@pytest.fixture
def entries() -> list[AnyEntry]:
    """One stream that ended and one that did not, one read at a time."""
    second = uuid.UUID(int=2)
    story: list[AnyEntry] = [opened(STREAM), opened(second)]
    for n, raw in enumerate(RAWS):
        story += [received(STREAM, [raw], n), sent(STREAM, passed([n]), n), received(second, [raw], n)]
    return [*story, closed(STREAM, chunk_count=len(RAWS), frame_count=len(RAWS))]


@pytest.mark.slow
@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_journal_cut_anywhere_gives_the_same_record_however_often_it_is_read(
    query: Query, tmp_path: Path, entries: list[AnyEntry], data: st.DataObject
) -> None:
    query("TRUNCATE records_session, records_stream, records_upstreamrun, records_clientrun CASCADE")
    root = tmp_path / str(uuid.uuid4())
    path = folder.segment(left_behind(root, entries), 1)
    whole = path.read_bytes()
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    path.write_bytes(cut)
    move(root)
    once = query(f"SELECT {EVERYTHING}")
    assert folder.journals(root) == []
    path.parent.mkdir()
    (path.parent / folder.LOCK).touch()
    path.write_bytes(cut)
    move(root)
    assert query("SELECT count(*) FROM records_stream WHERE outcome = ''") == [(0,)]
    assert query(f"SELECT {EVERYTHING}") == once


def test_what_it_took_is_added_up_as_at_an_end_of_its_own(query: Query, tmp_path: Path) -> None:
    usage = {"prompt_tokens": 1_000, "completion_tokens": 10}
    told = [*RAWS[:2], sse(delta(finish="stop")), sse({"choices": [], "usage": usage})]
    model = {"upstream_model": "gpt-4o", "provider": "openai"}
    request = b'{"messages": [{"role": "user", "content": "Hello there"}]}'
    other = uuid.UUID(int=2)
    entries = [opened(STREAM, **model), received(STREAM, told)]
    left_behind(tmp_path, [*entries, opened(other, request=request, **model), received(other, RAWS[:2])])
    move(tmp_path)
    columns = "input_tokens, output_tokens, is_estimated, cost::float"
    assert query(f"SELECT {columns} FROM records_stream ORDER BY id") == [
        (1_000, 10, False, pytest.approx(1_000 * 2.5e-6 + 10 * 1e-5)),
        (3, 3, True, pytest.approx(3 * 2.5e-6 + 3 * 1e-5)),
    ]


def test_a_run_and_the_calls_of_its_tools_took_nothing_themselves(query: Query, tmp_path: Path) -> None:
    told = [*RAWS[:2], sse({"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 4}})]
    none = [*RAWS[:2], sse({"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0}})]
    asked = {"upstream_model": "gpt-4o", "provider": "openai", "request": b'{"messages": []}'}
    tools, plan = uuid.UUID(int=2), uuid.UUID(int=3)
    left_behind(
        tmp_path,
        [
            *(opened(STREAM, executor="reasoning", **asked), received(STREAM, told)),
            *(opened(tools, part="tools 1", **asked), received(tools, none)),
            *(opened(plan, part="plan 1", **asked), received(plan, told)),
        ],
    )
    move(tmp_path)
    assert query("SELECT part, input_tokens, output_tokens, cost IS NULL FROM records_stream ORDER BY part") == [
        ("", 0, 0, True),
        ("plan 1", 20, 4, False),
        ("tools 1", 0, 0, True),
    ]


@pytest.mark.parametrize("depth", [250, 900, 100_000])
def test_a_request_that_is_nested_too_deeply_keeps_no_stream_from_being_closed(
    query: Query, tmp_path: Path, depth: int
) -> None:
    request = b'{"model":"m","tools":' + b"[" * depth + b"]" * depth + b"}"
    left_behind(tmp_path, [opened(STREAM, request=request), received(STREAM, RAWS)])
    move(tmp_path)
    assert query("SELECT outcome, chunk_count, block_count FROM records_stream") == [("interrupted", 4, 2)]
    assert folder.journals(tmp_path) == []


def test_a_stream_that_cannot_be_read_keeps_no_other_from_being_closed(query: Query, tmp_path: Path) -> None:
    other = uuid.UUID(int=2)
    said = [received(STREAM, RAWS), sent(STREAM, [Frame(b"made", None, "guard")]), received(other, RAWS)]
    alive = journal_of(tmp_path, [opened(STREAM), opened(other), *said])
    move(tmp_path)
    query("UPDATE records_clientrun SET lengths = '{}' WHERE stream_id = %s", STREAM)
    alive.close()
    move(tmp_path)
    ends = query("SELECT outcome, error, chunk_count, block_count FROM records_stream ORDER BY id")
    assert ends == [("interrupted", WHY, 4, 0), ("interrupted", WHY, 4, 2)]


def test_a_stream_that_is_deleted_as_it_is_closed_has_no_end(query: Query) -> None:
    with psycopg.connect(conninfo()) as connection:
        assert end_of(connection, STREAM) is None
