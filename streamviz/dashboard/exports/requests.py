"""A recorded request as it went over the wire: where to, and with what body."""

from collections.abc import Mapping
from typing import NamedTuple

from streamviz.core.json_value import JsonObject, as_text, encode, object_in
from streamviz.core.wire import OPENAI_CHAT, WIRE_FORMATS
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
    """A stream's request. In Google's format the path has some of what is a field in the record."""
    body = bytes(stream.request)
    fields = object_in(body)
    agent = {"user-agent": stream.user_agent} if stream.user_agent else {}
    headers = {**_JSON, **agent, **stream.request_headers}
    wire_format = WIRE_FORMATS.get(stream.wire_format, OPENAI_CHAT)
    if wire_format.path_end is None or not fields:
        return Sent(stream.endpoint, body, fields, headers)
    path = stream.endpoint + wire_format.path_end(as_text(fields.get("model")), stream.is_streaming)
    kept = {name: value for name, value in fields.items() if name not in wire_format.fields_in_path}
    return Sent(path, encode(kept), kept, headers)
