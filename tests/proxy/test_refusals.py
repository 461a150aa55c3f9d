"""Requests that were refused before they became streams."""

import logging
from typing import cast

import pytest
from asgiref.typing import HTTPScope

from streamviz.core.errors import UpstreamError
from streamviz.proxy import refusals


def test_upstreams_own_request_id_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    scope = cast(HTTPScope, {"headers": []})
    error = UpstreamError(400, "Too many tokens.", headers={"request-id": "req_1"})
    with caplog.at_level(logging.INFO, "streamviz"):
        assert refusals.refused(scope, "/v1/messages/count_tokens", error) == {}
    [line] = caplog.records
    assert line.getMessage().startswith("refused req_1: 400 ")
