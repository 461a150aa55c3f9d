"""A made-up history for trials: streams as they would have been recorded, stored as the writer stores them."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

import psycopg
from msgspec.structs import replace

from streamviz.core.json_value import encode
from streamviz.core.wire import OPENAI_CHAT
from streamviz.records.aggregation import aggregate
from streamviz.records.block_record import BlockRecord
from streamviz.records.moments import as_microseconds
from streamviz.records.partitions import make_days
from streamviz.records.recorder import StreamClosed, StreamOpened
from streamviz.records.runs import StoredChunk
from streamviz.records.verdict_record import VerdictRecord
from streamviz.records.writer.pending import NO_WORKER, Batch
from streamviz.records.writer.store import copy_runs, write_request_words, write_rows
from streamviz.records.writer.tapes import Chunks, Frames

Say = Callable[[str], None]

TEMPLATES = 60
STREAMS_AT_ONCE = 500
MODELS = ("gpt-4.1", "gpt-4.1-mini", "o4-mini", "claude-sonnet-4-5", "claude-haiku-4-5", "local/qwen3")
TOOLS = ("read_file", "write_file", "run_shell", "search_web", "list_directory", "apply_patch")
WORDS = (
    "the file of a test that fails in this module because its value was never set when the worker began so we look at "
    "what the server said and change one line of the handler then run it again and see whether every call returns"
).split()
# Each stream has a unique number in its text, so that a search can find one among all.
_MARK = b"case-00000000"
_OUTCOMES = ("completed",) * 94 + ("client_disconnected",) * 3 + ("upstream_error",) * 2 + ("halted",)


class Size(NamedTuple):
    """How much history: streams, chunks in total, streams per session, and days back from now."""

    streams: int
    chunks: int
    streams_a_session: int
    days: int


@dataclass(frozen=True)
class Template:
    """A stream that many are copied from; `marked` is the chunk with _MARK in it. Times are µs from its beginning."""

    raws: list[bytes]
    times: list[int]
    marked: int
    closed: StreamClosed


def seed(connection: psycopg.Connection, size: Size, now: datetime, seed: int, version_id: int, say: Say) -> None:
    """Store a history that ends at `now`. `version_id` is the policy version that gives the verdicts."""
    chance = random.Random(seed)  # noqa: S311
    make_days(connection, {(now - timedelta(days=n)).date() for n in range(size.days + 1)})
    templates = [_template(chance, length) for length in _lengths(chance, size)]
    streams = _streams(chance, size, now, templates, version_id)
    done = 0
    while batches := [batch for _, batch in zip(range(STREAMS_AT_ONCE), streams, strict=False)]:
        with connection.transaction(), connection.cursor() as cursor:
            write_rows(cursor, batches)
            write_request_words(cursor, batches)
            copy_runs(cursor, batches)
        done += len(batches)
        if done % (STREAMS_AT_ONCE * 10) == 0 or done == size.streams:
            say(f"{done:,} of {size.streams:,} streams")


def _lengths(chance: random.Random, size: Size) -> list[int]:
    """Lengths of mostly short and some very long streams, with as many chunks in total as are asked for."""
    shares = [chance.paretovariate(1.4) for _ in range(TEMPLATES)]
    scale = size.chunks / size.streams * TEMPLATES / sum(shares)
    return [max(8, round(share * scale)) for share in shares]


def _template(chance: random.Random, length: int) -> Template:
    deltas = list(_deltas(chance, length))
    head = b'data: {"id":"chatcmpl-%s","object":"chat.completion.chunk","created":%d,"model":"gpt-4.1","choices":[' % (
        encode(f"{chance.getrandbits(96):024x}")[1:-1],
        1_790_000_000 + chance.randrange(1_000_000),
    )
    raws = [head + encode(delta) + b"]}\n\n" for delta in deltas] + [b"data: [DONE]\n\n"]
    times, at = [], chance.randrange(150_000, 900_000)
    for _ in raws:
        times.append(at)
        at += chance.randrange(8_000, 40_000)
    stored = [StoredChunk(seq, time, len(raw), raw) for seq, (time, raw) in enumerate(zip(times, raws, strict=True))]
    blocks = [
        BlockRecord.of(block, released_at=block.completed_at) for block in aggregate(OPENAI_CHAT.name, stored).blocks
    ]
    closed = StreamClosed(
        stream_id=UUID(int=0),
        upstream_model="gpt-4.1",
        provider="openai",
        outcome="completed",
        finish_reason="tool_calls",
        status=200,
        error="",
        usage=encode({"prompt_tokens": 900, "completion_tokens": length}),
        input_tokens=900,
        output_tokens=length,
        cost=round(900 * 2e-6 + length * 8e-6, 8),
        chunk_count=len(raws),
        frame_count=len(raws),
        upstream_first_at=times[0],
        client_first_at=times[0] + 90,
        ended_at=times[-1] + 400,
        itl_p50=24_000,
        itl_p95=39_000,
        blocks=blocks,
    )
    return Template(raws, times, next(n for n, raw in enumerate(raws) if _MARK in raw), closed)


def _deltas(chance: random.Random, length: int) -> Iterator[dict[str, object]]:
    """Some text with the mark in it, then a tool call."""
    arguments = encode(
        {
            "path": f"src/{chance.choice(WORDS)}/{chance.choice(WORDS)}.py",
            "text": " ".join(chance.choices(WORDS, k=max(1, length // 8))),
        }
    ).decode()
    pieces = [arguments[n : n + 6] for n in range(0, len(arguments), 6)][: max(1, length // 4)]
    texts = max(2, length - len(pieces) - 4)
    yield _delta({"role": "assistant", "content": ""})
    for n in range(texts):
        yield _delta({"content": f"{_MARK.decode()} " if n == texts // 2 else f"{chance.choice(WORDS)} "})
    call = {"index": 0, "id": f"call_{chance.getrandbits(64):016x}", "type": "function"}
    yield _delta({"tool_calls": [call | {"function": {"name": chance.choice(TOOLS), "arguments": ""}}]})
    for piece in pieces:
        yield _delta({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    yield {"index": 0, "delta": {}, "finish_reason": "tool_calls"}


def _delta(delta: dict[str, object]) -> dict[str, object]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}


def _streams(
    chance: random.Random, size: Size, now: datetime, templates: list[Template], version_id: int
) -> Iterator[Batch]:
    end, span = as_microseconds(now), size.days * 86_400_000_000
    for number in range(size.streams):
        # Oldest first; streams of a session follow one another.
        at = end - span + span * number // size.streams
        session, turn = divmod(number, size.streams_a_session)
        session_id = UUID(int=(as_microseconds(now) << 64) + session)
        template = chance.choice(templates)
        yield _stream(chance, template, number, at, session_id, turn, version_id)


def _stream(
    chance: random.Random, template: Template, number: int, at: int, session_id: UUID, turn: int, version_id: int
) -> Batch:
    stream_id = _id_at(at, chance)
    mark = b"case-%08d" % number
    raws = list(template.raws)
    raws[template.marked] = raws[template.marked].replace(_MARK, mark)
    outcome = chance.choice(_OUTCOMES)
    model = chance.choice(MODELS)
    batch = Batch(stream_id, NO_WORKER)
    batch.opened = _opened(chance, stream_id, at, session_id, turn, model)
    batch.chunks = [Chunks(0, [at + time for time in template.times], [len(raw) for raw in raws], raws)]
    seqs: list[int | None] = list(range(len(raws)))
    batch.frames = [Frames(0, [at + time + 90 for time in template.times], seqs, [None] * len(raws))]
    if outcome == "halted":
        batch.verdicts = [_verdict(template.closed.ended_at + at, version_id)]
    batch.closed = replace(
        template.closed,
        stream_id=stream_id,
        upstream_model=model,
        outcome=outcome,
        error="the provider broke off" if outcome == "upstream_error" else "",
        upstream_first_at=at + template.times[0],
        client_first_at=at + template.times[0] + 90,
        ended_at=at + template.times[-1] + 400,
        blocks=[_block(block, at, mark.decode()) for block in template.closed.blocks],
    )
    return batch


def _opened(chance: random.Random, stream_id: UUID, at: int, session_id: UUID, turn: int, model: str) -> StreamOpened:
    return StreamOpened(
        stream_id=stream_id,
        session_id=session_id,
        session_label=f"{chance.choice(WORDS)} {chance.choice(WORDS)} {session_id.int & 0xFFFFFF}" if not turn else "",
        key_id=None,
        client="127.0.0.1",
        user_agent="seed_history",
        endpoint="/v1/chat/completions",
        wire_format=OPENAI_CHAT.name,
        is_streaming=True,
        requested_model=model,
        upstream_model=model,
        provider="openai",
        requested_at=at,
        request=encode({"model": model, "stream": True, "messages": [{"role": "user", "content": f"Turn {turn}"}]}),
    )


def _block(block: BlockRecord, at: int, mark: str) -> BlockRecord:
    """A template's block in a stream that began at `at`, with the stream's own mark in its text."""
    return replace(
        block,
        text=block.text.replace(_MARK.decode(), mark),
        started_at=at + block.started_at,
        completed_at=None if block.completed_at is None else at + block.completed_at,
        released_at=None if block.released_at is None else at + block.released_at,
    )


def _verdict(at: int, version_id: int) -> VerdictRecord:
    return VerdictRecord(0, None, version_id, "enforce", "halt", "made up", "", at, 120, subject="stream")


def _id_at(microseconds: int, chance: random.Random) -> UUID:
    value = (microseconds // 1000 << 80) | chance.getrandbits(80)
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    return UUID(int=(value & ~(0x3 << 62)) | (0x2 << 62))
