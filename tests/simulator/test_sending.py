"""How bytes are sent: in how many writes, and what happens if the client leaves."""

import asyncio
import json
import logging
import socket
from collections.abc import Iterator
from typing import Any, cast

import aiohttp
import pytest
from aiohttp.test_utils import TestServer

from streamviz.simulator.app import make_app
from streamviz.simulator.ledger import Exchange, Ledger
from streamviz.simulator.sending import MOST_JOINED, Sender
from tests.simulator.process import Simulator, http_chunks


def test_a_flood_is_sent_in_few_writes(simulator: Simulator, wire_format: str) -> None:
    sizes = http_chunks(simulator, wire_format, "content?chunks=2000&seed=3")
    assert all(16_000 < size < 18_000 for size in sizes[:-1])


def test_at_a_pace_each_chunk_is_a_write(simulator: Simulator, wire_format: str) -> None:
    assert len(http_chunks(simulator, wire_format, "content?chunks=200&pace=1&seed=3")) >= 200


class Rounds:
    """A response that no one reads, which counts its writes."""

    prepared = True

    def __init__(self) -> None:
        self.writes = 0

    async def write(self, data: bytes) -> None:
        self.writes += 1

    async def write_eof(self) -> None:
        """Nothing to end."""


async def test_of_many_floods_one_gets_on_in_a_round_of_the_loop() -> None:
    ledger, floods, responses = Ledger(), asyncio.Lock(), [Rounds() for _ in range(50)]
    loop_rounds = 0

    async def flood(response: Rounds) -> None:
        exchange = Exchange("POST", "/", {}, b"")
        sender = Sender(cast(Any, None), cast(Any, response), ledger, exchange, floods)
        await sender.send([(0.0, b"x" * MOST_JOINED)] * 20)

    flooding = asyncio.gather(*map(flood, responses))
    while not flooding.done():
        await asyncio.sleep(0)
        loop_rounds += 1
    writes = sum(response.writes for response in responses)
    assert writes == 50 * 20
    assert loop_rounds >= writes - len(responses)  # the first write of each takes no turn


@pytest.mark.parametrize("model", ["stall?seconds=3600", "content?chunks=100000", "content?pace=100000"])
def test_it_stops_when_the_client_leaves(simulator: Simulator, wire_format: str, model: str) -> None:
    connection = simulator.connect()
    body = json.dumps({"model": model, "stream": True, "messages": [], "input": ""})
    path = simulator.paths[wire_format]
    connection.request("POST", path, body)
    if "100000" not in model.partition("pace")[2]:
        simulator.response(connection).read1(100)
    request_id = newest_open(simulator, path)
    connection.sock.shutdown(socket.SHUT_RDWR)
    connection.close()
    assert simulator.get_json(f"/_ended/{request_id}")["closed_early"] is True


async def test_a_client_that_left_while_something_was_written_is_no_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    send = Sender.send

    async def send_to_nobody(sender: Sender, *given: Any) -> None:
        transport = sender._request.transport
        assert transport is not None
        transport.close()
        await send(sender, *given)

    monkeypatch.setattr(Sender, "send", send_to_nobody)
    asked = {"model": "content?speed=inf", "stream": True, "messages": []}
    async with TestServer(make_app()) as server, aiohttp.ClientSession() as client:
        with pytest.raises(aiohttp.ClientError):
            await client.post(server.make_url("/v1/chat/completions"), json=asked)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def newest_open(simulator: Simulator, path: str) -> str:
    while True:
        rows = simulator.get_json("/_open")["responses"]
        still = [row["id"] for row in rows if row["open"] and row["path"] == path]
        if still:
            return still[-1]


def test_a_stalled_response_is_counted_as_open(simulator: Simulator) -> None:
    response = simulator.ask("openai_chat", "stall?seconds=3600")
    request_id = response.headers["x-simulator-request"]
    response.read1(100)
    listed = simulator.get_json("/_open")
    assert listed["open"] >= 1
    assert [row["open"] for row in listed["responses"] if row["id"] == request_id] == [True]
    response.close()


def test_a_dropped_connection_has_no_end(simulator: Simulator, wire_format: str) -> None:
    with socket.create_connection(("127.0.0.1", simulator.port), timeout=30) as plain:
        body = json.dumps({"model": "disconnect", "stream": True, "messages": [], "input": ""}).encode()
        head = f"POST {simulator.paths[wire_format]} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        plain.sendall(head.encode() + body)
        received = b"".join(until_closed(plain))
    assert received.startswith(b"HTTP/1.1 200")
    assert not received.endswith(b"0\r\n\r\n")


def until_closed(plain: socket.socket) -> Iterator[bytes]:
    try:
        while data := plain.recv(65536):
            yield data
    except ConnectionResetError:
        return
