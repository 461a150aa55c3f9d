"""What the simulator stores, and for how long."""

import hashlib

import pytest

from streamviz.simulator.ledger import Ledger


def test_credentials_are_hashed() -> None:
    headers = {"Authorization": "Bearer secret", "X-Api-Key": "secret", "X-Goog-Api-Key": "secret", "Accept": "*/*"}
    with Ledger().exchange("POST", "/", headers, b"{}") as exchange:
        digest = "sha256:" + hashlib.sha256(b"secret").hexdigest()
        hashed = dict.fromkeys(("authorization", "x-api-key", "x-goog-api-key"), digest)
        assert exchange.headers == {**hashed, "accept": "*/*"}


def test_an_exception_closes_early() -> None:
    ledger = Ledger()
    with pytest.raises(ConnectionResetError), ledger.exchange("POST", "/", {}, b"") as exchange:
        raise ConnectionResetError
    assert exchange.closed_early
    assert exchange.over.is_set()


def test_the_oldest_exchanges_are_forgotten() -> None:
    ledger = Ledger(most_exchanges=2)
    for name in "abc":
        with ledger.exchange("POST", name, {}, b""):
            pass
    assert [exchange.path for exchange in ledger.all()] == ["b", "c"]


def test_the_oldest_bytes_make_room() -> None:
    ledger = Ledger(most_bytes=10)
    with ledger.exchange("POST", "a", {}, b"12") as first, ledger.exchange("POST", "b", {}, b"34") as second:
        ledger.sent(first, b"567")
        ledger.sent(second, b"890")
        assert first.sent == [b"567"]
        ledger.sent(second, b"x")
        assert first.sent is None
        assert second.sent == [b"890", b"x"]
        ledger.sent(first, b"more")
        assert first.bytes_sent == 7
        assert second.sent == [b"890", b"x"]


def test_forgetting_frees_the_room() -> None:
    ledger = Ledger(most_exchanges=1, most_bytes=10)
    for _ in range(5):
        with ledger.exchange("POST", "a", {}, b"1234") as exchange:
            ledger.sent(exchange, b"56789")
    assert exchange.sent == [b"56789"]
