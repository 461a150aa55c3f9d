"""The client of a request, behind trusted and untrusted proxies."""

from ipaddress import ip_network
from typing import Any

import pytest

from streamviz.serving.forwarding import forwarded

TRUSTED = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


def seen(peer: str, *lines: tuple[str, str], kind: str = "http", scheme: str | None = None) -> tuple[Any, str]:
    headers = [(name.encode(), value.encode()) for name, value in lines]
    scope = {"type": kind, "client": [peer, 5000], "headers": headers} | ({"scheme": scheme} if scheme else {})
    told = forwarded(scope, TRUSTED)
    return told["client"][0], told["scheme"]


@pytest.mark.parametrize(
    ("peer", "said", "client"),
    [
        ("192.0.2.1", ["198.51.100.7"], "192.0.2.1"),  # not from a trusted proxy
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.9, 198.51.100.7"], "198.51.100.7"),  # the first is made up by the client
        ("10.0.0.1", ["203.0.113.9", "198.51.100.7, 10.0.0.2"], "198.51.100.7"),
        ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ("10.0.0.1", ["198.51.100.7, <script>, 10.0.0.2"], "10.0.0.2"),
        ("10.0.0.1", ["2001:db8::7"], "2001:db8::7"),
        ("10.0.0.1", ["203.0.113.9, 198.51.100.7:51234, 10.0.0.2:443"], "198.51.100.7"),  # as Azure's gateway writes it
        ("10.0.0.1", ["[2001:db8::7]:51234"], "2001:db8::7"),
        ("10.0.0.1", ["[2001:db8::7]"], "2001:db8::7"),
        ("::ffff:10.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("fd00::1", [""], "fd00::1"),
    ],
)
def test_the_client_is_the_last_that_no_trusted_proxy_is(peer: str, said: list[str], client: str) -> None:
    assert seen(peer, *(("x-forwarded-for", line) for line in said))[0] == client


def test_the_scheme_is_what_a_trusted_proxy_says() -> None:
    assert seen("10.0.0.1", ("x-forwarded-proto", "https"), scheme="http")[1] == "https"
    assert seen("10.0.0.1", ("x-forwarded-proto", "https, http"), scheme="http")[1] == "http"
    assert seen("192.0.2.1", ("x-forwarded-proto", "https"), scheme="http")[1] == "http"
    assert seen("10.0.0.1", ("x-forwarded-proto", "https"), kind="websocket")[1] == "wss"
    assert seen("192.0.2.1", ("x-forwarded-proto", "https"), kind="websocket")[1] == "ws"


def test_what_it_was_given_stays_as_it_is() -> None:
    scope = {"type": "http", "client": ["10.0.0.1", 1], "headers": [(b"x-forwarded-for", b"198.51.100.7")]}
    forwarded(scope, TRUSTED)
    assert scope["client"] == ["10.0.0.1", 1]
    assert forwarded({"type": "http", "client": None, "headers": []}, TRUSTED)["client"] is None
