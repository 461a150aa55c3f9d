"""What the record gets of a live stream when it opens and when it closes."""

from collections.abc import Iterator

from streamviz.core.blocks import OtherStreamBlock, StreamBlock, ThinkingStreamBlock, ToolCallStreamBlock
from streamviz.core.context import StreamingContext
from streamviz.core.judgements import Judgement
from streamviz.core.timing import inter_token_latency
from streamviz.core.usage import Usage, normalise
from streamviz.live.streams import LiveStream
from streamviz.records.recorder import BlockRecord, StreamClosed, StreamOpened, VerdictRecord
from streamviz.upstream.prices import price


def opened(stream: LiveStream) -> StreamOpened:
    """The entry for a stream whose request was just accepted."""
    return StreamOpened(
        id=stream.id,
        session_id=stream.session_id,
        session_label=stream.session_label,
        key_id=stream.key_id,
        client=stream.client,
        user_agent=stream.user_agent,
        endpoint=stream.endpoint,
        wire_format=stream.wire_format,
        is_streaming=stream.is_streaming,
        requested_model=stream.requested_model,
        requested_at=stream.requested_at,
        request=stream.request,
    )


def closed(stream: LiveStream, ended_at: int) -> StreamClosed:
    """The entry for a stream that ended; `ended_at` is in µs since the epoch."""
    state, context = stream.state, stream.context
    usage = normalise(state.usage) or Usage()
    itl = inter_token_latency(stream.received_at, stream.upstream_first_at)
    stream.cost = price(stream.upstream_model, stream.provider, usage.input_tokens, usage.output_tokens)
    return StreamClosed(
        id=stream.id,
        upstream_model=stream.upstream_model,
        provider=stream.provider,
        outcome=stream.outcome,
        finish_reason=state.finish_reason or "",
        status=stream.status,
        error=stream.error,
        usage=state.usage,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost=stream.cost,
        chunk_count=len(stream.received_at),
        frame_count=len(stream.sent_at),
        upstream_first_at=stream.upstream_first_at,
        client_first_at=stream.client_first_at,
        ended_at=ended_at,
        itl_p50=itl.p50,
        itl_p95=itl.p95,
        blocks=[_block(block, context) for block in state.blocks],
        verdicts=list(_verdicts(context.judgements)),
        not_run=[
            {"policy": each.policy, "version": each.version, "mode": str(each.mode), "why": each.why}
            for each in context.not_run
        ],
    )


def _block(block: StreamBlock, context: StreamingContext) -> BlockRecord:
    hold = context.holds.get(block.ordinal)
    released_at = block.completed_at if hold is None else None if hold.is_denied else hold.released_at
    return BlockRecord(
        ordinal=block.ordinal,
        kind=str(block.kind),
        choice=block.choice,
        index=block.index,
        upstream_id=block.id,
        name=block.name if isinstance(block, ToolCallStreamBlock | OtherStreamBlock) else "",
        label=block.label if isinstance(block, OtherStreamBlock) else "",
        text=block.text,
        signature=block.signature if isinstance(block, ThinkingStreamBlock) else "",
        first_seq=block.first_seq,
        last_seq=block.last_seq,
        started_at=block.started_at,
        completed_at=block.completed_at,
        held_at=hold.since if hold else None,
        released_at=released_at,
        held_by=hold.policies if hold else (),
        is_truncated=block.is_truncated,
    )


def _verdicts(judgements: list[Judgement]) -> Iterator[VerdictRecord]:
    for number, judgement in enumerate(judgements):
        active = judgement.policy
        yield VerdictRecord(
            number=number,
            ordinal=judgement.ordinal,
            policy_version_id=active.version_id,
            mode=str(active.mode),
            decision=str(judgement.verdict.decision),
            reason=judgement.verdict.reason,
            failure=judgement.failure,
            at=judgement.at,
            took=judgement.took,
            subject=str(judgement.subject),
            evidence=judgement.verdict.evidence,
            by=judgement.by,
            client_had=judgement.client_had,
        )
