"""Clients that vanish: each sends a call, reaches a certain stage, and is gone."""

import asyncio
import contextlib
import fcntl
import json
import socket
import struct
import sys
import termios
import uuid
from dataclasses import asdict, dataclass
from typing import NamedTuple

import psycopg

from tests.simulator.process import PATHS

# The stages at which clients vanish, and the outcome of their streams; None if no stream began.
STAGES = {
    "before body": None,
    "during body": None,
    "before head": "client_disconnected",
    "mid-stream": "client_disconnected",
    "reading nothing": "client_disconnected",
    "after last word": "completed",
}
# How a client vanishes: by a reset, an orderly close, or a shutdown of one direction.
WAYS = ("reset", "close", "shut")
_LAST_WORDS = {
    "openai_chat": b"data: [DONE]\n\n",
    "anthropic_messages": b'"type":"message_stop"',
    "openai_responses": b"event: response.completed",
}
_MODELS = {
    "before head": "slow?seconds=600",
    "mid-stream": "content?chunks=50000&pace=20",
    "reading nothing": "content?chunks=30000&speed=inf",
    "after last word": "content?chunks=5&speed=inf",
}
_RESET = struct.pack("ii", 1, 0)
_PART = 4096
_MESSAGES = [{"role": "user", "content": "Hello"}]
_begun: set[str] = set()
_looking = asyncio.Lock()


@dataclass(frozen=True)
class Vanishing:
    """One client: its format, the stage at which it vanishes, and how. Its session identifies its stream."""

    session: str
    wire_format: str
    is_streaming: bool
    stage: str
    way: str

    @property
    def outcome(self) -> str | None:
        """The expected outcome of its stream."""
        return STAGES[self.stage]


class Server(NamedTuple):
    """Where to send the calls, and where the record is."""

    port: int
    key: str
    database_url: str


def clients(count: int, ways: tuple[str, ...] = WAYS) -> list[Vanishing]:
    """This many clients, of each kind in turn. An answer that does not stream has no middle."""
    kinds = [
        (wire_format, is_streaming, stage, way)
        for stage in STAGES
        for wire_format in PATHS
        for is_streaming in (True, False)
        for way in ways
        if is_streaming or stage not in ("mid-stream", "reading nothing")
    ]
    return [Vanishing(uuid.uuid4().hex, *kinds[n % len(kinds)]) for n in range(count)]


async def vanish_all(server: Server, vanishing: list[Vanishing], at_once: int) -> None:
    """Have each client reach its stage and vanish."""
    room = asyncio.Semaphore(at_once)

    async def one(client: Vanishing) -> None:
        async with room:
            _go(await come_so_far(server, client), client.way)

    await asyncio.gather(*map(one, vanishing))


async def come_so_far(server: Server, client: Vanishing) -> socket.socket:
    """The client's connection, at the moment at which it vanishes."""
    loop = asyncio.get_running_loop()
    connection = socket.socket()
    connection.setblocking(False)
    if client.stage == "reading nothing":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _PART)
    await loop.sock_connect(connection, ("127.0.0.1", server.port))
    head, body = _request(server, client)
    if client.stage == "before body":
        await loop.sock_sendall(connection, head)
    elif client.stage == "during body":
        await loop.sock_sendall(connection, head + body[: len(body) // 2])
    else:
        await loop.sock_sendall(connection, head + body)
        await _AS_FAR_AS.get(client.stage, _read)(server, connection, client)
    return connection


def _request(server: Server, client: Vanishing) -> tuple[bytes, bytes]:
    said = {"input": "Hello"} if client.wire_format == "openai_responses" else {"messages": _MESSAGES}
    model = _MODELS.get(client.stage, "content")
    body = json.dumps({"model": f"sim/{model}", "stream": client.is_streaming, "max_tokens": 900, **said}).encode()
    head = (
        f"POST {PATHS[client.wire_format]} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {server.key}\r\n"
        f"x-session-id: {client.session}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode(), body


async def _until_begun(server: Server, connection: socket.socket, client: Vanishing) -> None:
    """Wait until the stream is on record, as the client itself cannot see yet that it began."""
    while client.session not in _begun:
        async with _looking:  # one query serves all who wait
            if client.session not in _begun:
                await asyncio.sleep(0.1)
                _begun.update(await asyncio.to_thread(_sessions, server.database_url))


def _sessions(database_url: str) -> list[str]:
    with psycopg.connect(database_url) as record:
        return [label for (label,) in record.execute("SELECT name FROM records_session")]


async def _until_full(server: Server, connection: socket.socket, client: Vanishing) -> None:
    """Wait until unread data fills the receive buffer."""
    while int.from_bytes(fcntl.ioctl(connection, termios.FIONREAD, bytes(4)), sys.byteorder) < _PART // 2:
        await asyncio.sleep(0.05)


async def _read(server: Server, connection: socket.socket, client: Vanishing) -> None:
    loop = asyncio.get_running_loop()
    received = b""
    while not _has_all(received, client):
        data = await loop.sock_recv(connection, _PART)
        assert data, f"{client} was cut off: {received[-200:]!r}"
        received += data
    assert received.startswith(b"HTTP/1.1 200 "), received


_AS_FAR_AS = {"before head": _until_begun, "reading nothing": _until_full}


def _has_all(received: bytes, client: Vanishing) -> bool:
    head, _, body = received.partition(b"\r\n\r\n")
    if client.stage == "mid-stream":
        return body.count(b"data: ") >= 3
    if client.is_streaming:
        return _LAST_WORDS[client.wire_format] in body
    sizes = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length: ")]
    return len(body) == int(sizes[0].split()[1]) if sizes else body.endswith(b"0\r\n\r\n")


def _go(connection: socket.socket, way: str) -> None:
    if way == "reset":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    elif way == "shut":
        connection.shutdown(socket.SHUT_WR)
        _left_open.append(connection)
        return
    connection.close()


# These send nothing more and read nothing.
_left_open: list[socket.socket] = []


def close_left_open() -> None:
    """Close the sockets that clients left open, once it is known what became of their streams."""
    while _left_open:
        _left_open.pop().close()


async def _come_and_wait(server: Server, vanishing: list[Vanishing]) -> None:
    connections = await asyncio.gather(*(come_so_far(server, client) for client in vanishing))
    print("all there", flush=True)
    await asyncio.Event().wait()
    del connections


def as_json(server: Server, vanishing: list[Vanishing]) -> str:
    """The clients, as input for a process of clients."""
    return json.dumps({"server": list(server), "clients": [asdict(client) for client in vanishing]})


if __name__ == "__main__":  # A process to be killed: it gets the clients as JSON on standard input.
    told = json.load(sys.stdin)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_come_and_wait(Server(*told["server"]), [Vanishing(**each) for each in told["clients"]]))
