"""Which of a client's headers are recorded."""

from typing import Any

from streamviz.proxy.client_headers import kept_headers
from tests.proxy.test_client_headers import STAY

KEPT = {
    "content-type": "application/json",
    "accept": "text/event-stream",
    "anthropic-version": "2023-06-01",
    "anthropic-beta": "claude-code-20250219",
    "openai-beta": "responses=experimental",
    "traceparent": f"00-{'1' * 32}-{'2' * 16}-01",
    "x-stainless-retry-count": "1",
    "x-streamviz-provider": "openai",
    "x-interaction-type": "conversation-user",
    "x-goog-api-client": "genai-js/0.24.1",
    "x-affinity": "8b657757-5519-fcbd-4a31-2a120c7aefcf",
}


def kept(*headers: tuple[str, str]) -> dict[str, str]:
    scope: Any = {"headers": [(name.encode(), value.encode()) for name, value in headers]}
    return kept_headers(scope)


def test_headers_that_say_how_a_request_was_sent_are_kept() -> None:
    assert kept(*KEPT.items()) == KEPT


def test_credentials_cookies_and_what_nobody_knows_are_not() -> None:
    others = {name: value for headers in STAY.values() for name, value in headers.items() if name not in KEPT}
    unknown = {"x-something": "s", "x-stainless-secret": "s", "x-streamviz-key": "s", "openai-organization": "org-1"}
    assert kept(*(others | unknown).items()) == {}


def test_of_one_that_came_several_times_all_values_are_kept_unless_they_are_too_long() -> None:
    assert kept(("accept", "a"), ("accept", "b")) == {"accept": "a, b"}
    assert kept(("accept", "a" * 900), ("accept", "b" * 900), ("openai-beta", "b")) == {"openai-beta": "b"}
