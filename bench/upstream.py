"""A provider that costs next to nothing: `python -m bench.upstream PORT`.

It answers every request with the same stream: a chunk every 20 ms if the model's name ends in `paced` or `long`, every
100 ms for `story`, otherwise (`flooding`) all at once. Paced chunks carry the time at which they were sent.
"""

import asyncio
import sys
import time
from typing import cast

import uvloop

from bench.wire import PACE_SECONDS, STAMP, events, stamp

HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)


def framed(event: bytes) -> bytes:
    """An event as one HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(event), event)


END = b"0\r\n\r\n"
FLOOD = HEAD + b"".join(map(framed, events("flooding"))) + END
PACED = {kind: [framed(event) for event in events(kind)] for kind in PACE_SECONDS}


class Provider(asyncio.Protocol):
    """One connection; requests arrive one after another."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._loop = asyncio.get_running_loop()
        self._request = b""

    def data_received(self, data: bytes) -> None:
        self._request += data
        head, found, body = self._request.partition(b"\r\n\r\n")
        if found and len(body) >= _content_length(head):
            self._request = b""
            self._answer(next((kind for kind in PACED if kind.encode() + b'"' in body), None))

    def _answer(self, kind: str | None) -> None:
        if kind is None:
            self._transport.write(FLOOD)
            return
        self._transport.write(HEAD + PACED[kind][0])  # it has no text yet; the first with text follows at once
        self._send(PACED[kind], PACE_SECONDS[kind], 1, self._loop.time())

    def _send(self, paced: list[bytes], pace: float, position: int, due: float) -> None:
        """Send a chunk and schedule the next; a late chunk does not delay those after it."""
        if self._transport.is_closing():
            return
        chunk = STAMP.sub(stamp(time.monotonic_ns() // 1000), paced[position])
        if position + 1 == len(paced):
            self._transport.write(chunk + END)
            return
        self._transport.write(chunk)
        due += pace
        self._loop.call_at(due, self._send, paced, pace, position + 1, due)


def _content_length(head: bytes) -> int:
    _, found, rest = head.lower().partition(b"content-length:")
    return int(rest.split(b"\r\n", 1)[0]) if found else 0


async def serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Provider, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
