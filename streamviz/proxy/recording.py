"""What the record gets of a live stream when it opens and when it closes."""

from streamviz.core.blocks import StreamBlock
from streamviz.core.json_value import encode
from streamviz.core.judgements import ChainContext
from streamviz.core.timing import inter_token_latency
from streamviz.core.tokens import Tokens
from streamviz.exchange.stream import LiveStream
from streamviz.records.aggregation import block_record
from streamviz.records.recorder import BlockRecord, StreamClosed, StreamOpened


def opened(stream: LiveStream) -> StreamOpened:
    """The entry for a stream whose request was just accepted."""
    return StreamOpened(
        stream_id=stream.id,
        session_id=stream.session_id,
        session_label=stream.session_label,
        session_name=stream.session_name,
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
        parent=stream.place.parent,
        relation=stream.place.relation,
        asked=stream.place.asked,
        is_named=stream.place.is_named,
    )


def closed(stream: LiveStream, ended_at: int) -> StreamClosed:
    """The entry for a stream that ended; `ended_at` is in µs since the epoch."""
    state, context = stream.state, stream.context
    tokens = stream.tokens or Tokens()
    itl = inter_token_latency(stream.received_at, stream.upstream_first_at)
    return StreamClosed(
        stream_id=stream.id,
        upstream_model=stream.upstream_model,
        provider=stream.provider,
        outcome=stream.outcome,
        finish_reason=state.finish_reason or "",
        status=stream.status,
        error=stream.error,
        usage=None if state.usage is None else encode(state.usage),
        input_tokens=tokens.input,
        output_tokens=tokens.output,
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
        cache_read_tokens=tokens.cache_read,
        cache_written_tokens=tokens.cache_written,
        reasoning_tokens=tokens.reasoning,
        is_estimated=tokens.is_estimated,
        hides_usage=stream.hides_usage,
        marks=stream.place.marks,
        left_out=", ".join(stream.left_out),
    )


def _block(block: StreamBlock, context: ChainContext) -> BlockRecord:
    hold = context.holds.get(block.ordinal)
    if hold is None:
        return block_record(block, released_at=block.completed_at)
    return block_record(block, held_at=hold.since, held_by=hold.policies, released_at=hold.released_at)
