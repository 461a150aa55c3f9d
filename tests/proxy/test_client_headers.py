"""Which of a client's headers the provider gets, by class."""

from typing import Any

import pytest

from streamviz.policies import build
from streamviz.proxy.client_headers import end_to_end
from tests.core.support import active

GO_ON = {
    "organisation": {"openai-organization": "org-1"},
    "project": {"openai-project": "proj_1", "x-goog-user-project": "p"},
    "account of Codex": {"chatgpt-account-id": "a-1", "originator": "codex_cli_rs", "session_id": "s"},
    "betas": {"anthropic-beta": "oauth-2025-04-20,claude-code-20250219", "openai-beta": "responses=experimental"},
    "version": {"anthropic-version": "2023-06-01"},
    "idempotency": {"idempotency-key": "i", "x-idempotency-key": "j"},
    "tracing": {"traceparent": "00-1-2-01", "tracestate": "a=b", "baggage": "c=d", "x-request-id": "r", "b3": "0"},
    "user agent": {"user-agent": "claude-cli/2.1.330", "x-app": "cli", "x-stainless-lang": "js"},
    "Google's": {"x-goog-api-client": "genai/1", "x-server-timeout": "60"},
    "one that nobody knows": {"x-something": "else"},
    "ones called nearly like credentials": {"x-session-token-count": "3", "x-token-limit": "9", "x-key": "a"},
    "one called nearly like an authorization": {"x-author": "b"},
    "language": {"accept-language": "de"},
    "words beyond ASCII": {"x-title": "Zürich 会话"},
}
STAY = {
    "credentials": {"authorization": "Bearer s", "x-api-key": "s", "api-key": "s", "x-goog-api-key": "s"},
    "a proxy's credentials": {"proxy-authorization": "Basic s", "proxy-authenticate": "Basic"},
    "credentials for gateways": {"x-litellm-api-key": "s", "anthropic-api-key": "s", "x-portkey-api-key": "s"},
    "credentials for clouds": {"ocp-apim-subscription-key": "s", "x-amz-security-token": "s", "private-token": "s"},
    "credentials for others": {"x-auth-token": "s", "x-authorization": "s", "x-goog-iam-authorization-token": "s"},
    "credentials by other names": {"helicone-auth": "Bearer s", "x-client-secret": "s", "x-password": "s"},
    "keys that are secret": {"x-langfuse-secret-key": "s", "x-auth-key": "s", "x-access-key": "s"},
    "cookies": {"cookie": "a=b", "cookie2": "a=b", "set-cookie": "a=b"},
    "what a proxy reads": {"x-original-url": "/a", "x-rewrite-url": "/a", "x-http-method-override": "PUT"},
    "who a proxy says it is": {"x-remote-user": "a", "true-client-ip": "10.0.0.1", "x-client-ip": "10.0.0.1"},
    "where a proxy says it is from": {"x-original-forwarded-for": "10.0.0.1", "x-vercel-forwarded-for": "10.0.0.1"},
    "our own": {"x-streamviz-key": "s", "x-streamviz-provider": "openai", "x-session-id": "s"},
    "of the connection": {"connection": "close", "keep-alive": "5", "te": "trailers", "upgrade": "h2c", "expect": "1"},
    "of the body": {"content-length": "9", "content-encoding": "gzip", "transfer-encoding": "chunked"},
    "where it was sent": {"host": "streamviz", "x-forwarded-for": "10.0.0.1", "forwarded": "for=x", "via": "1.1 a"},
    "what says nothing": {"anthropic-version": "", "user-agent": ""},
    "of a browser": {"origin": "http://a", "referer": "http://a/b", "sec-fetch-mode": "cors"},
}


def _seen(headers: dict[str, str]) -> dict[str, str]:
    scope: Any = {"headers": [(name.encode(), value.encode()) for name, value in headers.items()]}
    return end_to_end(scope)


@pytest.mark.parametrize("headers", GO_ON.values(), ids=GO_ON)
def test_what_is_meant_for_the_provider_goes_on(headers: dict[str, str]) -> None:
    assert _seen(headers) == headers


@pytest.mark.parametrize("headers", STAY.values(), ids=STAY)
def test_what_is_not_meant_for_the_provider_stays_here(headers: dict[str, str]) -> None:
    assert _seen(headers) == {}


def test_a_connections_own_headers_are_those_that_it_names() -> None:
    assert _seen({"connection": "close, X-Hop", "x-hop": "1", "x-other": "2"}) == {"x-other": "2"}


def test_what_is_not_utf_8_is_latin_1() -> None:
    scope: Any = {"headers": [(b"x-title", b"caf\xe9")]}
    assert end_to_end(scope) == {"x-title": "café"}


def test_a_mask_of_several_lines_puts_none_into_a_header() -> None:
    rule = build("redact", {"find": ["e-mail"], "mask": "[some\nbody]"})
    scope: Any = {"headers": [(b"from", "Jörg <joerg@example.com>".encode())]}
    assert end_to_end(scope, [active(rule)]) == {"from": "Jörg <[some body]>"}


def test_of_one_that_came_several_times_all_values_go_on() -> None:
    scope: Any = {"headers": [(b"anthropic-beta", b"one"), (b"anthropic-beta", b"two")]}
    assert end_to_end(scope) == {"anthropic-beta": "one, two"}
