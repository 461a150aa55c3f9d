"""Which key a request has, and the answer if it has no known one."""

from typing import cast

import pytest
from asgiref.typing import HTTPScope
from pytest_django import Settings

from streamviz.core.errors import RequestError
from streamviz.proxy.worker import Worker


def sent(**headers: str) -> HTTPScope:
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return cast(HTTPScope, {"path": "/v1/models", "headers": named, "query_string": b""})


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({}, "No API key was sent."),
        ({"authorization": "Bearer "}, "No API key was sent."),  # as from a variable that is not set
        ({"authorization": "sv-no-scheme"}, "The API key in `Authorization` has no `Bearer` before it."),
        ({"authorization": "Bearer sv-revoked"}, "The API key is unknown or was revoked."),
        ({"x_api_key": "sk-ant-api03"}, "This is not a streamviz API key; those begin with sv-."),
    ],
)
def test_who_has_no_key_is_told_what_is_wrong_with_it(worker: Worker, headers: dict[str, str], said: str) -> None:
    with pytest.raises(RequestError) as refused:
        worker.authenticate(sent(**headers))
    assert refused.value.message == f"{said} Send one as `Authorization: Bearer <key>`; the Keys page makes them."


def test_where_clients_bring_a_credential_the_key_has_a_header_of_its_own(worker: Worker, settings: Settings) -> None:
    settings.CLIENT_CREDENTIALS = True
    for authorization in ("Bearer sv-a-key", "sv-a-key"):
        with pytest.raises(RequestError, match=r"^No API key was sent\. Send one as `x-streamviz-key: <key>`"):
            worker.authenticate(sent(authorization=authorization))
    assert worker.authenticate(sent(x_streamviz_key="sv-a-key")).name == "a-key"
