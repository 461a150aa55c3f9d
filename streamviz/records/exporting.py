"""Sessions as lines of JSON, to be read by people, by other programs, and by `importing`.

Each line is an object with one member, which says what it is: `streamviz` (the format's version, first), `session`,
`stream`, and of the stream before it `block`, `verdict`, `chunk` and `frame`. `end` is the last, which a file that was
cut off has not. Times are µs since the epoch. Bytes are text where they are UTF-8, else an object with `base64`.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from streamviz.core.json_value import encode
from streamviz.records.models import Block, ClientRun, Session, Stream, UpstreamRun, Verdict
from streamviz.records.moments import as_microseconds

VERSION = 2

STREAM_FIELDS = (
    *("client", "user_agent", "endpoint", "wire_format", "is_streaming", "requested_model", "upstream_model"),
    *("provider", "outcome", "finish_reason", "status", "error", "usage", "input_tokens", "output_tokens"),
    *("chunk_count", "frame_count", "itl_p50_us", "itl_p95_us", "not_run"),
    "client_waits",
)
STREAM_TIMES = ("requested_at", "upstream_first_at", "client_first_at", "ended_at")
BLOCK_FIELDS = (
    *("ordinal", "kind", "choice", "index", "upstream_id", "name", "label", "text", "length", "signature"),
    *("first_seq", "last_seq", "held_by", "is_truncated"),
)
BLOCK_TIMES = ("started_at", "completed_at", "held_at", "released_at")
VERDICT_FIELDS = (
    *("number", "ordinal", "mode", "decision", "reason", "failure", "took_us", "subject", "evidence", "by"),
    "client_had",
)

Line = dict[str, Any]


def export(session_ids: Iterable[UUID]) -> Iterator[bytes]:
    """The lines of these sessions, each with its line end. Streams that still run are left out."""
    yield _line("streamviz", {"version": VERSION})
    for session_id in session_ids:
        session = Session.objects.select_related("key").get(pk=session_id)
        yield _line(
            "session",
            {"id": session.pk, "label": session.label, "is_starred": session.is_starred, "note": session.note},
        )
        streams = session.streams.exclude(outcome="").select_related("key").order_by("requested_at", "id")
        for stream in streams.iterator(chunk_size=100):
            yield from _stream(stream)
    yield _line("end", {})


def _stream(stream: Stream) -> Iterator[bytes]:
    line = _fields(stream, STREAM_FIELDS, STREAM_TIMES)
    cost = None if stream.cost is None else float(stream.cost)
    key = stream.key.name if stream.key else None
    yield _line("stream", line | {"id": stream.pk, "key": key, "cost": cost, "request": _bytes(bytes(stream.request))})
    for block in Block.objects.filter(stream=stream):
        yield _line("block", _fields(block, BLOCK_FIELDS, BLOCK_TIMES))
    for verdict in Verdict.objects.filter(stream=stream).select_related("policy_version__policy"):
        version = verdict.policy_version
        policy = {"name": version.policy.name, "number": version.number, **version.fields()}
        yield _line("verdict", _fields(verdict, VERDICT_FIELDS, ("at",)) | {"policy": policy})
    for upstream in UpstreamRun.objects.filter(stream=stream).order_by("first_seq").iterator():
        for chunk in upstream.chunks():
            raw: Line = {"length": chunk.length} if chunk.raw is None else {"raw": _bytes(chunk.raw)}
            yield _line("chunk", {"seq": chunk.seq, "received_at": chunk.received_at, **raw})
    for client in ClientRun.objects.filter(stream=stream).order_by("first_frame").iterator():
        for frame in client.frames():
            made: Line = (
                {"seq": frame.seq} if frame.seq is not None else {"origin": frame.origin, "raw": _bytes(frame.made)}
            )
            yield _line("frame", {"number": frame.number, "sent_at": frame.sent_at, **made})


def _fields(row: Stream | Block | Verdict, names: Iterable[str], times: Iterable[str]) -> Line:
    return {name: getattr(row, name) for name in names} | {name: _time(getattr(row, name)) for name in times}


def _time(moment: datetime | None) -> int | None:
    return None if moment is None else as_microseconds(moment)


def _bytes(value: bytes) -> str | dict[str, str]:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(value).decode()}


def _line(what: str, value: Line) -> bytes:
    return encode({what: value}) + b"\n"
