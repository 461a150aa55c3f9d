"""Export sessions as lines of JSON, for people, for other programs, and for `importing`.

Each line is an object with one member, whose name says what it is: `streamviz` (the format's version, first),
`session`, `stream`, and for the stream before it `block`, `verdict`, `chunk` and `frame`. `end` is the last line, which
is missing if the file was cut off. Times are µs since the epoch. Bytes are text if they are UTF-8, otherwise an object
with `base64`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db.models import Prefetch, QuerySet

from streamviz.core.json_value import encode
from streamviz.faults import Fault
from streamviz.records.archive.bucket import ObjectAway
from streamviz.records.archive.reading import require_readable
from streamviz.records.columns import bytes_to_line
from streamviz.records.entries import UNKNOWN_POLICY
from streamviz.records.models import Annotation, ClientRun, DeletedSession, Session, Stream, UpstreamRun, Verdict
from streamviz.records.queries.rows import rows
from streamviz.records.queries.streams import of_sessions, policy_of, verdicts_of
from streamviz.records.tables import BLOCK, CLOSED, OPENED, VERDICT
from streamviz.records.tapes import client_tape, upstream_tape

VERSION = 2
# Short streams are read together: at most this many, with at most this many bytes in all.
TOGETHER = 50
BYTES_TOGETHER = 512 * 1024
# What is read along with them.
_BELONGING = (
    *("blocks", "verdicts__policy_version__policy", "annotation"),
    Prefetch("upstream_runs", UpstreamRun.objects.order_by("first_seq")),
    Prefetch("client_runs", ClientRun.objects.order_by("first_frame")),
)
# Which of these streams exist, and whether anything of their tapes is kept; queried before and after they are read.
# Each table is given the ids, or Postgres would read all of its partitions.
_THERE = """
SELECT id, id IN (SELECT stream_id FROM records_upstreamrun WHERE stream_id = ANY(%(ids)s))
    OR id IN (SELECT stream_id FROM records_clientrun WHERE stream_id = ANY(%(ids)s))
    OR id IN (SELECT stream_id FROM records_archivedpart WHERE stream_id = ANY(%(ids)s))
FROM records_stream WHERE id = ANY(%(ids)s)
"""
# Roughly how much memory streams take with all that belongs to them, computed without reading them. Archived streams
# count as long.
_SIZES = """
SELECT stream.id, CASE
    WHEN stream.id IN (SELECT stream_id FROM records_archivedpart WHERE stream_id = ANY(%(ids)s))
    THEN %(long)s
    ELSE length(request) + 200 * (chunk_count::bigint + frame_count + block_count)
        + coalesce(said.size, 0) + coalesce(received.size, 0) + coalesce(sent.size, 0)
END
FROM records_stream AS stream
LEFT JOIN (
    SELECT stream_id, sum(octet_length(text)) AS size FROM records_block WHERE stream_id = ANY(%(ids)s) GROUP BY 1
) AS said ON said.stream_id = stream.id
LEFT JOIN (
    SELECT stream_id, sum(octet_length(payload)) AS size FROM records_upstreamrun
    WHERE stream_id = ANY(%(ids)s) GROUP BY 1
) AS received ON received.stream_id = stream.id
LEFT JOIN (
    SELECT stream_id, sum(octet_length(payload)) AS size FROM records_clientrun
    WHERE stream_id = ANY(%(ids)s) GROUP BY 1
) AS sent ON sent.stream_id = stream.id
WHERE stream.id = ANY(%(ids)s) AND outcome <> ''
"""


class DeletedMeanwhile(Fault):
    """A stream that is partly written was deleted, or its chunks were, or a session is no longer where it was."""


Line = dict[str, Any]
Tell = Callable[[UUID, ObjectAway], None]


def whole(streams: Iterable[Stream]) -> Iterator[Stream]:
    """The same streams, to be written one after another. No transaction is held open while somebody downloads, so this
    raises DeletedMeanwhile after a stream that may not have been read in full."""
    for stream in streams:
        if stream.is_read:  # whoever read it checks that
            yield stream
        else:
            with _whole([stream.pk]):
                yield stream


def by_turns(ids: Sequence[UUID]) -> Iterator[Stream]:
    """The streams among these that have ended, in this order: short ones are read together with all that belongs to
    them, a long one by itself, without. Raises DeletedMeanwhile as above."""
    for at in range(0, len(ids), TOGETHER):
        several = ids[at : at + TOGETHER]
        sizes = dict(rows(_SIZES, {"ids": list(several), "long": BYTES_TOGETHER + 1}))
        for some in _together([(each, sizes[each]) for each in several if each in sizes]):
            yield from _read(some) if sizes[some[0]] <= BYTES_TOGETHER else _over(some)


def _together(sizes: Iterable[tuple[UUID, int]]) -> Iterator[list[UUID]]:
    """Group ids by size; a long stream is a group of its own."""
    some: list[UUID] = []
    together = 0
    for each, size in sizes:
        if some and together + size > BYTES_TOGETHER:
            yield some
            some, together = [], 0
        some.append(each)
        together += size
    if some:
        yield some


def _over(ids: Sequence[UUID]) -> QuerySet[Stream]:
    return Stream.objects.exclude(outcome="").select_related("session", "key").filter(pk__in=ids)


def _read(ids: Sequence[UUID]) -> Iterator[Stream]:
    with _whole(ids) as had_tapes:
        found = {stream.pk: stream for stream in _over(ids).prefetch_related(*_BELONGING)}
        for each in filter(None, map(found.get, ids)):
            each.is_read = _has_its_tapes(each) or not had_tapes.get(each.pk)
            yield each
            _let_go(each)


def _has_its_tapes(stream: Stream) -> bool:
    """Whether its tapes were read with it: by then they may have moved to the archive."""
    has_chunks, has_frames = bool(stream.upstream_runs.all()), bool(stream.client_runs.all())
    return (has_chunks, has_frames) == (bool(stream.chunk_count), bool(stream.frame_count))


def _let_go(stream: Stream) -> None:
    """Drop what was read with a stream. It refers back to the stream, and both would stay in memory until Python
    collects such cycles. A caller that writes the stream only afterwards reads it again."""
    stream.is_read = False
    vars(stream).pop("_prefetched_objects_cache", None)
    stream._state.fields_cache.pop("annotation", None)


@contextmanager
def _whole(ids: Sequence[UUID]) -> Iterator[Mapping[UUID, bool]]:
    """Guard the reading and writing of these streams; yields which of them exist, and whether they have tapes. Raises
    DeletedMeanwhile at the end if what was read may be incomplete."""
    before: dict[UUID, bool] = dict(rows(_THERE, {"ids": list(ids)}))
    yield before
    after: dict[UUID, bool] = dict(rows(_THERE, {"ids": list(ids)}))
    for stream_id, had_tapes in before.items():
        if stream_id not in after:
            raise DeletedMeanwhile(f"the stream {stream_id} was deleted while it was exported: export the rest again")
        if had_tapes and not after[stream_id]:
            raise DeletedMeanwhile(f"the chunks of the stream {stream_id} were dropped while it was exported")


def export(session_ids: Iterable[UUID], tell: Tell | None = None) -> Iterator[bytes]:
    """The lines of these sessions, each with its newline. Streams that are still running are left out, and so are
    sessions that were deleted meanwhile. Raises DeletedMeanwhile and ChunksAway, and then there is no `end` line. If an
    object of the archive is unavailable, `tell` is called, and that stream is exported without its tapes."""
    yield _line("streamviz", {"version": VERSION})
    for session_id in session_ids:
        if (session := Session.objects.filter(pk=session_id).first()) is None:
            _require_deleted(session_id)
            continue
        yield _session(session)
        streams = of_sessions([session]).exclude(outcome="").order_by("requested_at", "id")
        for stream in whole(by_turns(list(streams.values_list("pk", flat=True)))):
            yield from _stream(stream, has_tapes=tell is None or stream.is_read or _has_tapes(stream.pk, tell))
    yield _line("end", {})


def export_streams(streams: Iterable[Stream]) -> Iterator[bytes]:
    """The lines of these streams, each with its newline; a session's line comes before each sequence of its streams.
    Raises DeletedMeanwhile, and then there is no `end` line."""
    yield _line("streamviz", {"version": VERSION})
    told = None
    for stream in whole(streams):
        if stream.session_id != told:
            told = stream.session_id
            yield _session(stream.session)
        yield from _stream(stream)
    yield _line("end", {})


def _session(session: Session) -> bytes:
    return _line("session", {name: getattr(session, name) for name in ("id", "label", "name", "is_starred", "note")})


def _has_tapes(stream_id: UUID, tell: Tell) -> bool:
    """Whether all that is archived of its tapes can be read; checked first, so that no tape is written in part."""
    try:
        require_readable(stream_id, all_of_it=True)
    except ObjectAway as error:
        tell(stream_id, error)
        return False
    return True


def _stream(stream: Stream, *, has_tapes: bool = True) -> Iterator[bytes]:
    key = stream.key.name if stream.key else None
    yield _line("stream", {"id": stream.pk, "key": key} | OPENED.line(stream) | CLOSED.line(stream) | _kept(stream))
    for block in stream.blocks.all():
        yield _line("block", BLOCK.line(block))
    for verdict in verdicts_of(stream):
        yield _line("verdict", VERDICT.line(verdict) | {"policy": _policy(verdict)})
    if has_tapes:
        yield from _tapes(stream)


def _policy(verdict: Verdict) -> Line | None:
    """The policy as it was; None if it is not on record."""
    if (known := policy_of(verdict)) is UNKNOWN_POLICY:
        return None
    name, number = known
    return {"name": name, "number": number, **verdict.policy_version.fields()}


def _tapes(stream: Stream) -> Iterator[bytes]:
    for upstream in upstream_tape(stream):
        for chunk in upstream.chunks():
            raw: Line = {"length": chunk.length} if chunk.raw is None else {"raw": bytes_to_line(chunk.raw)}
            yield _line("chunk", {"seq": chunk.seq, "received_at": chunk.received_at, **raw})
    for client in client_tape(stream):
        for frame in client.frames():
            made: Line = (
                {"seq": frame.seq}
                if frame.seq is not None
                else {"origin": frame.origin, "raw": bytes_to_line(frame.made)}
            )
            yield _line("frame", {"number": frame.number, "sent_at": frame.sent_at, **made})


def _require_deleted(session_id: UUID) -> None:
    """Raise DeletedMeanwhile unless the session was deleted: it may now be part of another that is already written."""
    if not DeletedSession.objects.filter(pk=session_id).exists():
        raise DeletedMeanwhile(f"the session {session_id} was moved or dropped while it was exported: export it again")


def _kept(stream: Stream) -> Line:
    """What people added to the stream."""
    try:
        kept = stream.annotation
    except Annotation.DoesNotExist:
        return {}
    return {"annotation": {"is_starred": kept.is_starred, "note": kept.note, "labels": kept.labels}}


def _line(what: str, value: Line) -> bytes:
    return encode({what: value}) + b"\n"
