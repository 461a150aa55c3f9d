"""A hub, as seen from three processes, like servers of one machine."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from streamviz.live.hub import Hub, HubLayer

GROUP = "all"
PATIENCE = 60


class Running:
    """A hub that can die and come back."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._layers: list[HubLayer] = []

    async def start(self) -> None:
        hub = Hub()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._writers.add(writer)
            await hub.serve(reader, writer)

        self._server = await asyncio.start_unix_server(serve, self.path)

    async def die(self) -> None:
        assert self._server
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()
        self.path.unlink(missing_ok=True)

    def layer(self) -> HubLayer:
        self._layers.append(HubLayer(str(self.path)))
        return self._layers[-1]

    def leave(self) -> None:
        """Close all connections."""
        for layer in self._layers:
            layer.close()


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[Running]:
    running = Running(tmp_path / "hub")
    await running.start()
    yield running
    running.leave()
    await running.die()


async def joined(hub: Running) -> tuple[HubLayer, str]:
    layer = hub.layer()
    name = await layer.new_channel("streamviz.worker")
    await layer.group_add(GROUP, name)
    await layer.send(name, {"data": b"I am there"})
    assert await heard(layer, name) == b"I am there"
    return layer, name


async def heard(layer: HubLayer, name: str) -> bytes:
    async with asyncio.timeout(PATIENCE):
        data: bytes = (await layer.receive(name))["data"]
        return data


async def test_one_process_or_all_get_what_is_sent_in_its_order(hub: Running) -> None:
    (one, first), (two, second), (three, third) = [await joined(hub) for _ in range(3)]
    sent = [b"x", b"y" * 3_000_000, b""]
    for data in sent:
        await one.send(second, {"type": "streamviz.message", "data": data})
    await one.group_send(GROUP, {"type": "streamviz.message", "data": b"to all"})
    assert [await heard(two, second) for _ in range(4)] == [*sent, b"to all"]
    assert [await heard(three, third), await heard(one, first)] == [b"to all", b"to all"]


async def test_a_process_that_leaves_or_dies_is_sent_nothing(hub: Running) -> None:
    (one, first), (two, second), (three, third) = [await joined(hub) for _ in range(3)]
    await two.group_discard(GROUP, second)
    await two.send(second, {"data": b"it has left"})
    assert await heard(two, second) == b"it has left"
    assert three._writer
    three._writer.transport.abort()
    await one.group_send(GROUP, {"data": b"one"})
    assert await heard(one, first) == b"one"
    await one.send(second, {"data": b"two"})
    assert await heard(two, second) == b"two"
    with pytest.raises(OSError, match="down"):
        await heard(three, third)


async def test_all_processes_find_each_other_again_where_the_hub_dies(hub: Running) -> None:
    (one, first), (two, second) = [await joined(hub) for _ in range(2)]
    await hub.die()
    for layer, name in ((one, first), (two, second)):
        with pytest.raises(OSError, match="down"):
            await heard(layer, name)
        with pytest.raises(OSError):  # noqa: PT011 - whatever the system says of a socket that is gone
            await layer.send(first, {"data": b"lost"})
    await hub.start()
    await two.send(second, {"data": b"I am back"})
    assert await heard(two, second) == b"I am back"
    await one.group_send(GROUP, {"data": b"hello"})
    assert [await heard(one, first), await heard(two, second)] == [b"hello", b"hello"]


async def test_what_is_no_message_ends_its_sender_alone(hub: Running) -> None:
    one, first = await joined(hub)
    reader, writer = await asyncio.open_unix_connection(hub.path)
    writer.write((5).to_bytes(4) + b"\xc1junk")
    async with asyncio.timeout(PATIENCE):
        assert await reader.read() == b""
    writer.close()
    await one.send(first, {"data": b"still here"})
    assert await heard(one, first) == b"still here"
