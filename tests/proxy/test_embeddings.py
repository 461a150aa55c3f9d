"""Calls for embeddings, before they are calls."""

import json
from typing import Any, NoReturn, cast

import pytest

from streamviz.core.errors import RequestError
from streamviz.core.wire import EMBEDDINGS, OPENAI_CHAT
from streamviz.proxy.embeddings import embeddings
from streamviz.proxy.requests import read_request


class Full:
    """A worker that takes no more calls."""

    def authenticate(self, scope: object) -> object:
        return object()

    def admit(self) -> NoReturn:
        raise RequestError(503, "no more may run", code="full")


async def test_nothing_of_a_request_is_read_where_no_more_may_run() -> None:
    async def receive() -> NoReturn:
        raise AssertionError("the body was read")

    scope: Any = {"type": "http", "path": "/v1/embeddings", "headers": [], "query_string": b""}
    with pytest.raises(RequestError, match="no more may run"):
        await embeddings(cast(Any, Full()), scope, receive, cast(Any, None))


def test_as_many_tokens_are_taken_as_openai_embeds_at_once() -> None:
    body = json.dumps({"model": "m", "messages": [{}], "input": [[1] * 2_000] * 150}).encode()
    assert read_request(body, EMBEDDINGS).model == "m"
    with pytest.raises(RequestError, match="MAX_VALUES"):
        read_request(body, OPENAI_CHAT)
