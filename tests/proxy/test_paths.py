"""The path that a client means, however its base URL is written."""

import pytest

from streamviz.proxy.paths import canonical, is_a_clients, no_such

CALL = "/v1/chat/completions"
BASE_URLS = (
    "Base URLs end in /v1 for clients of OpenAI's API; for those of Anthropic's and Google's they are this server's"
    " address alone."
)


@pytest.mark.parametrize(
    "path",
    [CALL, "/chat/completions", "/v1/v1/chat/completions", "/v1//chat/completions", "//v1/chat//completions",
     "/v1//v1/chat/completions", "http://elsewhere/v1//chat/completions", "/v1/v1/v1/chat/completions"],
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
        (
            "/v1/chat/completions/chat/completions",
            "There is no /v1/chat/completions/chat/completions here; /v1/chat/completions is. Check the base URL.",
        ),
        (
            "/v1/chat/completions/models",
            "There is no /v1/chat/completions/models here; /v1/models is. Check the base URL.",
        ),
        ("/v1/messages/v1/messages", "There is no /v1/messages/v1/messages here; /v1/messages is. Check the base URL."),
        ("/openai/v1/models", "There is no /openai/v1/models here; /v1/models is. Check the base URL."),
        ("/openai/v1/models/o3", "There is no /openai/v1/models/o3 here; /v1/models/o3 is. Check the base URL."),
        ("/nope/models", "There is no /nope/models here; /v1/models is. Check the base URL."),
        (
            "/anthropic/v1/messages/count_tokens",
            "There is no /anthropic/v1/messages/count_tokens here; /v1/messages/count_tokens is. Check the base URL.",
        ),
        (
            "/v1beta/openai/chat/completions",
            "There is no /v1beta/openai/chat/completions here; /v1/chat/completions is. Check the base URL.",
        ),
        ("/", f"There is no / here. {BASE_URLS}"),
        ("/openai/v1/files", f"There is no /openai/v1/files here. {BASE_URLS}"),
        ("/v1/chat/completions/c1/messages", "There is no /v1/chat/completions/c1/messages here."),
        ("/v1/", "/v1/ is a base URL for clients, which add the path of a call to it."),
        ("/v1/embeddings/models", "There is no /v1/embeddings/models here."),
        ("/v1/threads/t1/messages", "There is no /v1/threads/t1/messages here."),
        ("/v1/none", "There is no /v1/none here."),
    ],
)
def test_who_asks_at_another_base_url_is_told_where_it_is(path: str, said: str) -> None:
    assert no_such(path).message == said


@pytest.mark.parametrize(
    "path", ["/openai/v1/models", "/openai/v1/files", "/v2/chat/completions", "/openai/models", "/v1", "/v1beta/none"]
)
def test_no_page_has_a_path_of_models(path: str) -> None:
    assert is_a_clients(path)


@pytest.mark.parametrize("path", ["/", "/sessions/", "/static/css/base.css", "/robots.txt", "/v10/"])
def test_any_other_path_may_be_a_pages(path: str) -> None:
    assert not is_a_clients(path)
