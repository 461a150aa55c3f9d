"""The path that a client means, however its base URL is written."""

import pytest

from streamviz.proxy.paths import canonical, no_such

CALL = "/v1/chat/completions"


@pytest.mark.parametrize(
    "path",
    [CALL, "/chat/completions", "/v1/v1/chat/completions", "/v1//chat/completions", "//v1/chat//completions",
     "/v1//v1/chat/completions", "http://elsewhere/v1//chat/completions"],
)  # fmt: skip
def test_a_base_url_may_end_with_a_slash_or_a_version(path: str) -> None:
    assert canonical(path) == CALL


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/api/v1/responses", "There is no /api/v1/responses here; /v1/responses is. Check the base URL."),
        ("/anthropic/v1/messages/", "There is no /anthropic/v1/messages/ here; /v1/messages is. Check the base URL."),
        (
            "/openai/deployments/o3/chat/completions",
            "There is no /openai/deployments/o3/chat/completions here; /v1/chat/completions is. Check the base URL.",
        ),
        ("/v1/", "/v1/ is a base URL for clients, which add the path of a call to it."),
        ("/v1/threads/t1/messages", "There is no /v1/threads/t1/messages here."),
        ("/v1/none", "There is no /v1/none here."),
    ],
)
def test_who_asks_at_another_base_url_is_told_where_it_is(path: str, said: str) -> None:
    assert no_such(path).message == said
