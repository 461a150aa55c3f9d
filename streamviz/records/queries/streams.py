"""Recorded streams as pages show them: each as the entries that it was stored from."""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence

from django.db.models import Prefetch, Q, QuerySet
from django.db.models.functions import Right

from streamviz.core.verdicts import Decision
from streamviz.records.archive import reading
from streamviz.records.block_record import BlockRecord
from streamviz.records.entries import NO_TIMES, UNKNOWN_POLICY, Given, StreamEntries, Times
from streamviz.records.ids import ALL, Span
from streamviz.records.models import Block, DeletedStream, PolicyVersion, Session, Stream, Verdict
from streamviz.records.moments import as_microseconds
from streamviz.records.queries.rows import long_rows, rows
from streamviz.records.recorder import StreamClosed, StreamOpened
from streamviz.records.tables import BLOCK, CLOSED, OPENED, VERDICT
from streamviz.records.verdict_record import VerdictRecord

# Longer than a sparkline shows, because a run begins before its last chunk.
_SPARK_US = 60_000_000
# The primary key of runs, in the partition of each stream.
_LAST_RUNS = """
SELECT run.stream_id, run.first_at, run.offsets
FROM unnest(%(ids)s::uuid[], %(since)s::bigint[]) AS over (id, since)
JOIN records_upstreamrun AS run ON run.stream_id = over.id AND run.first_at >= over.since
ORDER BY run.stream_id, run.first_seq
"""
# The same for one stream.
_RECEIVED = "SELECT first_at, offsets FROM records_upstreamrun WHERE stream_id = %(id)s ORDER BY first_seq"
_HANDED_ON = "SELECT first_at, offsets, first_seq FROM records_clientrun WHERE stream_id = %(id)s ORDER BY first_frame"

_REQUESTS = "SELECT id, wire_format, request FROM records_stream WHERE id = ANY(%(ids)s)"

# The fields left out are expensive to read, or come from elsewhere.
_opened = OPENED.reader("request")
_closed = CLOSED.reader("blocks", "usage", "ended_at")
_block = BLOCK.reader("text", "signature")
_verdict = VERDICT.reader()


def of_sessions(sessions: Collection[Session]) -> QuerySet[Stream]:
    """The streams of these sessions, read only from the partitions of their times."""
    span = span_of(sessions)
    ids = [session.pk for session in sessions]
    return Stream.objects.filter(session__in=ids, pk__gte=span.first, pk__lte=span.last)


def span_of(sessions: Collection[Session]) -> Span:
    """The range of ids that the streams of these sessions are in."""
    spans = [session.span for session in sessions] or [ALL]
    return Span(min(span.first for span in spans), max(span.last for span in spans))


def load(stream_id: uuid.UUID) -> Stream:
    """A stream with everything that its pages show except its tapes, in five queries. Raises Stream.DoesNotExist."""
    streams = Stream.objects.select_related("session", "key")
    return streams.prefetch_related("blocks", "verdicts__policy_version__policy").get(pk=stream_id)


def shortened(streams: QuerySet[Stream], ending: int, most_blocks: int | None = None) -> QuerySet[Stream]:
    """The same streams with what their strips show, in four queries: the length of each block and the last `ending`
    characters of it, but neither its full text nor the request. With `most_blocks`, later blocks are left out, and so
    are verdicts that only allowed them."""
    blocks = Block.objects.defer("text", "signature").annotate(ending=Right("text", ending))
    verdicts = Verdict.objects.prefetch_related("policy_version__policy")
    if most_blocks is not None:
        blocks = blocks.filter(ordinal__lt=most_blocks)
        verdicts = verdicts.exclude(only_allowed(), ordinal__gte=most_blocks)
    return (
        streams.select_related("session", "key")
        .defer("request")
        .prefetch_related(Prefetch("blocks", blocks), Prefetch("verdicts", verdicts))
    )


def only_allowed() -> Q:
    """Verdicts that are only counted, not shown."""
    return Q(decision=Decision.ALLOW.value, by="", failure="")


def entries_of(stream: Stream, *, has_times: bool = True) -> StreamEntries:
    """The entries of a stream from `load`, with the times of its chunks and frames, in two more queries, unless it has
    ended and nobody needs the times. Raises ChunksAway if they are in the archive and cannot be read there."""
    times = NO_TIMES if stream.outcome and not has_times else _times(stream.pk)
    return _entries(stream, [block.text for block in stream.blocks.all()], times)


def short_entries_of(
    stream: Stream, texts: Mapping[int, str] | None = None, received_at: Sequence[int] = ()
) -> StreamEntries:
    """The entries of a stream from `shortened`, without its tapes: with these texts of its blocks, by ordinal, or else
    the end of each, and with these times of chunks."""
    told = texts or {}
    # The annotation of `shortened`, which is unknown to the model.
    found = [told.get(block.ordinal, vars(block)["ending"]) for block in stream.blocks.all()]
    return _entries(stream, found, Times(received_at))


def requests_of(ids: Iterable[uuid.UUID]) -> list[tuple[uuid.UUID, str, bytes]]:
    """The requests of these streams, each with the id and wire format, in any order; empty if not kept."""
    found: list[tuple[uuid.UUID, str, bytes]] = long_rows(_REQUESTS, {"ids": list(ids)})
    return found


def newest(most: int, ending: int) -> list[StreamEntries]:
    """Short entries of the newest streams that have ended, with the times of their last chunks."""
    streams = list(shortened(Stream.objects.exclude(outcome="").order_by("-requested_at"), ending)[:most])
    ends = _last_received_at(streams)
    return [short_entries_of(stream, received_at=ends[stream.pk]) for stream in streams]


def deleted(stream_ids: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """Which of these streams were deleted."""
    return set(DeletedStream.objects.filter(pk__in=stream_ids).values_list("pk", flat=True))


def _last_received_at(streams: Sequence[Stream]) -> dict[uuid.UUID, list[int]]:
    """When the last chunks of each stream came, for its sparkline."""
    ends = {stream.pk: as_microseconds(stream.ended_at or stream.requested_at) for stream in streams}
    received_at: dict[uuid.UUID, list[int]] = {each: [] for each in ends}
    values = {"ids": list(ends), "since": [end - _SPARK_US for end in ends.values()]}
    for stream_id, first_at, offsets in rows(_LAST_RUNS, values):
        received_at[stream_id] += [first_at + offset for offset in offsets]
    return received_at


def _times(stream_id: uuid.UUID) -> Times:
    received = long_rows(_RECEIVED, {"id": stream_id})
    handed_on = long_rows(_HANDED_ON, {"id": stream_id})
    if not (received or handed_on):
        received, handed_on = _archived_times(stream_id)
    received_at = [first_at + offset for first_at, offsets in received for offset in offsets]
    passed_seqs: list[int] = []
    passed_at: list[int] = []
    made_at: list[int] = []
    for first_at, offsets, first_seq in handed_on:
        (made_at if first_seq is None else passed_at).extend([first_at + offset for offset in offsets])
        passed_seqs += () if first_seq is None else range(first_seq, first_seq + len(offsets))
    return Times(received_at, passed_seqs, passed_at, made_at)


def _archived_times(
    stream_id: uuid.UUID,
) -> tuple[list[tuple[int, list[int]]], list[tuple[int, list[int], int | None]]]:
    """The same columns from the archive. Raises ChunksAway."""
    received = [(run.first_at, run.offsets) for run in reading.upstream_runs(stream_id)]
    return received, [(run.first_at, run.offsets, run.first_seq) for run in reading.client_runs(stream_id)]


def _entries(stream: Stream, texts: Sequence[str], times: Times) -> StreamEntries:
    opened = StreamOpened(
        stream_id=stream.pk,
        session_label=stream.session.label,
        session_name=stream.session.name,
        request=b"",
        **_opened(stream),
    )
    closed = StreamClosed(
        stream_id=stream.pk,
        blocks=[
            BlockRecord(text=text, signature="", **_block(block))
            for block, text in zip(stream.blocks.all(), texts, strict=True)
        ],
        usage=None,
        ended_at=as_microseconds(stream.ended_at or stream.requested_at),
        **_closed(stream),
    )
    verdicts = [Given(VerdictRecord(**_verdict(each)), *policy_of(each)) for each in stream.verdicts.all()]
    times = times._replace(client_waits=closed.client_waits or ())
    last_received_at = times.received_at[-1] if times.received_at else None
    key_name = stream.key.name if stream.key else ""
    return StreamEntries(opened, closed, verdicts, key_name, last_received_at, times)


def verdicts_of(stream: Stream) -> QuerySet[Verdict]:
    """A stream's verdicts with their policies, which may already have been read with it."""
    found = stream.verdicts.all()
    return found if stream.is_read else found.prefetch_related("policy_version__policy")


def policy_of(verdict: Verdict) -> tuple[str, int]:
    """The name and version of the policy that gave the verdict."""
    try:
        version = verdict.policy_version
    except PolicyVersion.DoesNotExist:
        return UNKNOWN_POLICY
    return version.policy.name, version.number
