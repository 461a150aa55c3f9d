"""A stream of events as one JSON list."""

import json
from typing import Any

import pytest

from streamviz.proxy import http
from streamviz.proxy.as_list import AsList


class Client:
    def __init__(self) -> None:
        self.events: list[Any] = []

    async def take(self, event: Any) -> None:
        self.events.append(event)

    @property
    def body(self) -> bytes:
        return b"".join(event["body"] for event in self.events[1:])


@pytest.mark.parametrize("size", [1, 7, 10_000])
async def test_events_are_members_however_they_are_cut(size: int) -> None:
    client = Client()
    send = AsList(client.take)
    data = b'data: {"a":1}\r\n\r\n\n\ndata: {"b":\ndata: 2}\n\n: comment\n\ndata:\n\ndata: {"error":{}}\n\n'
    data += b"data: [DONE]\n\n"
    await http.start(send, 200, {"content-type": "text/event-stream", "x": "y"})
    for start in range(0, len(data), size):
        await http.body(send, data[start : start + size], more=True)
    await http.body(send, b"")
    assert json.loads(client.body) == [{"a": 1}, {"b": 2}, {"error": {}}]
    assert dict(client.events[0]["headers"])[b"content-type"] == b"application/json"
    assert dict(client.events[0]["headers"])[b"x"] == b"y"


async def test_an_error_without_data_is_a_member() -> None:
    client = Client()
    send = AsList(client.take)
    await http.start(send, 200, {"content-type": "text/event-stream"})
    await http.body(send, b'data: {"a":1}\r\n\r\n{\n  "error": {\n    "code": 503\n  }\n}\n', more=True)
    await http.body(send, b"")
    assert json.loads(client.body) == [{"a": 1}, {"error": {"code": 503}}]


async def test_a_stream_of_nothing_is_an_empty_list() -> None:
    client = Client()
    await http.start(AsList(client.take), 200, {"content-type": "text/event-stream"})
    send = AsList(client.take)
    await http.start(send, 200, {"content-type": "text/event-stream"})
    await http.body(send, b"")
    assert client.events[-1]["body"] == b"[]"


async def test_a_refusal_stays_as_it_is() -> None:
    client = Client()
    await http.respond(AsList(client.take), 429, {"content-type": "application/json; charset=UTF-8"}, b'{"error": {}}')
    assert client.body == b'{"error": {}}'
