"""What the simulator was asked and what it sent, kept within limits, for tests to compare with."""

import asyncio
import hashlib
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from uuid import uuid4

import msgspec

from streamviz.simulator.request import NOT_JSON

MOST_EXCHANGES = 2_000
MOST_BYTES = 128 * 1024 * 1024
CREDENTIALS = frozenset({"authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "proxy-authorization"})


class Exchange:
    """One request and the bytes of its response's body, as they were handed to the connection."""

    def __init__(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> None:
        self.id = uuid4().hex
        self.method = method
        self.path = path
        self.headers = {name.lower(): _without_credential(name, value) for name, value in headers.items()}
        self.body = body
        self.sent: list[bytes] | None = []
        """None once the bytes had to make room for others."""
        self.bytes_sent = 0
        self.closed_early = False
        self.over = asyncio.Event()

    @property
    def bytes_kept(self) -> int:
        """How much room this exchange takes."""
        return len(self.body) + (0 if self.sent is None else self.bytes_sent)

    def request(self) -> dict[str, object]:
        """The request; its body as JSON if it is JSON, otherwise as text."""
        return {
            "id": self.id,
            "method": self.method,
            "path": self.path,
            "headers": self.headers,
            "body": _json_or_text(self.body),
        }

    def progress(self) -> dict[str, object]:
        """How far the response has got."""
        return {
            "id": self.id,
            "path": self.path,
            "bytes_sent": self.bytes_sent,
            "open": not self.over.is_set(),
            "closed_early": self.closed_early,
        }


class Ledger:
    """The last exchanges: the oldest are forgotten first, and before that their bytes."""

    def __init__(self, most_exchanges: int = MOST_EXCHANGES, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._most_exchanges = most_exchanges
        self._exchanges: dict[str, Exchange] = {}
        self._with_bytes: deque[Exchange] = deque()
        self._bytes = 0

    @contextmanager
    def exchange(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Iterator[Exchange]:
        """Record a request; its response is over when the block is left, and closed early if an exception leaves it."""
        exchange = self._begin(Exchange(method, path, headers, body))
        try:
            yield exchange
        except BaseException:
            exchange.closed_early = True
            raise
        finally:
            exchange.over.set()

    def sent(self, exchange: Exchange, data: bytes) -> None:
        """Record bytes that were handed to the connection."""
        exchange.bytes_sent += len(data)
        if exchange.sent is not None:
            exchange.sent.append(data)
            self._take(len(data))

    def find(self, exchange_id: str) -> Exchange | None:
        """The exchange with that id, if it is not forgotten."""
        return self._exchanges.get(exchange_id)

    def all(self) -> list[Exchange]:
        """All exchanges that are kept, oldest first."""
        return list(self._exchanges.values())

    def _begin(self, exchange: Exchange) -> Exchange:
        if len(self._exchanges) >= self._most_exchanges:
            self._forget(next(iter(self._exchanges)))
        self._exchanges[exchange.id] = exchange
        self._with_bytes.append(exchange)
        self._take(len(exchange.body))
        return exchange

    def _take(self, size: int) -> None:
        self._bytes += size
        while self._bytes > self._most_bytes and self._with_bytes:
            self._drop_bytes(self._with_bytes[0])

    def _drop_bytes(self, exchange: Exchange) -> None:
        self._with_bytes.remove(exchange)
        self._bytes -= exchange.bytes_kept
        exchange.sent = None
        exchange.body = b""

    def _forget(self, exchange_id: str) -> None:
        exchange = self._exchanges.pop(exchange_id)
        if exchange in self._with_bytes:
            self._drop_bytes(exchange)


def _without_credential(name: str, value: str) -> str:
    """The value of a header, or the SHA-256 of its credential, without the scheme before it."""
    if name.lower() not in CREDENTIALS:
        return value
    credential = value.rpartition(" ")[2]
    return "sha256:" + hashlib.sha256(credential.encode()).hexdigest()


def _json_or_text(body: bytes) -> object:
    try:
        return msgspec.json.decode(body)
    except NOT_JSON:
        return body.decode("utf-8", "replace")
