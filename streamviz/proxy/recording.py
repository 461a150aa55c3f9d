"""What the record gets of a live stream when it opens and when it closes."""

from collections.abc import Iterator

from streamviz.core.blocks import StreamBlock
from streamviz.core.context import StreamingContext
from streamviz.core.json_value import encode
from streamviz.core.judgements import Judgement
from streamviz.core.timing import inter_token_latency
from streamviz.core.usage import Usage, normalise
from streamviz.live.streams import LiveStream
from streamviz.records.aggregation import block_record
from streamviz.records.recorder import BlockRecord, StreamClosed, StreamOpened, VerdictRecord, VerdictsGiven
from streamviz.upstream.prices import price


def opened(stream: LiveStream) -> StreamOpened:
    """The entry for a stream whose request was just accepted."""
    return StreamOpened(
        stream_id=stream.id,
        session_id=stream.session_id,
        session_label=stream.session_label,
        key_id=stream.key_id,
        client=stream.client,
        user_agent=stream.user_agent,
        endpoint=stream.endpoint,
        wire_format=stream.wire_format,
        is_streaming=stream.is_streaming,
        requested_model=stream.requested_model,
        upstream_model=stream.upstream_model,
        provider=stream.provider,
        requested_at=stream.requested_at,
        request=stream.request,
        not_run=[
            {"policy": each.policy, "version": each.version, "mode": str(each.mode), "why": each.why}
            for each in stream.context.not_run
        ],
    )


def closed(stream: LiveStream, ended_at: int) -> StreamClosed:
    """The entry for a stream that ended; `ended_at` is in µs since the epoch."""
    state, context = stream.state, stream.context
    usage = normalise(state.usage) or Usage()
    itl = inter_token_latency(stream.received_at, stream.upstream_first_at)
    stream.cost = price(stream.upstream_model, stream.provider, usage.input_tokens, usage.output_tokens)
    return StreamClosed(
        stream_id=stream.id,
        upstream_model=stream.upstream_model,
        provider=stream.provider,
        outcome=stream.outcome,
        finish_reason=state.finish_reason or "",
        status=stream.status,
        error=stream.error,
        usage=None if state.usage is None else encode(state.usage),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost=stream.cost,
        chunk_count=len(stream.received_at),
        frame_count=stream.frame_count,
        upstream_first_at=stream.upstream_first_at,
        client_first_at=stream.client_first_at,
        ended_at=ended_at,
        itl_p50=itl.p50,
        itl_p95=itl.p95,
        blocks=[_block(block, context) for block in state.blocks],
        client_waits=stream.client_waits,
    )


def _block(block: StreamBlock, context: StreamingContext) -> BlockRecord:
    hold = context.holds.get(block.ordinal)
    if hold is None:
        return block_record(block, released_at=block.completed_at)
    return block_record(block, held_at=hold.since, held_by=hold.policies, released_at=hold.released_at)


def verdicts(stream: LiveStream, first: int) -> VerdictsGiven:
    """The entry for what policies have decided, from the verdict numbered `first` on."""
    return VerdictsGiven(stream.id, list(_verdicts(stream.context.judgements[first:], first)))


def _verdicts(judgements: list[Judgement], first: int) -> Iterator[VerdictRecord]:
    for number, judgement in enumerate(judgements, first):
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
            evidence=dict(judgement.verdict.evidence),
            by=judgement.by,
            client_had=judgement.client_had,
        )
