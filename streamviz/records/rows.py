"""Entries of the recorder as rows of the tables."""

from collections.abc import Iterator, Sequence
from uuid import UUID

from psycopg.types.json import Jsonb

from streamviz.core.aggregator import Chunk
from streamviz.core.context import UPSTREAM
from streamviz.records.moments import as_datetime
from streamviz.records.recorder import BlockRecord, FramesSent, StreamClosed, StreamOpened, VerdictRecord

Row = tuple[object, ...]

# A run holds at most so many chunks: enough that its row costs little a chunk, few enough that a page reads little.
RUN_CHUNKS = 64


def clean(text: str) -> str:
    """Text as Postgres can keep it: U+FFFD for NUL, a question mark for half a surrogate pair."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def clean_json(value: object) -> object:
    """A JSON value whose text Postgres can keep."""
    match value:
        case str():
            return clean(value)
        case list():
            return [clean_json(item) for item in value]
        case dict():
            return {clean(str(key)): clean_json(item) for key, item in value.items()}
        case _:
            return value


def moment(microseconds: int | None) -> object:
    return None if microseconds is None else as_datetime(microseconds)


def session_row(entry: StreamOpened) -> Row:
    at = moment(entry.requested_at)
    return (entry.session_id, clean(entry.session_label), entry.key_id, at, at)


def opened_row(entry: StreamOpened) -> Row:
    return (
        entry.id,
        entry.session_id,
        entry.key_id,
        clean(entry.client),
        clean(entry.user_agent),
        entry.endpoint,
        entry.wire_format,
        entry.is_streaming,
        clean(entry.requested_model),
        moment(entry.requested_at),
        entry.request,
    )


def closed_row(entry: StreamClosed) -> Row:
    return (
        clean(entry.upstream_model),
        entry.provider,
        entry.outcome,
        clean(entry.finish_reason),
        entry.status,
        clean(entry.error),
        None if entry.usage is None else Jsonb(clean_json(entry.usage)),
        entry.input_tokens,
        entry.output_tokens,
        entry.cost,
        entry.chunk_count,
        entry.frame_count,
        len(entry.blocks),
        moment(entry.upstream_first_at),
        moment(entry.client_first_at),
        moment(entry.ended_at),
        entry.itl_p50,
        entry.itl_p95,
        Jsonb([clean_json(dict(each)) for each in entry.not_run]),
        entry.id,
    )


def block_row(stream_id: UUID, block: BlockRecord) -> Row:
    return (
        stream_id,
        block.ordinal,
        block.kind,
        block.choice,
        block.index,
        clean(block.upstream_id),
        clean(block.name),
        clean(block.label),
        clean(block.text),
        clean(block.signature),
        block.first_seq,
        block.last_seq,
        moment(block.started_at),
        moment(block.completed_at),
        moment(block.held_at),
        moment(block.released_at),
        list(block.held_by),
        block.is_truncated,
    )


def verdict_row(stream_id: UUID, verdict: VerdictRecord) -> Row:
    return (
        stream_id,
        verdict.number,
        verdict.ordinal,
        verdict.policy_version_id,
        verdict.mode,
        verdict.decision,
        clean(verdict.reason),
        clean(verdict.failure),
        moment(verdict.at),
        verdict.took,
        verdict.subject,
        Jsonb(clean_json(dict(verdict.evidence))),
        clean(verdict.by),
        verdict.client_had,
    )


def upstream_runs(stream_id: UUID, chunks: Sequence[Chunk]) -> Iterator[Row]:
    """Rows for consecutive chunks of one stream. Times are µs since the epoch."""
    for start in range(0, len(chunks), RUN_CHUNKS):
        run = chunks[start : start + RUN_CHUNKS]
        yield (
            stream_id,
            run[0].seq,
            [chunk.received_at for chunk in run],
            [len(chunk.raw) for chunk in run],
            b"".join(chunk.raw for chunk in run),
        )


def client_runs(stream_id: UUID, batches: Sequence[FramesSent]) -> Iterator[Row]:
    """Rows for consecutive frames of one stream; only frames that upstream did not send keep bytes of their own."""
    frames = [(batch.sent_at, frame) for batch in batches for frame in batch.frames]
    first = batches[0].first
    for start in range(0, len(frames), RUN_CHUNKS):
        run = frames[start : start + RUN_CHUNKS]
        made = [frame.raw if frame.origin != UPSTREAM else b"" for _, frame in run]
        yield (
            stream_id,
            first + start,
            [sent_at for sent_at, _ in run],
            [frame.seq for _, frame in run],
            [frame.origin for _, frame in run],
            [len(raw) for raw in made],
            b"".join(made),
        )
