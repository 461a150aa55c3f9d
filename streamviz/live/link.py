"""A channel layer between two processes of one machine, over a pair of sockets: what one sends, the other gets."""

import asyncio
import socket
from typing import Any

from channels.exceptions import ChannelFull

# How many bytes the other process may be behind; anything sent beyond that is lost, as with any channel layer.
_MOST_BYTES = 16 * 1024 * 1024
_MOST_MESSAGES = 100
_SIZE_BYTES = 4


class Link:
    """One end. `name` distinguishes it from the other.

    `lost` is set when the other process is gone, `is_ready` once the other process has said that it is ready.
    """

    def __init__(self, end: socket.socket, name: str) -> None:
        self.lost = asyncio.Event()
        self.is_ready = False
        self._end = end
        self._name = name
        self._arrived: asyncio.Queue[bytes] = asyncio.Queue(_MOST_MESSAGES)
        self._reading: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Start reading."""
        self._reader, self._writer = await asyncio.open_connection(sock=self._end)
        self._reading = asyncio.create_task(self._read(), name="link")

    def close(self) -> None:
        """Close this end; the other process reads the end of the stream."""
        if self._reading is None:
            self._end.close()
        else:
            self._reading.cancel()
            self._writer.close()

    def say_ready(self) -> None:
        """Tell the other process that this one is ready."""
        self._writer.write(bytes(_SIZE_BYTES))

    async def new_channel(self, prefix: str) -> str:
        return f"{prefix}.{self._name}"

    async def group_add(self, group: str, channel: str) -> None:
        """There is only one group: both ends."""

    async def group_discard(self, group: str, channel: str) -> None:
        """There is only one group: both ends."""

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        await self.send(group, message)

    async def send(self, channel: str, message: dict[str, Any]) -> None:
        """Raises ChannelFull if the other process is too far behind, and BrokenPipeError if it is gone."""
        if self._writer.is_closing():
            raise BrokenPipeError("the other process is gone")
        if self._writer.transport.get_write_buffer_size() > _MOST_BYTES:
            raise ChannelFull
        data: bytes = message["data"]
        self._writer.write(len(data).to_bytes(_SIZE_BYTES) + data)

    async def receive(self, channel: str) -> dict[str, Any]:
        return {"data": await self._arrived.get()}

    async def _read(self) -> None:
        try:
            while True:
                size = int.from_bytes(await self._reader.readexactly(_SIZE_BYTES))
                if size:
                    await self._arrived.put(await self._reader.readexactly(size))
                else:
                    self.is_ready = True
        except (asyncio.IncompleteReadError, ConnectionError):
            self.lost.set()
