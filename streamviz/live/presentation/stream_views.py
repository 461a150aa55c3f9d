"""A stream prepared for display from its entries, whether it runs or ended long ago."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec import structs

from streamviz.core.events import BlockKind
from streamviz.core.judgements import Hold, NotRun
from streamviz.core.outcome import Outcome
from streamviz.core.tokens import Tokens
from streamviz.core.verdicts import Decision
from streamviz.exchange import recording
from streamviz.exchange.stream import LiveStream
from streamviz.live.pace import Pace, paced
from streamviz.live.presentation.block_states import Kept, by_block, deciding, ends_stream, state_of
from streamviz.live.presentation.block_views import BlockView, VerdictView, title_of
from streamviz.live.presentation.evidence import evidence_text
from streamviz.live.presentation.text import printable
from streamviz.live.presentation.views import StreamView
from streamviz.records.block_record import BlockRecord
from streamviz.records.entries import Given, StreamEntries
from streamviz.records.models import Stream
from streamviz.records.queries import streams
from streamviz.records.recorder import StreamClosed


def view_of(entries: StreamEntries) -> StreamView:
    """The stream that these entries describe."""
    verdicts = list(_verdicts(entries))
    return _view(entries, verdicts, list(_blocks(entries, verdicts)))


def _view(entries: StreamEntries, verdicts: list[VerdictView], blocks: list[BlockView]) -> StreamView:
    opened, closed, times = entries.opened, entries.closed, entries.times
    is_running = not closed.outcome
    return StreamView(
        id=opened.stream_id,
        session_id=opened.session_id,
        session_label=opened.session_label,
        session_name=opened.session_name,
        key_name=entries.key_name,
        endpoint=opened.endpoint,
        wire_format=opened.wire_format,
        requested_model=opened.requested_model,
        upstream_model=closed.upstream_model,
        provider=closed.provider,
        requested_at=opened.requested_at,
        upstream_first_at=closed.upstream_first_at,
        client_first_at=closed.client_first_at,
        ended_at=None if is_running else closed.ended_at,
        last_received_at=entries.last_received_at,
        outcome=closed.outcome,
        status=closed.status,
        finish_reason=closed.finish_reason,
        error=closed.error,
        tokens=_tokens(closed),
        cost=closed.cost,
        itl_p50=closed.itl_p50,
        itl_p95=closed.itl_p95,
        chunk_count=closed.chunk_count,
        frame_count=closed.frame_count,
        user_agent=opened.user_agent,
        request_headers=opened.request_headers,
        blocks=blocks,
        verdicts=verdicts,
        received_at=times.received_at,
        passed_seqs=times.passed_seqs,
        passed_at=times.passed_at,
        made_at=times.made_at,
        client_waits=times.client_waits,
        sending_since=entries.sending_since,
        not_run=msgspec.convert(opened.not_run, list[NotRun]),
        left_out=closed.left_out,
        executor=opened.executor,
        part=opened.part,
        parent=opened.parent,
        relation=opened.relation,
        awaited=entries.awaited,
    )


def _tokens(closed: StreamClosed) -> Tokens:
    return Tokens(
        input=closed.input_tokens,
        output=closed.output_tokens,
        cache_read=closed.cache_read_tokens,
        cache_written=closed.cache_written_tokens,
        reasoning=closed.reasoning_tokens,
        is_estimated=closed.is_estimated,
    )


async def paced_view_of_running(stream: LiveStream, pace: Pace) -> StreamView:
    """The stream as it is, without what is expensive to compute. With very many blocks this takes several turns: each
    block is as it is at its turn, and the verdicts are those from the beginning, whose blocks are all there."""
    judged = len(stream.verdicts)
    entries = recording.entries_of(stream, await paced(recording.blocks_of(stream), pace))
    verdicts = (await paced(_verdicts(entries), pace))[:judged]
    return _view(entries, verdicts, await paced(_blocks(entries, verdicts), pace))


def view_of_record(record: Stream, *, has_times: bool = True) -> StreamView:
    """The view of a stream from `streams.load`. Of a finished one the tapes' times are only read if `has_times`."""
    return view_of(streams.entries_of(record, has_times=has_times))


def whole_view_of(stream: LiveStream, view: StreamView) -> StreamView:
    """`view`, a view of `stream`, with its latencies and the times of both tapes."""
    latency = recording.latency_of(stream)
    return structs.replace(view, itl_p50=latency.p50, itl_p95=latency.p95, **recording.times_of(stream)._asdict())


def block_view(
    record: BlockRecord,
    requested_at: int,
    state: str,
    *,
    hold: Hold | None = None,
    verdict: VerdictView | None = None,
    is_stream_over: bool = False,
    as_of: int | None = None,
) -> BlockView:
    """A block and its state; `hold` is what is known of its hold while its stream runs."""
    is_asking = hold is not None and hold.is_asking
    return BlockView(
        ordinal=record.ordinal,
        kind=BlockKind(record.kind),
        name=record.name or record.label,
        choice=record.choice,
        text=record.text,
        length=record.length,
        stream_started_at=requested_at,
        started_at=record.started_at,
        completed_at=record.completed_at,
        first_seq=record.first_seq,
        last_seq=record.last_seq,
        state=state,
        held_at=record.held_at,
        released_at=record.released_at,
        held_by=record.held_by,
        hold_reason=printable(hold.reason) if hold else "",
        decided_at=hold.until if hold else None,
        waits_for_person=is_asking,
        asks=hold.asks if hold else None,
        asked_by=hold.asked_by if hold else "",
        asked_at=hold.asked_at if hold else 0,
        otherwise=hold.otherwise if hold else None,
        is_truncated=record.is_truncated,
        is_stream_over=is_stream_over,
        verdict=verdict,
        upstream_id=record.upstream_id,
        as_of=as_of,
    )


def _verdicts(entries: StreamEntries) -> Iterator[VerdictView]:
    by_ordinal = {block.ordinal: block for block in entries.closed.blocks}
    return (_verdict(given, by_ordinal) for given in entries.verdicts)


def _blocks(entries: StreamEntries, verdicts: Sequence[VerdictView]) -> Iterator[BlockView]:
    is_running = not entries.closed.outcome
    of_blocks = by_block(verdicts)
    open_holds = {ordinal for ordinal, hold in entries.holds.items() if hold.ended_at is None}
    first_held = min(open_holds, default=None)
    for record in entries.closed.blocks:
        ordinal, was_held = record.ordinal, record.held_at is not None
        is_held = ordinal in open_holds if is_running else was_held and record.released_at is None
        is_behind = (first_held is not None and first_held < ordinal) or _never_began(record, entries.closed.outcome)
        kept = Kept(was_held, is_held, is_behind)
        verdict = deciding(of_blocks.get(ordinal, ()))
        if is_held and first_held is None and ends_stream(verdict):
            first_held = ordinal
        is_complete = record.completed_at is not None
        state = state_of(kept, verdict, is_running=is_running, is_complete=is_complete)
        hold = entries.holds.get(ordinal)
        over = not is_running
        yield block_view(record, entries.opened.requested_at, state, hold=hold, verdict=verdict, is_stream_over=over)


def _never_began(record: BlockRecord, outcome: str) -> bool:
    """Whether nothing of a block had gone out when its stream ended. If the server was lost, the record only says that
    not all of it had."""
    is_over = outcome not in ("", Outcome.INTERRUPTED)
    return is_over and record.completed_at is not None and record.released_at is None


def _verdict(given: Given, blocks: Mapping[int, BlockRecord]) -> VerdictView:
    verdict, policy, version = given
    return VerdictView(
        number=verdict.number,
        ordinal=verdict.ordinal,
        block_name=verdict.subject if verdict.ordinal is None else _title(blocks.get(verdict.ordinal)),
        policy=policy,
        version=version,
        mode=verdict.mode,
        decision=Decision(verdict.decision),
        reason=printable(verdict.reason),
        failure=printable(verdict.failure),
        at=verdict.at,
        took=verdict.took,
        by=verdict.by,
        client_had=verdict.client_had,
        evidence=evidence_text(verdict.evidence, verdict.reason),
    )


def _title(block: BlockRecord | None) -> str:
    return "" if block is None else title_of(BlockKind(block.kind), block.name or block.label)
