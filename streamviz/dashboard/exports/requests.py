"""A recorded request as it went over the wire: where to, and with what body."""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote

from streamviz.core.json_value import JsonObject, as_text, encode, object_in
from streamviz.core.wire import GEMINI
from streamviz.records.models import Stream

_JSON = {"content-type": "application/json"}
# Headers that say who sent it and how often, or that every client sets by itself.
_OF_SENDER = ("accept", "content-type", "traceparent", "user-agent", "x-stainless-")


class Sent(NamedTuple):
    """A request: its path, its body, the body's fields (none if it was not kept), and the headers that were kept."""

    path: str
    body: bytes
    fields: JsonObject
    headers: Mapping[str, str]

    @property
    def headers_again(self) -> dict[str, str]:
        """The headers that say how it is to be answered, whoever sends it."""
        return {name: value for name, value in self.headers.items() if not name.startswith(_OF_SENDER)}


def sent(stream: Stream) -> Sent:
    """A stream's request. Google's format has in the path what the record has in the request."""
    body = bytes(stream.request)
    fields = object_in(body)
    agent = {"user-agent": stream.user_agent} if stream.user_agent else {}
    headers = {**_JSON, **agent, **stream.request_headers}
    if stream.wire_format != GEMINI.name or not fields:
        return Sent(stream.endpoint, body, fields, headers)
    method = "streamGenerateContent?alt=sse" if stream.is_streaming else "generateContent"
    path = f"{stream.endpoint}/{quote(as_text(fields.get('model')), safe='')}:{method}"
    kept = {name: value for name, value in fields.items() if name not in ("model", "stream")}
    return Sent(path, encode(kept), kept, headers)
