"""The entries that describe a stream: for the record when it opens and closes, for pages in between."""

from collections.abc import Iterator

from msgspec import structs

from streamviz.core.blocks import StreamBlock
from streamviz.core.json_value import encode
from streamviz.core.judgements import ChainContext
from streamviz.core.model_names import REPLAY, model_names
from streamviz.core.timing import Percentiles, inter_token_latency
from streamviz.exchange.stream import LiveStream
from streamviz.records.block_record import BlockRecord
from streamviz.records.entries import NO_TIMES, Given, StreamEntries, Times
from streamviz.records.recorder import StreamClosed, StreamOpened

# Latencies are measured over the newest chunks, so that a long stream costs no more per second than a short one.
_LATENCY_CHUNKS = 2_000
# A row of the Live page is rendered again and again, and has room for a hundred blocks.
_MOST_BLOCKS = 500
# A row shows less of a name than this, and a filter cannot match more.
NAME_CHARACTERS = 300
# Stands in where computing it would cost too much.
_UNKNOWN = Percentiles(None, None)


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
        request_headers=stream.request_headers,
        executor=stream.executor,
        part=stream.part,
        other_names=other_names(stream),
    )


def other_names(stream: LiveStream) -> tuple[str, ...]:
    """The names of the model that is called, if policies or a recording gave it more than the client and the provider
    use."""
    call = stream.context.request
    if call.model == stream.requested_model and stream.provider != REPLAY:
        return ()
    known = model_names(stream.requested_model, stream.provider, stream.upstream_model)
    return tuple(name for name in call.models if name not in known)


def closed(stream: LiveStream) -> StreamClosed:
    """The entry for a stream that ended."""
    blocks = list(blocks_of(stream))
    return _closed(stream, blocks, inter_token_latency(stream.times.received_at, stream.times.upstream_first_at))


def entries_of(stream: LiveStream, blocks: list[BlockRecord]) -> StreamEntries:
    """The stream as it is now, with these of its blocks and without what is expensive to compute. Call it in the event
    loop."""
    return _entries(stream, blocks, Times(stream.times.received_at))


def blocks_of(stream: LiveStream) -> Iterator[BlockRecord]:
    """The stream's blocks, each as it is when the iterator reaches it."""
    return (_block(block, stream.context) for block in stream.state.blocks)


def short_entries_of(stream: LiveStream, asked_characters: int) -> StreamEntries:
    """The same without chunk times: of texts it has only the beginning of those that a person is asked about, and names
    are cut to a useful length. Of very many blocks it has the newest and those that are held."""
    context, blocks = stream.context, stream.state.blocks
    earlier = len(blocks) - _MOST_BLOCKS
    held = [number for number, hold in context.holds.items() if number < earlier and hold.ended_at is None]
    shown = [*(blocks[number] for number in held[:_MOST_BLOCKS]), *blocks[-_MOST_BLOCKS:]]
    told = [_shortened(block, context, asked_characters) for block in shown]
    return _entries(stream, told, NO_TIMES)


def times_of(stream: LiveStream) -> Times:
    """When chunks arrived, frames were sent and the client was slow, so far."""
    times = stream.times
    waits: list[tuple[int, int | None]] = [*times.client_waits]
    if times.sending_since is not None:
        waits.append((times.sending_since, None))
    return Times(times.received_at[:], times.passed_seqs[:], times.passed_at[:], times.made_at[:], waits)


def latency_of(stream: LiveStream) -> Percentiles:
    """The latencies of the newest chunks."""
    return inter_token_latency(stream.times.received_at[-_LATENCY_CHUNKS:], stream.times.upstream_first_at)


def _entries(stream: LiveStream, blocks: list[BlockRecord], times: Times) -> StreamEntries:
    judged = zip(stream.verdicts, stream.context.judgements, strict=True)
    return StreamEntries(
        opened(stream),
        _closed(stream, blocks, _UNKNOWN),
        [Given(verdict, judgement.policy.name, judgement.policy.version) for verdict, judgement in judged],
        stream.key_name,
        stream.times.last_received_at,
        times,
        stream.context.holds,
        _awaited(stream.context),
        stream.times.sending_since,
    )


def _closed(stream: LiveStream, blocks: list[BlockRecord], latency: Percentiles) -> StreamClosed:
    state = stream.state
    tokens, times = stream.tokens or state.tokens, stream.times
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
        chunk_count=len(times.received_at),
        frame_count=times.frame_count,
        upstream_first_at=times.upstream_first_at,
        client_first_at=times.client_first_at,
        ended_at=stream.context.now() if stream.ended_at is None else stream.ended_at,
        itl_p50=latency.p50,
        itl_p95=latency.p95,
        blocks=blocks,
        client_waits=times.client_waits,
        cache_read_tokens=tokens.cache_read,
        cache_written_tokens=tokens.cache_written,
        reasoning_tokens=tokens.reasoning,
        is_estimated=tokens.is_estimated,
        hides_usage=stream.hides_usage,
        marks=stream.place.marks,
        left_out=", ".join(stream.left_out),
    )


def _block(block: StreamBlock, context: ChainContext, text: str | None = None) -> BlockRecord:
    hold = context.holds.get(block.ordinal)
    if hold is None:
        went_out = context.begun is None or block.ordinal in context.begun
        return BlockRecord.of(block, released_at=block.completed_at if went_out else None, text=text)
    return BlockRecord.of(block, hold.since, hold.policies, hold.released_at, text)


def _shortened(block: StreamBlock, context: ChainContext, asked_characters: int) -> BlockRecord:
    record = _block(block, context, _asked(block, context, asked_characters))
    name, label, upstream_id = (each[:NAME_CHARACTERS] for each in (record.name, record.label, record.upstream_id))
    return structs.replace(record, name=name, label=label, upstream_id=upstream_id)


def _asked(block: StreamBlock, context: ChainContext, characters: int) -> str:
    hold = context.holds.get(block.ordinal)
    return block.beginning(characters) if hold is not None and hold.is_asking else ""


def _awaited(context: ChainContext) -> tuple[str, ...]:
    asked = context.questions.values()
    names = (question.policy.name for question in asked if question.ordinal is None and question.is_awaited)
    return tuple(dict.fromkeys(names))
