"""What is kept of a request that was refused before it became a stream."""

import json
import logging
from typing import Any, cast

import pytest
from asgiref.typing import HTTPScope

from streamviz.core.errors import RequestError, UpstreamError
from streamviz.core.policy import ActivePolicy
from streamviz.core.verdicts import Mode
from streamviz.live.feed import Feed
from streamviz.live.refusals import Refusal
from streamviz.logs import JsonFormatter, about_stream
from streamviz.policies import build
from streamviz.proxy import asgi, http, refusals
from streamviz.proxy.early import malformed, no_websocket, passage
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownKey
from streamviz.records.models.access import digest
from streamviz.records.scoped_policies import ScopedPolicy
from streamviz.serving.asgi import http as server

CLIENT = "10.0.0.7"


@pytest.fixture(autouse=True)
def feed(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> Feed:
    made = Feed()
    monkeypatch.setattr(refusals, "feed", made)
    monkeypatch.setattr(refusals, "worker", worker)
    monkeypatch.setattr(asgi, "worker", worker)
    return made


def scope(path: str = "/v1/messages", query: bytes = b"", **headers: str) -> HTTPScope:
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    known = {"type": "http", "method": "POST", "path": path, "query_string": query, "headers": named}
    return cast(HTTPScope, {**known, "client": (CLIENT, 1), "extensions": {}})


async def ask(
    path: str, body: dict[str, Any], query: bytes = b"", *, application: Any = asgi.application, **headers: str
) -> dict[str, str]:
    """Call the proxy, or a whole server; return the headers of its answer."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}

    async def send(event: Any) -> None:
        sent.append(event)

    await application(scope(path, query, **headers), receive, send)
    return {name.decode(): value.decode() for name, value in sent[0]["headers"]}


def the_one(feed: Feed) -> Refusal:
    [found] = feed.refusals.all()
    return found


async def test_it_says_who_asked_for_what_and_has_the_id_that_the_client_got(worker: Worker, feed: Feed) -> None:
    worker.configuration.keys[digest("sv-limited")] = KnownKey(2, "limited", models=("other",))
    body = {"model": "sim/content", "messages": []}
    told = await ask("/v1/messages", body, authorization="Bearer sv-limited", user_agent="claude-cli/2.0")
    found = the_one(feed)
    assert (found.status, found.code, found.key, found.model) == (403, "model_not_allowed", "limited", "sim/content")
    assert (found.path, found.user_agent, found.client) == ("/v1/messages", "claude-cli/2.0", CLIENT)
    assert found.request_id == told["request-id"]
    assert found.has_key


@pytest.mark.parametrize("path", ["/v1/messages", "/api/nothing"])
async def test_a_refusal_is_not_logged_about_the_stream_of_the_request_before_it(
    caplog: pytest.LogCaptureFixture, path: str
) -> None:
    """A pipelined request is parsed in the context of the one before it."""
    about_stream("01a2-before")
    with caplog.at_level(logging.INFO, refusals.log.name):
        await ask(path, {}, application=server)
    [record] = caplog.records
    assert "01a2-before" not in JsonFormatter().format(record)


async def test_credentials_and_the_query_are_not_kept(feed: Feed) -> None:
    key = "sv-" + "a1" * 20
    await ask(f"/v1/{key}/messages", {}, b"key=AIzaSecret", user_agent=f"agent/1 (Bearer {key})", authorization=key)
    await ask("/v1beta/models/gemini-x:generateContent", {}, b"key=AIzaSecret")
    kept = str(feed.refusals.all())
    assert len(feed.refusals.all()) == 2
    assert [secret for secret in (key, "a1a1", "AIzaSecret") if secret in kept] == []


def test_no_more_is_kept_than_a_page_shows(feed: Feed) -> None:
    long = "sv-" + "x" * 100_000
    refusals.refused(scope(user_agent=long), f"/v1/{long}", RequestError(404, "y" * 100_000))
    found = the_one(feed)
    assert [found.user_agent, found.path, len(found.message)] == ["sv-***", "/v1/sv-***", 300]


def test_the_beginning_of_a_key_that_was_cut_off_is_not_kept(feed: Feed) -> None:
    path = f"/v1/sv-{'x' * 370}/AIza{'Sy' * 17}"
    refusals.refused(scope(), path, RequestError(404, "No."))
    assert the_one(feed).path == "/v1/sv-***/"


def test_what_a_policy_masks_is_not_kept(worker: Worker, feed: Feed) -> None:
    rule = ActivePolicy(build("redact", {"find": ["e-mail"]}), "mask", 1, 1, Mode.ENFORCE)
    worker.configuration.policies = (ScopedPolicy("mask", 1, Mode.ENFORCE, (), (), rule),)
    agents = ("bot (ann@example.com)", f"bot ({'o' * 282}, ann.lee@example.com)")
    for agent in agents:  # the second is cut in the address
        refusals.refused(scope(user_agent=agent), "/v1/messages", RequestError(404, "No."))
    assert [each.user_agent for each in feed.refusals.all() if "ann" in each.user_agent] == []


def test_a_revoked_key_is_named_but_counts_as_none(worker: Worker, feed: Feed) -> None:
    worker.configuration.revoked[digest("sv-old")] = "old"
    refused = scope(authorization="Bearer sv-old")
    with pytest.raises(RequestError) as error:
        worker.authenticate(refused)
    refusals.refused(refused, "/v1/messages", error.value)
    found = the_one(feed)
    assert (found.key, found.is_revoked, found.has_key, found.source) == ("old", True, False, CLIENT)


def test_of_two_keys_the_valid_one_is_named(worker: Worker, feed: Feed) -> None:
    worker.configuration.revoked[digest("sv-old")] = "old"
    worker.configuration.keys[digest("sv-new")] = KnownKey(1, "new")
    sent = scope(authorization="Bearer sv-old", **{"x-api-key": "sv-new"})
    refusals.refused(sent, "/v1/messages", RequestError(404, "No."))
    found = the_one(feed)
    assert (found.key, found.is_revoked) == ("new", False)


def test_what_is_refused_unread_is_kept_too(worker: Worker, feed: Feed) -> None:
    assert passage(worker, b"/v1/messages?key=secret", [(b"user-agent", b"claude-cli/2.0")], CLIENT)(1_000_000)
    found = the_one(feed)
    assert (found.status, found.path, found.user_agent, found.client) == (401, "/v1/messages", "claude-cli/2.0", CLIENT)


def test_a_client_that_speaks_tls_is_kept(feed: Feed) -> None:
    malformed(b"", 400, "This port takes http://, not https://.")
    malformed(b"/sessions/", 400)  # of a page
    assert the_one(feed).message == "This port takes http://, not https://."


def test_a_websocket_that_a_client_works_without_is_not(feed: Feed) -> None:
    assert no_websocket(b"/v1/responses", [])
    assert feed.refusals.all() == []


def test_a_call_that_became_a_stream_is_not(feed: Feed) -> None:
    error = UpstreamError(502, "It broke off.", headers={http.STREAM: "a-stream"})
    assert refusals.refused(scope(), "/v1/files", error) == {}
    assert feed.refusals.all() == []


def test_upstreams_own_request_id_is_in_the_log(feed: Feed, caplog: pytest.LogCaptureFixture) -> None:
    error = UpstreamError(400, "Too many tokens.", headers={"request-id": "req_1"})
    with caplog.at_level(logging.INFO, "streamviz"):
        assert refusals.refused(scope(), "/v1/messages/count_tokens", error) == {}
    assert the_one(feed).request_id == "req_1"
    [line] = caplog.records
    assert line.getMessage().startswith("refused req_1: 400 ")
