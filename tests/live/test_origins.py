"""Which pages may open a websocket."""

from collections.abc import Iterator

import pytest
from channels.testing import WebsocketCommunicator
from django.test import override_settings

from streamviz.live.origins import OwnOrigin, is_own


def opened(origin: str, host: str = "viz.example:8000", scheme: str = "ws") -> bool:
    headers = [(b"host", host.encode()), (b"origin", origin.encode())]
    return is_own({"scheme": scheme, "headers": headers})


@pytest.fixture(autouse=True)
def _installation() -> Iterator[None]:
    trusted = ["https://viz.example", "https://*.inner.example"]
    with override_settings(ALLOWED_HOSTS=["viz.example", "[::1]"], CSRF_TRUSTED_ORIGINS=trusted):
        yield


async def test_a_page_that_is_refused_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    headers = [(b"host", b"viz.example:8000"), (b"origin", b"https://evil.test\n")]
    asked = WebsocketCommunicator(OwnOrigin(_never), "/ws/live/", headers)
    assert await asked.connect() == (False, 1000)
    [record] = caplog.records
    assert record.levelname == "WARNING"
    told = "refused a websocket from a page of 'https://evil.test\\n' to the host 'viz.example:8000'"
    assert record.getMessage().startswith(told)


async def _never(*_: object) -> None:
    raise AssertionError


@pytest.mark.parametrize(
    ("origin", "is_let_in"),
    [
        ("http://viz.example:8000", True),
        ("HTTP://VIZ.example:8000", True),
        ("https://viz.example", True),  # a proxy with TLS, which is in the settings
        ("https://a.inner.example", True),
        ("https://inner.example", False),
        ("http://a.inner.example", False),
        ("https://evil.test/.inner.example", False),
        ("http://viz.example", False),
        ("http://viz.example:8001", False),
        ("https://viz.example:8000", False),
        ("http://viz.example.evil.test:8000", False),
        ("null", False),
        ("", False),
    ],
)
def test_scheme_host_and_port_are_our_own(origin: str, is_let_in: bool) -> None:
    assert opened(origin) is is_let_in


def test_a_name_that_is_not_ours_is_refused_though_both_headers_have_it() -> None:
    assert not opened("http://evil.test", host="evil.test")
    assert opened("http://[::1]:8000", host="[::1]:8000")


def test_over_tls_the_page_is_too() -> None:
    assert opened("https://viz.example:8443", host="viz.example:8443", scheme="wss")
    assert not opened("http://viz.example:8443", host="viz.example:8443", scheme="wss")


def test_a_request_with_two_origins_has_none() -> None:
    headers = [(b"host", b"viz.example"), (b"origin", b"http://viz.example"), (b"origin", b"http://evil.test")]
    assert not is_own({"scheme": "ws", "headers": headers})
