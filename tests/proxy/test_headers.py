"""Headers as text and as bytes: UTF-8 if they are valid UTF-8."""

from typing import Any

import pytest

from streamviz.proxy import http
from streamviz.proxy.client_headers import kept_headers

SENT = {"会话 7": "会话 7".encode(), "Åsa": "Åsa".encode(), "café": b"caf\xe9"}


def scope_of(value: bytes, name: bytes = b"accept", query: bytes = b"") -> Any:
    path = "/v1beta/models/m:generateContent"
    return {"type": "http", "path": path, "query_string": query, "headers": [(name, value)]}


@pytest.mark.parametrize(("text", "value"), SENT.items(), ids=SENT)
def test_a_clients_are_read_as_they_were_meant(text: str, value: bytes) -> None:
    scope = scope_of(value)
    assert http.header(scope, b"accept") == http.header_reader(scope)(b"accept") == text
    assert kept_headers(scope) == {"accept": text}
    assert http.credentials(scope_of(value, b"x-api-key")) == [(text, "x-api-key")]


async def test_a_providers_go_on_as_they_came() -> None:
    sent: list[Any] = []

    async def send(event: Any) -> None:
        sent.append(event)

    came = {"utf-8": "Åsa".encode(), "other": b"caf\xe9"}
    await http.start(send, 200, {name: value.decode(errors="surrogateescape") for name, value in came.items()})
    assert came.items() <= {name.decode(): value for name, value in sent[0]["headers"]}.items()


def test_a_key_in_a_query_that_could_be_no_header_is_none() -> None:
    assert http.credentials(scope_of(b"", query=b"key=a%01b&key=c")) == [("c", "x-goog-api-key")]
