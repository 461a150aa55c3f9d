"""Clients that read streams as fast as they arrive: `python -m bench.load PORT KIND STREAMS SECONDS KEY [SPREAD]`.

A closed loop: STREAMS clients run at once, and each sends its next request when its stream has ended, until SECONDS are
over. Without SPREAD all begin at the same instant, and streams still running at the end are read to their ends. With
SPREAD they begin at different moments within that many seconds, which come first and are not measured, and disconnect
when the time is up. Prints one JSON object with the results; times are in microseconds.
"""

import asyncio
import json
import sys
import time
from typing import cast

import uvloop

from bench.wire import CHUNKS, STAMP, STAMP_DIGITS, request_body

END = b"0\r\n\r\n"
LONGEST_STREAM_SECONDS = 600
_GOLDEN = 0.618034  # its multiples never align with one another or with the streams' pace
_KEPT = STAMP_DIGITS + 1  # bytes kept of a read: the longest incomplete stamp, which the next read completes


class Seen:
    """What all clients saw."""

    def __init__(self, kind: str, seconds: float) -> None:
        self.kind = kind
        self.errors: list[str] = []
        self.begin(seconds)

    def begin(self, seconds: float) -> None:
        """Start measuring now; earlier results are discarded, except errors."""
        self.began = time.monotonic()
        self.until = self.began + seconds
        self.first: list[int] = []
        self.latencies: list[int] = []
        self.chunks = 0

    def summary(self) -> dict[str, object]:
        return {
            "streams": len(self.first),
            "chunks": self.chunks,
            "chunks_s": self.chunks / (time.monotonic() - self.began),
            "ttft_p50": percentile(self.first, 50),
            "ttft_p99": percentile(self.first, 99),
            "latency_p50": percentile(self.latencies, 50),
            "latency_p99": percentile(self.latencies, 99),
            "errors": self.errors[:3],
        }


class Client(asyncio.Protocol):
    """One connection that carries one stream after another."""

    def __init__(self, request: bytes, seen: Seen) -> None:
        self._request = request
        self._seen = seen
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end("the connection was closed in the middle of a stream")

    def data_received(self, data: bytes) -> None:
        now = time.monotonic_ns() // 1000
        if not self._head_is_read:
            data = self._read_head(self._rest + data)
        self._read_body(self._rest + data, now)

    def _ask(self) -> None:
        self._rest = b""
        self._chunks = 0
        self._head_is_read = False
        self._asked_at = time.monotonic_ns() // 1000
        self._transport.write(self._request)

    def _read_head(self, data: bytes) -> bytes:
        """What follows the head; an incomplete head is kept in `_rest`."""
        head, found, rest = data.partition(b"\r\n\r\n")
        self._rest = b"" if found else data
        self._head_is_read = bool(found)
        if found and b" 200 " not in head.split(b"\r\n", 1)[0]:
            self._end(data[:300].decode(errors="replace"))
        return rest

    def _read_body(self, data: bytes, now: int) -> None:
        stamps = STAMP.findall(data)
        if stamps and not self._chunks:
            self._seen.first.append(now - self._asked_at)
        self._chunks += len(stamps)
        if self._seen.kind != "flooding":
            self._seen.latencies += [now - int(stamp) for stamp in stamps]
        if data.endswith(END):
            self._stream_ended()
        else:
            # Keep only what may be the beginning of a stamp or of the end; it is read again with the next bytes.
            self._rest = data[-_KEPT:]

    def _stream_ended(self) -> None:
        seen = self._seen
        seen.chunks += self._chunks
        if self._chunks != CHUNKS[seen.kind]:
            self._end(f"a stream had {self._chunks} chunks")
        elif time.monotonic() < seen.until:
            self._ask()
        else:
            self._end("")

    def _end(self, error: str) -> None:
        if self.done.done():
            return
        if error:
            self._seen.errors.append(error)
        self.done.set_result(None)
        self._transport.close()


def percentile(values: list[int], percent: int) -> int | None:
    """The value that `percent` % of the values do not exceed; None if there are no values."""
    return sorted(values)[max(0, -(-percent * len(values) // 100) - 1)] if values else None


def request(port: int, kind: str, key: str) -> bytes:
    """The complete HTTP request."""
    body = request_body(kind)
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"Accept: text/event-stream\r\nAuthorization: Bearer {key}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def load(port: int, kind: str, streams: int, seconds: float, key: str, spread: float) -> dict[str, object]:
    """Run `streams` clients and return what they see in `seconds`, once all have begun."""
    seen = Seen(kind, seconds)
    asked = request(port, kind, key)
    clients = [asyncio.create_task(_ask(port, asked, seen, spread * (n * _GOLDEN % 1))) for n in range(streams)]
    if spread:
        await asyncio.sleep(spread)
        seen.begin(seconds)
        await asyncio.wait(clients, timeout=seconds)
        return seen.summary()
    async with asyncio.timeout(seconds + LONGEST_STREAM_SECONDS):
        await asyncio.gather(*clients)
    return seen.summary()


async def _ask(port: int, asked: bytes, seen: Seen, delay: float) -> None:
    """Run one client, from its first request to the end of its last answer."""
    await asyncio.sleep(delay)
    _, client = await asyncio.get_running_loop().create_connection(lambda: Client(asked, seen), "127.0.0.1", port)
    await client.done


if __name__ == "__main__":
    port, kind, streams, seconds, key, *spread = sys.argv[1:]
    settled = load(int(port), kind, int(streams), float(seconds), key, float("".join(spread) or 0))
    print(json.dumps(uvloop.run(settled)))
