"""Who may read /metrics."""

from typing import Any

import pytest

from streamviz.serving.metrics import may_read

HERE = {"host": "127.0.0.1:8000"}


@pytest.mark.parametrize(
    ("client", "headers", "may"),
    [
        ("127.0.0.1", HERE, True),
        ("::ffff:127.0.0.1", {"host": "localhost"}, True),
        ("::1", {"host": "[::1]:8000"}, True),
        ("203.0.113.7", HERE, False),
        ("127.0.0.1", {"host": "evil.example:8000"}, False),
        ("127.0.0.1", {**HERE, "x-forwarded-for": "203.0.113.7"}, False),
        ("127.0.0.1", {}, False),
    ],
)
def test_without_a_token_this_machine_alone(client: str, headers: dict[str, str], may: bool, settings: Any) -> None:
    settings.METRICS_TOKEN, settings.TRUSTED_PROXIES = "", ()
    assert may_read(scope(client, headers)) is may
    settings.TRUSTED_PROXIES = ("a proxy on this machine",)
    assert not may_read(scope(client, headers))


@pytest.mark.parametrize(("sent", "may"), [("Bearer right", True), ("Bearer wrong", False), ("right", False)])
def test_with_a_token_whoever_sends_it(sent: str, may: bool, settings: Any) -> None:
    settings.METRICS_TOKEN = "right"
    for client in ("127.0.0.1", "203.0.113.7"):
        assert may_read(scope(client, {**HERE, "authorization": sent})) is may


def scope(client: str, headers: dict[str, str]) -> dict[str, Any]:
    return {"client": (client, 5), "headers": [(name.encode(), value.encode()) for name, value in headers.items()]}
