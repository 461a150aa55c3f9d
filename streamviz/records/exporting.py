"""Sessions as lines of JSON, to be read by people, by other programs, and by `importing`.

Each line is an object with one member, which says what it is: `streamviz` (the format's version, first), `session`,
`stream`, and of the stream before it `block`, `verdict`, `chunk` and `frame`. `end` is the last, which a file that was
cut off has not. Times are µs since the epoch. Bytes are text where they are UTF-8, else an object with `base64`.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any
from uuid import UUID

from streamviz.core.json_value import encode
from streamviz.faults import Fault
from streamviz.records.archive.bucket import ObjectAway
from streamviz.records.archive.reading import require_readable
from streamviz.records.columns import bytes_to_line
from streamviz.records.entries import UNKNOWN_POLICY
from streamviz.records.models import Annotation, Block, DeletedSession, Session, Stream, Verdict
from streamviz.records.queries.rows import rows
from streamviz.records.queries.streams import of_sessions, policy_of
from streamviz.records.tables import BLOCK, CLOSED, OPENED, VERDICT
from streamviz.records.tapes import client_runs, upstream_runs

VERSION = 2
# Whether a stream is there, and whether anything is kept of its tapes: asked before and behind each.
_THERE = """
SELECT
    EXISTS (SELECT FROM records_stream WHERE id = %(id)s),
    EXISTS (SELECT FROM records_upstreamrun WHERE stream_id = %(id)s)
    OR EXISTS (SELECT FROM records_clientrun WHERE stream_id = %(id)s)
    OR EXISTS (SELECT FROM records_archivedpart WHERE stream_id = %(id)s)
"""


class DeletedMeanwhile(Fault):
    """A stream was deleted of which something is written already, or its chunks were, or a session is not where it
    was."""


Line = dict[str, Any]
Tell = Callable[[UUID, ObjectAway], None]


def whole(streams: Iterable[Stream]) -> Iterator[Stream]:
    """The same streams, to be written one after another. No transaction is open for as long as somebody downloads:
    raises DeletedMeanwhile behind one of which what was read may not be all."""
    for stream in streams:
        [(_, had_tapes)] = rows(_THERE, {"id": stream.pk})
        yield stream
        [(is_there, has_tapes)] = rows(_THERE, {"id": stream.pk})
        if not is_there:
            raise DeletedMeanwhile(f"the stream {stream.pk} was deleted while it was exported: export the rest again")
        if had_tapes and not has_tapes:
            raise DeletedMeanwhile(f"the chunks of the stream {stream.pk} were dropped while it was exported")


def export(session_ids: Iterable[UUID], tell: Tell | None = None) -> Iterator[bytes]:
    """The lines of these sessions, each with its line end. Streams that still run are left out, and so are sessions
    that were deleted meanwhile. Raises DeletedMeanwhile and ChunksAway, and ends without `end` then. Where an object of
    the archive cannot be had, `tell` is told, and that stream is without its tapes."""
    yield _line("streamviz", {"version": VERSION})
    for session_id in session_ids:
        if (session := Session.objects.filter(pk=session_id).first()) is None:
            _require_deleted(session_id)
            continue
        yield _session(session)
        streams = of_sessions([session]).exclude(outcome="").select_related("key").order_by("requested_at", "id")
        for stream in whole(streams.iterator(chunk_size=1)):  # requests may be of many MB
            yield from _stream(stream, has_tapes=tell is None or _has_tapes(stream.pk, tell))
    yield _line("end", {})


def export_streams(streams: Iterable[Stream]) -> Iterator[bytes]:
    """The lines of these streams, each with its line end; a session is told of before those of its streams that follow
    one another. Raises DeletedMeanwhile, and ends without `end` then."""
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
    """Whether all that is archived of its tapes can be read. Asked first, so that no part of them is written alone."""
    try:
        require_readable(stream_id, all_of_it=True)
    except ObjectAway as error:
        tell(stream_id, error)
        return False
    return True


def _stream(stream: Stream, *, has_tapes: bool = True) -> Iterator[bytes]:
    key = stream.key.name if stream.key else None
    yield _line("stream", {"id": stream.pk, "key": key} | OPENED.line(stream) | CLOSED.line(stream) | _kept(stream))
    for block in Block.objects.filter(stream=stream):
        yield _line("block", BLOCK.line(block))
    for verdict in Verdict.objects.filter(stream=stream).prefetch_related("policy_version__policy"):
        yield _line("verdict", VERDICT.line(verdict) | {"policy": _policy(verdict)})
    if has_tapes:
        yield from _tapes(stream)


def _policy(verdict: Verdict) -> Line | None:
    """The policy as it was; None where it is not on record."""
    if (known := policy_of(verdict)) is UNKNOWN_POLICY:
        return None
    name, number = known
    return {"name": name, "number": number, **verdict.policy_version.fields()}


def _tapes(stream: Stream) -> Iterator[bytes]:
    for upstream in upstream_runs(stream.pk):
        for chunk in upstream.chunks():
            raw: Line = {"length": chunk.length} if chunk.raw is None else {"raw": bytes_to_line(chunk.raw)}
            yield _line("chunk", {"seq": chunk.seq, "received_at": chunk.received_at, **raw})
    for client in client_runs(stream.pk):
        for frame in client.frames():
            made: Line = (
                {"seq": frame.seq}
                if frame.seq is not None
                else {"origin": frame.origin, "raw": bytes_to_line(frame.made)}
            )
            yield _line("frame", {"number": frame.number, "sent_at": frame.sent_at, **made})


def _require_deleted(session_id: UUID) -> None:
    """One that is gone may have become a part of another, whose turn is over."""
    if not DeletedSession.objects.filter(pk=session_id).exists():
        raise DeletedMeanwhile(f"the session {session_id} was moved or dropped while it was exported: export it again")


def _kept(stream: Stream) -> Line:
    """What people keep with it."""
    kept = Annotation.objects.filter(stream=stream).values("is_starred", "note", "labels").first()
    return {"annotation": kept} if kept else {}


def _line(what: str, value: Line) -> bytes:
    return encode({what: value}) + b"\n"
