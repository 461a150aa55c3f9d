"""Streams as an HTTP archive (HAR 1.2): what clients sent and were answered. The record has no credentials."""

from collections.abc import Iterable, Iterator
from http.client import responses
from typing import Any

from streamviz.core.json_value import encode
from streamviz.dashboard.exports.requests import sent
from streamviz.records.exporting import whole
from streamviz.records.models import Stream
from streamviz.records.tapes import client_bytes

_UNRECORDED = {"httpVersion": "HTTP/1.1", "cookies": [], "headersSize": -1}
_HEAD = b'{"log":{"version":"1.2","creator":{"name":"streamviz","version":"1"},"entries":['


def write(streams: Iterable[Stream], base_url: str) -> Iterator[bytes]:
    """One entry per stream."""
    yield _HEAD
    for number, stream in enumerate(whole(streams)):
        yield (b"," if number else b"") + encode(_entry(stream, base_url))
    yield b"]}}\n"


def _entry(stream: Stream, base_url: str) -> dict[str, Any]:
    wait, receive = _milliseconds(stream)
    return {
        "startedDateTime": stream.requested_at.isoformat(),
        "time": wait + receive,
        "request": _request(stream, base_url),
        "response": _response(stream),
        "cache": {},
        "timings": {"send": 0, "wait": wait, "receive": receive},
        "comment": f"stream {stream.pk}, {stream.outcome or 'running'}",
    }


def _request(stream: Stream, base_url: str) -> dict[str, Any]:
    asked = sent(stream)
    return {
        "method": "POST",
        "url": f"{base_url}{asked.path}",
        **_UNRECORDED,
        "headers": [{"name": name, "value": value} for name, value in asked.headers.items()],
        "queryString": [],
        "bodySize": len(asked.body),
        "postData": {"mimeType": "application/json", "text": asked.body.decode("utf-8", "replace")},
    }


def _response(stream: Stream) -> dict[str, Any]:
    body = b"".join(client_bytes(stream))
    kind = "text/event-stream" if stream.is_streaming else "application/json"
    status = stream.status or 0
    return {
        "status": status,
        "statusText": responses.get(status, ""),
        **_UNRECORDED,
        "headers": [{"name": "content-type", "value": kind}],
        "redirectURL": "",
        "bodySize": len(body),
        "content": {"size": len(body), "mimeType": kind, "text": body.decode("utf-8", "replace")},
    }


def _milliseconds(stream: Stream) -> tuple[float, float]:
    """How long until the client had the first frame, and from then to the end."""
    end = stream.ended_at or stream.requested_at
    first = stream.client_first_at or end
    return (first - stream.requested_at).total_seconds() * 1000, max(0.0, (end - first).total_seconds() * 1000)
