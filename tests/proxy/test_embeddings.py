"""Checks on calls for embeddings before they reach a provider."""

import asyncio
import json
from functools import partial
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest

from streamviz.core.errors import RequestError
from streamviz.core.wire import EMBEDDINGS, OPENAI_CHAT
from streamviz.core.wire.embeddings import unread_in
from streamviz.policies import build
from streamviz.proxy.embeddings import embeddings
from streamviz.proxy.requests import read_request
from tests.core.support import active


class Full:
    """A worker that accepts no more calls."""

    def authenticate(self, scope: object) -> object:
        return object()

    def admit(self) -> NoReturn:
        raise RequestError(503, "no more may run", code="full")


class Judging:
    """A worker whose policies are enforced."""

    slots = SimpleNamespace(take=partial(asyncio.sleep, 0))
    configuration = SimpleNamespace(policies_for=lambda *_: SimpleNamespace(active=[active(build("redact", {}))]))

    def authenticate(self, scope: object) -> object:
        return SimpleNamespace(name="key")

    def admit(self) -> None:
        """Accept another call."""

    async def target_for(self, model: str, wire_format: str) -> object:
        return SimpleNamespace(names=lambda asked: (asked,))


@pytest.mark.parametrize(
    "more",
    [
        {"input": [1]},
        {"messages": [{"role": "user", "content": "x"}]},
        {"input": "x", "instruction": "internal only"},
        {"input": "x", "extra_body": {"input": ["y"]}},
        {"input": "x", "texts": ["y"]},
    ],
)
async def test_what_no_policy_could_read_is_refused(more: dict[str, Any]) -> None:
    async def receive() -> Any:
        return {"type": "http.request", "body": json.dumps({"model": "m", **more}).encode(), "more_body": False}

    scope: Any = {"type": "http", "path": "/v1/embeddings", "headers": [], "query_string": b""}
    with pytest.raises(RequestError) as raised:
        await embeddings(cast(Any, Judging()), scope, receive, cast(Any, None))
    assert (raised.value.code, raised.value.param) == ("unreadable_input", list(more)[-1])


def test_what_says_how_to_embed_is_no_text() -> None:
    asked = {"model": "my model", "input": "a text", "dimensions": 3, "encoding_format": "float", "user": "A B"}
    assert unread_in({**asked, "input_type": "search_query", "truncate": None, "provider": {"order": ["a"]}}) == ""


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
