"""Close streams whose worker died, as far as the record has them: with their own outcome if the client was sent their
end, otherwise as `interrupted`."""

import logging
from array import array
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

import psycopg

from streamviz.core.blocks import StreamBlock, StreamState
from streamviz.core.context import shows_block
from streamviz.core.json_value import JsonObject, as_object, decode, encode
from streamviz.core.request import ModelCall
from streamviz.core.timing import inter_token_latency
from streamviz.core.tokens import Tokens
from streamviz.records.aggregation import aggregate, aggregate_tape
from streamviz.records.block_record import BlockRecord
from streamviz.records.models import Outcome
from streamviz.records.recorder import CANCELLED, StreamClosed
from streamviz.records.runs import StoredChunk, StoredFrame, chunks_in, frames_in
from streamviz.records.writer import statements as sql
from streamviz.upstream.estimates import tokens_of
from streamviz.upstream.prices import price

log = logging.getLogger(__name__)

WHY = "streamviz ended while the stream was running"


class Recorded(NamedTuple):
    """What the record has of a stream. `requested_at` is µs since the epoch; `request` is None if it was not kept.
    `judged` has the blocks that were denied, replaced or halted; `is_halted` says that a policy denied the request or
    ended the stream. A run has an `executor`; a call of a run has a `part`."""

    stream_id: UUID
    wire_format: str
    upstream_model: str
    provider: str
    requested_at: int
    request: JsonObject | None
    chunks: list[StoredChunk]
    frames: list[StoredFrame]
    judged: set[int]
    is_halted: bool
    executor: str = ""
    part: str = ""


class End(NamedTuple):
    """How a stream ended, and its error."""

    outcome: Outcome
    error: str


def end_of(connection: psycopg.Connection, stream_id: UUID) -> StreamClosed | None:
    """The end of a stream whose worker is gone; the same on every call. None if the stream was deleted.

    Raises psycopg.Error. Any other failure is the stream's own: it is then closed without its contents.
    """
    head = _head(connection, stream_id)
    if head is None:
        return None
    try:
        return closed(_whole(connection, head))
    except psycopg.Error:
        raise
    except Exception:
        log.exception("stream %s cannot be read; its outcome stays unknown", stream_id)
        return closed(head)


def closed(recorded: Recorded) -> StreamClosed:
    """The closing entry of a stream that nobody else closed."""
    end = _end(recorded)
    state = aggregate(recorded.wire_format, recorded.chunks)
    tokens = _tokens(recorded, state)
    received_at = array("q", [chunk.received_at for chunk in recorded.chunks])
    first = state.blocks[0] if state.blocks else None
    itl = inter_token_latency(received_at, first.started_at if first else None)
    ends = [recorded.requested_at, *received_at[-1:], *(frame.sent_at for frame in recorded.frames[-1:])]
    return StreamClosed(
        stream_id=recorded.stream_id,
        upstream_model=recorded.upstream_model,
        provider=recorded.provider,
        outcome=end.outcome.value,
        finish_reason=state.finish_reason or "",
        status=200 if end.outcome is Outcome.COMPLETED else None,
        error=end.error,
        usage=None if state.usage is None else encode(state.usage),
        input_tokens=tokens.input,
        output_tokens=tokens.output,
        cost=price(recorded.upstream_model, recorded.provider, tokens) if _calls_model(recorded, state) else None,
        chunk_count=len(recorded.chunks),
        frame_count=len(recorded.frames),
        upstream_first_at=first.started_at if first else None,
        client_first_at=_client_first_at(first, recorded.frames),
        ended_at=max(ends),
        itl_p50=itl.p50,
        itl_p95=itl.p95,
        blocks=_blocks(state.blocks, recorded),
        cache_read_tokens=tokens.cache_read,
        cache_written_tokens=tokens.cache_written,
        reasoning_tokens=tokens.reasoning,
        is_estimated=tokens.is_estimated,
    )


def _tokens(recorded: Recorded, state: StreamState) -> Tokens:
    """Count tokens as for a stream that ended normally; what is not in the record cannot be estimated."""
    if not _calls_model(recorded, state):
        return Tokens(0, 0)
    if recorded.request is None or any(chunk.raw is None for chunk in recorded.chunks):
        return state.tokens
    return tokens_of(state, ModelCall(recorded.wire_format, recorded.request))


def _calls_model(recorded: Recorded, state: StreamState) -> bool:
    """Whether a model answered the stream. A run has the tokens of its calls; a run's tool calls, which no model
    answers, report that they took none."""
    took_none = state.tokens.input == state.tokens.output == 0
    return not (recorded.executor or (recorded.part and took_none))


def _end(recorded: Recorded) -> End:
    tape = _client_tape(recorded)
    seen = None if tape is None else aggregate_tape(recorded.wire_format, tape)
    if seen is None or not (seen.has_end_mark or seen.state.failure):
        return End(Outcome.INTERRUPTED, WHY)
    error = seen.state.failure.message if seen.state.failure else ""
    if recorded.is_halted or error == CANCELLED:
        return End(Outcome.HALTED, error)
    return End(Outcome.UPSTREAM_ERROR if error else Outcome.COMPLETED, error)


def _client_tape(recorded: Recorded) -> bytes | None:
    """What the client was sent; None if not all of it was kept."""
    raws = {chunk.seq: chunk.raw for chunk in recorded.chunks}
    pieces = [frame.made if frame.seq is None else raws.get(frame.seq) for frame in recorded.frames]
    return b"".join(filter(None, pieces)) if None not in pieces else None


def _client_first_at(first: StreamBlock | None, frames: Sequence[StoredFrame]) -> int | None:
    if first is None:
        return None
    return next((frame.sent_at for frame in frames if shows_block(frame.seq, frame.origin, first.first_seq)), None)


def _blocks(blocks: Sequence[StreamBlock], recorded: Recorded) -> list[BlockRecord]:
    """The blocks, with holds as far as the record tells. It does not say when a hold began: at the earliest with its
    block. Blocks are held whole, so one whose first chunk the client had was not held."""
    sent = {frame.seq: frame.sent_at for frame in recorded.frames}
    return [
        BlockRecord.of(
            block,
            held_at=block.started_at if block.ordinal in recorded.judged or block.first_seq not in sent else None,
            released_at=None if block.ordinal in recorded.judged else sent.get(block.last_seq),
        )
        for block in blocks
    ]


def _head(connection: psycopg.Connection, stream_id: UUID) -> Recorded | None:
    """A stream without its chunks, frames and verdicts; None if it was deleted."""
    row = connection.execute(sql.STREAM, [stream_id]).fetchone()
    if row is None:
        return None
    wire_format, upstream_model, provider, requested_at, request, executor, part = row
    told = wire_format, upstream_model, provider, int(requested_at), _request(bytes(request))
    return Recorded(stream_id, *told, [], [], set(), False, executor, part)


def _request(body: bytes) -> JsonObject | None:
    """The request as JSON; None if it was not kept or can no longer be read."""
    try:
        return as_object(decode(body)) if body else None
    except ValueError:
        return None


def _whole(connection: psycopg.Connection, head: Recorded) -> Recorded:
    judged = connection.execute(sql.JUDGED, [head.stream_id]).fetchall()
    return head._replace(
        chunks=[chunk for run in connection.execute(sql.UPSTREAM_RUNS, [head.stream_id]) for chunk in chunks_in(*run)],
        frames=[frame for run in connection.execute(sql.CLIENT_RUNS, [head.stream_id]) for frame in frames_in(*run)],
        judged={ordinal for ordinal, _ in judged},
        is_halted=any(is_halt for _, is_halt in judged),
    )
