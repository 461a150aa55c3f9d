"""A recorded request as it went over the wire: where to, and in what words."""

from typing import NamedTuple
from urllib.parse import quote

from streamviz.core.json_value import JsonObject, as_object, as_text, decode, encode
from streamviz.core.wire import GEMINI
from streamviz.records.models import Stream


class Sent(NamedTuple):
    """A request: its path, its body, and the fields that this has; none where the request was not kept."""

    path: str
    body: bytes
    fields: JsonObject


def sent(stream: Stream) -> Sent:
    """Google's format says in the path what the record has in the request."""
    body = bytes(stream.request)
    fields = _fields(body)
    if stream.wire_format != GEMINI.name or not fields:
        return Sent(stream.endpoint, body, fields)
    method = "streamGenerateContent?alt=sse" if stream.is_streaming else "generateContent"
    path = f"{stream.endpoint}/{quote(as_text(fields.get('model')), safe='')}:{method}"
    kept = {name: value for name, value in fields.items() if name not in ("model", "stream")}
    return Sent(path, encode(kept), kept)


def _fields(body: bytes) -> JsonObject:
    try:
        return as_object(decode(body))
    except ValueError:
        return {}
