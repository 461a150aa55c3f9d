"""Which base URLs are allowed, and where a server on this machine is."""

import pytest

from streamviz.core.base_urls import is_loopback, own_url, wrong_with_url


@pytest.mark.parametrize("url", ["http://gpu:9/v1", "https://api.example.com", "http://[::1]:8001/v1/", "HTTPS://x/y"])
def test_an_address_of_a_server_can_be_used(url: str) -> None:
    assert wrong_with_url(url) == ""


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://x", "file:///etc/passwd", "gpu:9", "//gpu/v1", "http://", "http:///v1", "javascript:alert(1)", "x"),
        *("http://user:secret@host/v1", "http://user@host", "http://@host", "http://host/v1?key=x", "http://host/#x"),
        *("http://host:99999999", "http://[::1", "http://host/a b", "http://host/\n", "unix:///x", ""),
    ],
)
def test_it_rejects_urls_that_are_no_servers_and_quotes_no_password(url: str) -> None:
    assert wrong_with_url(url)
    assert "secret" not in wrong_with_url(url)


@pytest.mark.parametrize(
    ("host", "is_one"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("example.org", False),
    ],
)
def test_it_knows_what_other_machines_can_reach(host: str, is_one: bool) -> None:
    assert is_loopback(host) is is_one


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("viz.example", "http://viz.example:8000"),
        ("::1", "http://[::1]:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::", "http://[::1]:8000"),
    ],
)
def test_this_machine_reaches_a_server_of_its_own(host: str, url: str) -> None:
    assert own_url(host, 8000) == url
