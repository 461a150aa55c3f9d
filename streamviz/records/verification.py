"""Check the record for consistency, stream by stream."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple
from uuid import UUID

from streamviz.core.blocks import StreamBlock
from streamviz.core.verdicts import Decision, Mode
from streamviz.core.wire import AGGREGATORS
from streamviz.records.aggregation import aggregate
from streamviz.records.archive.bucket import ObjectAway
from streamviz.records.block_record import BlockRecord
from streamviz.records.entries import UNKNOWN_POLICY
from streamviz.records.journal.journal import INCOMPLETE
from streamviz.records.models import Block, Outcome, RetentionRun, Stream, Verdict
from streamviz.records.partitions import RUNS, STREAMS
from streamviz.records.queries.rows import rows
from streamviz.records.queries.streams import policy_of
from streamviz.records.runs import StoredChunk, StoredFrame
from streamviz.records.tables import BLOCK
from streamviz.records.tapes import client_runs_of, upstream_runs_of
from streamviz.records.writer.pending import NO_WORKER

AT_ONCE = 100
# Fewer streams at once if they are long, because everything recorded of them is in memory.
CHUNKS_AT_ONCE = 20_000
# What is read along with each stream.
_BESIDE = ("blocks", "verdicts__policy_version__policy")
# No stream is expected to run for longer, by the servers' clock, which also says when it was requested.
_LONGEST = timedelta(days=1)
# Fields of a block that its chunks do not determine, or that `_numbers` has checked.
_OF_THE_RELAY = {"ordinal", "completed_at", "held_at", "released_at", "held_by"}
# Fields of a block that are right even if its stream broke off; of the text, as much as there is.
_OF_A_BEGINNING = {"kind", "choice", "first_seq", "started_at", "text"}
# Retention drops streams before what belongs to them, oldest first, so rows older than every partition of streams are
# about to go.
_WITHOUT_STREAM = """
SELECT DISTINCT stream_id FROM {table} AS run
WHERE NOT EXISTS (SELECT FROM records_stream WHERE id = run.stream_id)
AND tableoid NOT IN (
    SELECT coalesce(to_regclass(child)::oid, 0) FROM streamviz_partitions('{table}')
    WHERE behind <= (SELECT min(first) FROM streamviz_partitions('records_stream'))
)
"""
# The stored totals minus the streams' own; in one statement, so that nothing is stored in between.
_WRONG_SUMS = """
SELECT DISTINCT requested_at FROM (
    SELECT requested_at FROM (
        SELECT requested_at, requested_model, provider, key_id, outcome, streams, input_tokens, output_tokens, cost,
            reported_input, reported, priced, cached_tokens, estimated
        FROM records_halfhour
        UNION ALL
        SELECT streamviz_half_hour(requested_at), requested_model, provider, key_id, outcome, -1,
            -coalesce(input_tokens, 0), -coalesce(output_tokens, 0), -coalesce(cost, 0),
            -num_nonnulls(input_tokens), -num_nonnulls(output_tokens), -num_nonnulls(cost),
            -coalesce(cache_read_tokens, 0), -is_estimated::int
        FROM records_stream WHERE outcome <> ''
    ) AS entry
    GROUP BY requested_at, requested_model, provider, key_id, outcome
    HAVING (sum(streams), sum(input_tokens), sum(output_tokens), sum(cost)) <> (0, 0, 0, 0)
        OR (sum(reported_input), sum(reported), sum(priced)) <> (0, 0, 0)
        OR (sum(cached_tokens), sum(estimated)) <> (0, 0)
) AS wrong ORDER BY requested_at
"""


class Damage(NamedTuple):
    """Something that cannot be so in an intact record."""

    stream_id: UUID
    what: str


class Recorded(NamedTuple):
    """A stream with everything that is checked of it."""

    stream: Stream
    chunks: list[StoredChunk]
    frames: list[StoredFrame]
    blocks: list[Block]
    verdicts: list[Verdict]


def verify(since: datetime | None = None) -> Iterator[list[Damage]]:
    """The damage in streams that have ended and were requested from `since` on; a list for each stream.

    Raises ChunksAway while the archive does not respond. An object of the archive that is unavailable counts as damage.
    """
    found = Stream.objects.exclude(outcome="").order_by("requested_at", "id").defer("request")
    if since:
        found = found.filter(requested_at__gte=since)
    for some in _several(found.prefetch_related(*_BESIDE).iterator(chunk_size=AT_ONCE)):
        for stream, wrong in _looked_at(some):
            yield [Damage(stream.pk, what) for what in wrong and _seen_again(stream)]


def _several(streams: Iterable[Stream]) -> Iterator[list[Stream]]:
    """Group the streams into those that are read at once."""
    some: list[Stream] = []
    chunks = 0
    for stream in streams:
        if some and (len(some) == AT_ONCE or chunks + stream.chunk_count > CHUNKS_AT_ONCE):
            yield some
            some, chunks = [], 0
        some.append(stream)
        chunks += stream.chunk_count
    if some:
        yield some


def _seen_again(stream: Stream) -> list[str]:
    """What is wrong with the stream at a second look. The first look is not of one moment: what is deleted or dropped
    meanwhile may still be in the cursor, or in part of what was read."""
    again = Stream.objects.exclude(outcome="").filter(pk=stream.pk).prefetch_related(*_BESIDE)
    return [what for _, wrong in _looked_at(list(again)) for what in wrong]


def strays() -> Iterator[Damage]:
    """Rows that belong to no stream, and streams that nobody runs and nobody has closed."""
    for table in (*RUNS, "records_archivedpart", *STREAMS):
        for (stream_id,) in rows(_WITHOUT_STREAM.format(table=table)) if table != "records_stream" else ():
            yield Damage(stream_id, f"there is no such stream, but it has rows in {table}")
    for (stream_id,) in rows(
        "SELECT id FROM records_stream AS stream"
        " WHERE NOT EXISTS (SELECT FROM records_session WHERE id = stream.session_id)"
    ):
        yield Damage(stream_id, "there is no such session")
    for (stream_id,) in rows(
        "SELECT id FROM records_stream WHERE outcome = '' AND requested_at < %(then)s",
        {"then": datetime.now(UTC) - _LONGEST},
    ):
        yield Damage(stream_id, "it has been open for more than a day")


def wrong_sums() -> Iterator[datetime]:
    """The half hours whose totals differ from the streams requested in them."""
    return (at for (at,) in rows(_WRONG_SUMS))


def _looked_at(streams: Sequence[Stream]) -> Iterator[tuple[Stream, list[str]]]:
    """Each stream, with what is wrong with it."""
    try:
        for recorded in _recorded(streams):
            yield recorded.stream, list(damages(recorded))
    except ObjectAway as error:
        if len(streams) == 1:
            yield streams[0], [f"its chunks cannot be read: {error}"]
        else:
            yield from (found for stream in streams for found in _looked_at([stream]))


def _recorded(streams: Sequence[Stream]) -> list[Recorded]:
    ids = [stream.pk for stream in streams]
    chunks: dict[UUID, list[StoredChunk]] = defaultdict(list)
    frames: dict[UUID, list[StoredFrame]] = defaultdict(list)
    for run in upstream_runs_of(ids):
        chunks[run.stream_id] += run.chunks()
    for sent in client_runs_of(ids):
        frames[sent.stream_id] += sent.frames()
    return [
        Recorded(each, chunks[each.pk], frames[each.pk], list(each.blocks.all()), list(each.verdicts.all()))
        for each in streams
    ]


def damages(recorded: Recorded) -> Iterator[str]:
    """What is wrong with a stream, as clauses. Chunks that retention has dropped are not reported as missing."""
    stream = recorded.stream
    yield from _numbers("block", [block.ordinal for block in recorded.blocks], stream.block_count)
    yield from _numbers("verdict", [verdict.number for verdict in recorded.verdicts], len(recorded.verdicts))
    if stream.error.startswith(INCOMPLETE) or not (recorded.chunks or recorded.frames or is_recent(stream)):
        return
    yield from _numbers("chunk", [chunk.seq for chunk in recorded.chunks], stream.chunk_count)
    yield from _numbers("frame", [frame.number for frame in recorded.frames], stream.frame_count)
    yield from _times(recorded)
    yield from _tapes(recorded)
    yield from _verdicts(recorded)
    if all(chunk.raw is not None for chunk in recorded.chunks):
        yield from _blocks(recorded)


def is_recent(stream: Stream) -> bool:
    """Whether its chunks, if it had any, are still in a day's partition. A dropped day may have been created again for
    a stream that came late. Imported streams may have come without chunks."""
    if stream.worker == NO_WORKER:
        return False
    day = stream.requested_at.astimezone(UTC).date()
    there = rows("SELECT to_regclass(%(name)s) IS NOT NULL", {"name": f"records_upstreamrun_{day:%Y%m%d}"})[0][0]
    return there is True and not RetentionRun.objects.filter(freed__contains=[{"what": f"day {day}"}]).exists()


def _numbers(what: str, numbers: Sequence[int], count: int) -> Iterator[str]:
    """Check that numbers run from 0, each once, and that there are as many as were counted."""
    wrong = next((n for n, number in enumerate(numbers) if n != number), None)
    if wrong is not None:
        yield f"{what} {wrong} is missing or appears twice"
    if len(numbers) != count:
        yield f"there are {len(numbers)} {what}s, and {count} were counted"


def _times(recorded: Recorded) -> Iterator[str]:
    if any(after.received_at < before.received_at for before, after in pairwise(recorded.chunks)):
        yield "a chunk was received before the one before it"
    if any(after.sent_at < before.sent_at for before, after in pairwise(recorded.frames)):
        yield "a frame was sent before the one before it"


def _tapes(recorded: Recorded) -> Iterator[str]:
    """Check that the chunks on the client tape are upstream's, in order, each once, and not sent before they came."""
    received = {chunk.seq: chunk.received_at for chunk in recorded.chunks}
    sent = [(frame.seq, frame.sent_at) for frame in recorded.frames if frame.seq is not None]
    if any(later[0] <= earlier[0] for earlier, later in pairwise(sent)):
        yield "a chunk was sent twice or out of its order"
    for seq, sent_at in sent:
        if seq not in received:
            yield f"chunk {seq} was sent and is not on the upstream tape"
        elif sent_at < received[seq]:
            yield f"chunk {seq} was sent before it came"


def _verdicts(recorded: Recorded) -> Iterator[str]:
    """Check that what was denied before the client had any of it was not sent, and that the denying policy is known."""
    sent = {frame.seq for frame in recorded.frames}
    blocks = {block.ordinal: block for block in recorded.blocks}
    for verdict in recorded.verdicts:
        if policy_of(verdict) is UNKNOWN_POLICY:
            yield f"verdict {verdict.number} is of a policy that is not on record"
        if verdict.ordinal is None:
            continue
        block = blocks.get(verdict.ordinal)
        if block is None:
            yield f"verdict {verdict.number} is about block {verdict.ordinal}, which does not exist"
        elif (
            _withholds(verdict) and block.held_at is not None and not sent.isdisjoint((block.first_seq, block.last_seq))
        ):
            yield f"block {block.ordinal} was denied by verdict {verdict.number} and sent"


def _withholds(verdict: Verdict) -> bool:
    is_denial = verdict.decision in (Decision.DENY.value, Decision.HALT.value)
    return is_denial and verdict.mode == Mode.ENFORCE.value and not verdict.client_had


def _blocks(recorded: Recorded) -> Iterator[str]:
    """Check that stored blocks are what the chunks add up to, read as they are with or without policies."""
    wire_format = recorded.stream.wire_format
    if wire_format not in AGGREGATORS:
        yield f"{wire_format} is a wire format unknown to this version: its blocks cannot be checked"
        return
    wrong = list(_differing(recorded, aggregate(wire_format, recorded.chunks).blocks))
    if wrong and any(_differing(recorded, aggregate(wire_format, recorded.chunks, leave_out=True).blocks)):
        yield from wrong


def _differing(recorded: Recorded, fresh: Sequence[StreamBlock]) -> Iterator[str]:
    """How stored blocks differ from these; if the stream broke off, from the beginning of these."""
    is_whole = recorded.stream.outcome == Outcome.COMPLETED
    if is_whole and len(fresh) != len(recorded.blocks):
        yield f"the chunks add up to {len(fresh)} blocks, and {len(recorded.blocks)} are stored"
    elif len(fresh) < len(recorded.blocks):
        yield f"blocks stored: {len(recorded.blocks)}, but the chunks add up to {len(fresh)}"
    for block, again in zip(recorded.blocks, fresh, strict=False):
        if different := _differences(block, again, is_whole):
            yield f"block {block.ordinal} is not what its chunks add up to: {', '.join(different)}"


def _differences(block: Block, again: StreamBlock, is_whole: bool) -> list[str]:
    wanted = BLOCK.values(BlockRecord.of(again))
    compared = wanted.keys() - _OF_THE_RELAY if is_whole else _OF_A_BEGINNING
    if not is_whole:
        wanted["text"] = str(wanted["text"])[: len(block.text)]
    return [name for name, value in wanted.items() if name in compared and getattr(block, name) != value]
