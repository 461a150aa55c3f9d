"""Which path a client means, however its base URL is written."""

import pytest

from streamviz.proxy.paths import canonical

CALL = "/v1/chat/completions"


@pytest.mark.parametrize(
    "path",
    [CALL, "/chat/completions", "/v1/v1/chat/completions", "/v1//chat/completions", "//v1/chat//completions",
     "/v1//v1/chat/completions", "http://elsewhere/v1//chat/completions"],
)  # fmt: skip
def test_a_base_url_may_end_with_a_slash_or_a_version(path: str) -> None:
    assert canonical(path) == CALL
