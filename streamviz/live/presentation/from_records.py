"""A stream of the record, made ready to be shown as if it were running."""

import logging
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from asgiref.sync import sync_to_async
from django.db import DatabaseError
from django.db.models import Prefetch, QuerySet
from django.db.models.functions import Right

from streamviz.core.events import BlockKind
from streamviz.core.judgements import NotRun
from streamviz.core.tokens import Tokens
from streamviz.core.verdicts import Decision, Mode
from streamviz.live.presentation.block_states import Kept, by_block, deciding, state_of
from streamviz.live.presentation.evidence import evidence_text
from streamviz.live.presentation.text import printable
from streamviz.live.presentation.views import TAIL_CHARACTERS, BlockView, StreamView, VerdictView, title_of
from streamviz.records.models import Block, ClientRun, Stream, UpstreamRun, Verdict
from streamviz.records.moments import as_microseconds
from streamviz.records.queries.rows import rows

log = logging.getLogger(__name__)

MOST_RECENT = 20
_ENDINGS: Mapping[int, str] = {}

# Longer than what a sparkline shows, as a run begins before its last chunk.
_SPARK_US = 60_000_000
# The primary key of runs, in the partition of each stream.
_LAST_RUNS = """
SELECT run.stream_id, run.first_at, run.offsets
FROM unnest(%(ids)s::uuid[], %(since)s::bigint[]) AS over (id, since)
JOIN records_upstreamrun AS run ON run.stream_id = over.id AND run.first_at >= over.since
ORDER BY run.stream_id, run.first_seq
"""


def load(stream_id: uuid.UUID) -> Stream:
    """A stream with all that its page shows, in six queries. Raises Stream.DoesNotExist."""
    return (
        Stream.objects.select_related("session", "key")
        .prefetch_related(
            "blocks",
            "verdicts__policy_version__policy",
            Prefetch("upstream_runs", UpstreamRun.objects.defer("lengths", "payload")),
            Prefetch("client_runs", ClientRun.objects.defer("lengths", "payload")),
        )
        .get(pk=stream_id)
    )


def outlines(streams: QuerySet[Stream], most_blocks: int | None = None) -> QuerySet[Stream]:
    """The same streams with what their strips show, in four queries: how long blocks are, but not their text, nor what
    was asked."""
    blocks = Block.objects.defer("text", "signature").annotate(ending=Right("text", TAIL_CHARACTERS))
    if most_blocks is not None:
        blocks = blocks.filter(ordinal__lt=most_blocks)
    return (
        streams.select_related("session", "key")
        .defer("request")
        .prefetch_related(Prefetch("blocks", blocks), "verdicts__policy_version__policy")
    )


def outline_of(stream: Stream, texts: Mapping[int, str] = _ENDINGS, received_at: Sequence[int] = ()) -> StreamView:
    """One of `outlines`, without its tapes: with these texts of its blocks, by ordinal, else with the end of each, and
    with these times of chunks."""
    # The annotation of `outlines`, which the model does not know of.
    found = [texts.get(block.ordinal, vars(block)["ending"]) for block in stream.blocks.all()]
    return _view_of(stream, found, list(received_at), [])


async def load_recent() -> list[StreamView]:
    """The newest streams that are over, for the Live page of a worker that has only just begun; none while Postgres
    cannot answer."""
    try:
        return await sync_to_async(_recent)()
    except DatabaseError as error:
        log.warning("the newest streams of the record cannot be read: %s", error)
        return []


def _recent() -> list[StreamView]:
    newest = Stream.objects.exclude(outcome="").order_by("-requested_at")
    streams = list(outlines(newest)[:MOST_RECENT])
    ends = _last_received_at(streams)
    return [outline_of(stream, received_at=ends[stream.pk]) for stream in streams]


def _last_received_at(streams: Sequence[Stream]) -> dict[uuid.UUID, list[int]]:
    """When the last chunks of each came, for its sparkline."""
    ends = {stream.pk: as_microseconds(stream.ended_at or stream.requested_at) for stream in streams}
    received_at: dict[uuid.UUID, list[int]] = {each: [] for each in ends}
    values = {"ids": list(ends), "since": [end - _SPARK_US for end in ends.values()]}
    for stream_id, first_at, offsets in rows(_LAST_RUNS, values):
        received_at[stream_id] += [first_at + offset for offset in offsets]
    return received_at


def view_of(stream: Stream) -> StreamView:
    """One that `load` gave, as it was recorded."""
    received_at = list(_received_at(stream.upstream_runs.all()))
    passed = list(_passed(stream.client_runs.all()))
    texts = [block.text for block in stream.blocks.all()]
    return replace(_view_of(stream, texts, received_at, passed), made_at=list(_made_at(stream.client_runs.all())))


def _view_of(stream: Stream, texts: list[str], received_at: list[int], passed: list[tuple[int, int]]) -> StreamView:
    started_at = as_microseconds(stream.requested_at)
    names = {block.ordinal: title_of(BlockKind(block.kind), block.name or block.label) for block in stream.blocks.all()}
    verdicts = [_verdict(verdict, names) for verdict in stream.verdicts.all()]
    of_blocks = by_block(verdicts)
    blocks = stream.blocks.all()
    return StreamView(
        id=stream.pk,
        session_id=stream.session_id,
        session_label=stream.session.label,
        session_name=stream.session.name,
        key_name=stream.key.name if stream.key else "",
        endpoint=stream.endpoint,
        wire_format=stream.wire_format,
        requested_model=stream.requested_model,
        upstream_model=stream.upstream_model,
        provider=stream.provider,
        requested_at=started_at,
        upstream_first_at=_optional(stream.upstream_first_at),
        client_first_at=_optional(stream.client_first_at),
        ended_at=_optional(stream.ended_at),
        last_received_at=received_at[-1] if received_at else None,
        outcome=stream.outcome,
        status=stream.status,
        finish_reason=stream.finish_reason,
        error=stream.error,
        tokens=_tokens(stream),
        cost=None if stream.cost is None else float(stream.cost),
        itl_p50=stream.itl_p50_us,
        itl_p95=stream.itl_p95_us,
        chunk_count=stream.chunk_count,
        frame_count=stream.frame_count,
        user_agent=stream.user_agent,
        blocks=[
            _block(stream, block, text, of_blocks.get(block.ordinal, ()))
            for block, text in zip(blocks, texts, strict=True)
        ],
        verdicts=verdicts,
        received_at=received_at,
        passed_seqs=[seq for seq, _ in passed],
        passed_at=[at for _, at in passed],
        not_run=[NotRun(each["policy"], each["version"], Mode(each["mode"]), each["why"]) for each in stream.not_run],
        client_waits=[(since, until) for since, until in stream.client_waits or ()],
        left_out=stream.left_out,
    )


def _tokens(stream: Stream) -> Tokens:
    return Tokens(
        input=stream.input_tokens,
        output=stream.output_tokens,
        cache_read=stream.cache_read_tokens,
        cache_written=stream.cache_written_tokens,
        reasoning=stream.reasoning_tokens,
        is_estimated=stream.is_estimated,
    )


def _optional(moment: datetime | None) -> int | None:
    return None if moment is None else as_microseconds(moment)


def _received_at(runs: Iterable[UpstreamRun]) -> Iterator[int]:
    for run in sorted(runs, key=lambda run: run.first_seq):
        yield from run.times()


def _passed(runs: Iterable[ClientRun]) -> Iterator[tuple[int, int]]:
    for run in sorted(runs, key=lambda run: run.first_frame):
        if run.first_seq is not None:
            yield from enumerate(run.times(), run.first_seq)


def _made_at(runs: Iterable[ClientRun]) -> Iterator[int]:
    for run in sorted(runs, key=lambda run: run.first_frame):
        if run.first_seq is None:
            yield from run.times()


def _verdict(verdict: Verdict, names: dict[int, str]) -> VerdictView:
    return VerdictView(
        number=verdict.number,
        ordinal=verdict.ordinal,
        block_name=verdict.subject if verdict.ordinal is None else names.get(verdict.ordinal, ""),
        policy=verdict.policy_version.policy.name,
        version=verdict.policy_version.number,
        mode=verdict.mode,
        decision=Decision(verdict.decision),
        reason=printable(verdict.reason),
        failure=printable(verdict.failure),
        at=as_microseconds(verdict.at),
        took=verdict.took_us,
        by=verdict.by,
        client_had=verdict.client_had,
        evidence=evidence_text(verdict.evidence, verdict.reason),
    )


def _block(stream: Stream, block: Block, text: str, verdicts: Sequence[VerdictView]) -> BlockView:
    verdict = deciding(verdicts)
    kept = Kept(block.held_at is not None, block.held_at is not None and block.released_at is None, False)
    return BlockView(
        ordinal=block.ordinal,
        kind=BlockKind(block.kind),
        name=block.name or block.label,
        choice=block.choice,
        text=text,
        length=block.length,
        stream_started_at=as_microseconds(stream.requested_at),
        started_at=as_microseconds(block.started_at),
        completed_at=_optional(block.completed_at),
        first_seq=block.first_seq,
        last_seq=block.last_seq,
        state=state_of(kept, verdict, is_running=not stream.outcome, is_complete=block.completed_at is not None),
        held_at=_optional(block.held_at),
        released_at=_optional(block.released_at),
        held_by=tuple(block.held_by),
        is_truncated=block.is_truncated,
        is_stream_over=bool(stream.outcome),
        verdict=verdict,
        upstream_id=block.upstream_id,
    )
