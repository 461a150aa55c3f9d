"""A stream under way, as its worker has it in memory, made ready to be shown."""

from collections.abc import Sequence
from dataclasses import replace

from streamviz.core.blocks import OtherStreamBlock, StreamBlock, ToolCallStreamBlock
from streamviz.core.judgements import Judgement
from streamviz.core.timing import inter_token_latency
from streamviz.exchange.stream import LiveStream
from streamviz.live.presentation.block_states import Kept, by_block, deciding, state_of
from streamviz.live.presentation.evidence import evidence_text
from streamviz.live.presentation.text import printable
from streamviz.live.presentation.views import (
    ASKED_CHARACTERS,
    BlockView,
    StreamView,
    VerdictView,
    is_asking,
    title_of,
)

# Latencies are measured over the newest chunks, so that a long stream costs no more a second than a short one.
_LATENCY_CHUNKS = 2_000


def view_of(stream: LiveStream) -> StreamView:
    """The stream as it is at this moment, without what is dear to work out. Call it in the event loop."""
    return _view_of(stream, is_whole=True)


def row_view_of(stream: LiveStream) -> StreamView:
    """The same as far as a row needs it: without chunks' times, and of texts only the beginning of what a person is
    asked about."""
    return _view_of(stream, is_whole=False)


def _view_of(stream: LiveStream, *, is_whole: bool) -> StreamView:
    verdicts = [_verdict(stream, number) for number in range(len(stream.context.judgements))]
    of_blocks = by_block(verdicts)
    chunks = stream.received_at
    held = _first_held(stream)
    return StreamView(
        id=stream.id,
        session_id=stream.session_id,
        session_label=stream.session_label,
        session_name=stream.session_name,
        key_name=stream.key_name,
        endpoint=stream.endpoint,
        wire_format=stream.wire_format,
        requested_model=stream.requested_model,
        upstream_model=stream.upstream_model,
        provider=stream.provider,
        requested_at=stream.requested_at,
        upstream_first_at=stream.upstream_first_at,
        client_first_at=stream.client_first_at,
        ended_at=stream.ended_at,
        last_received_at=chunks[-1] if chunks else None,
        outcome=stream.outcome,
        status=stream.status,
        finish_reason=stream.state.finish_reason or "",
        error=stream.error,
        tokens=stream.tokens or stream.state.tokens,
        cost=stream.cost,
        itl_p50=None,
        itl_p95=None,
        chunk_count=len(chunks),
        frame_count=stream.frame_count,
        user_agent=stream.user_agent,
        blocks=[
            _block(
                stream,
                block,
                of_blocks.get(block.ordinal, ()),
                block.text if is_whole else _asked_text(stream, block),
                is_behind=held is not None and held < block.ordinal,
            )
            for block in stream.state.blocks
        ],
        verdicts=verdicts,
        received_at=chunks if is_whole else (),
        sending_since=stream.sending_since,
        not_run=tuple(stream.context.not_run),
        left_out=", ".join(stream.left_out),
        awaited=_awaited(stream),
    )


def whole_view_of(stream: LiveStream, view: StreamView) -> StreamView:
    """`view`, a view of `stream`, with its latencies and with both tapes' times."""
    latency = inter_token_latency(stream.received_at[-_LATENCY_CHUNKS:], stream.upstream_first_at)
    return replace(
        view,
        itl_p50=latency.p50,
        itl_p95=latency.p95,
        received_at=stream.received_at[:],
        client_waits=_client_waits(stream),
        passed_seqs=stream.passed_seqs[:],
        passed_at=stream.passed_at[:],
        made_at=stream.made_at[:],
    )


def _awaited(stream: LiveStream) -> tuple[str, ...]:
    questions = stream.context.questions.values()
    names = (question.policy.name for question in questions if question.ordinal is None and question.is_awaited)
    return tuple(dict.fromkeys(names))


def _client_waits(stream: LiveStream) -> list[tuple[int, int | None]]:
    waits: list[tuple[int, int | None]] = [*stream.client_waits]
    return waits if stream.sending_since is None else [*waits, (stream.sending_since, None)]


def _verdict(stream: LiveStream, number: int) -> VerdictView:
    judgement: Judgement = stream.context.judgements[number]
    return VerdictView(
        number=number,
        ordinal=judgement.ordinal,
        block_name=_subject(stream, judgement),
        policy=judgement.policy.name,
        version=judgement.policy.version,
        mode=judgement.policy.mode.value,
        decision=judgement.verdict.decision,
        reason=printable(judgement.verdict.reason),
        failure=printable(judgement.failure),
        at=judgement.at,
        took=judgement.took,
        by=judgement.by,
        client_had=judgement.client_had,
        evidence=evidence_text(judgement.verdict.evidence, judgement.verdict.reason),
    )


def _subject(stream: LiveStream, judgement: Judgement) -> str:
    """What a verdict is about: the block's name, or the request or the stream."""
    ordinal = judgement.ordinal
    if ordinal is None:
        return str(judgement.subject)
    block = stream.state.blocks[ordinal]
    return title_of(block.kind, block_name(block))


def block_name(block: StreamBlock) -> str:
    """What a tool call calls, or what kind of thing a block of another kind is."""
    match block:
        case ToolCallStreamBlock():
            return block.name
        case OtherStreamBlock():
            return block.name or block.label
        case _:
            return ""


def _asked_text(stream: LiveStream, block: StreamBlock) -> str:
    hold = stream.context.holds.get(block.ordinal)
    return block.beginning(ASKED_CHARACTERS) if hold is not None and is_asking(hold) else ""


def _first_held(stream: LiveStream) -> int | None:
    """The first block that is held: all that follow it wait."""
    holds = stream.context.holds.items()
    return min((ordinal for ordinal, hold in holds if hold.ended_at is None), default=None)


def _block(
    stream: LiveStream, block: StreamBlock, verdicts: Sequence[VerdictView], text: str, *, is_behind: bool
) -> BlockView:
    hold = stream.context.holds.get(block.ordinal)
    verdict = deciding(verdicts)
    kept = Kept(hold is not None, hold is not None and hold.ended_at is None, is_behind)
    return BlockView(
        ordinal=block.ordinal,
        kind=block.kind,
        name=block_name(block),
        choice=block.choice,
        text=text,
        length=block.length,
        stream_started_at=stream.requested_at,
        started_at=block.started_at,
        completed_at=block.completed_at,
        first_seq=block.first_seq,
        last_seq=block.last_seq,
        state=state_of(kept, verdict, is_running=stream.ended_at is None, is_complete=block.is_complete),
        held_at=hold.since if hold else None,
        released_at=hold.ended_at if hold else None,
        held_by=hold.policies if hold else (),
        hold_reason=printable(hold.reason) if hold else "",
        decided_at=hold.until if hold else None,
        waits_for_person=hold is not None and is_asking(hold),
        asked_by=hold.asked_by if hold else "",
        asked_at=hold.asked_at if hold else 0,
        otherwise=hold.otherwise if hold else None,
        is_truncated=block.is_truncated,
        is_stream_over=stream.ended_at is not None,
        verdict=verdict,
    )
