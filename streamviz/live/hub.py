"""A channel layer between all processes of one machine: each sends to the hub, a process that passes messages on.

It replaces Redis if there is only one machine. A message is its size (4 bytes, big-endian) and MessagePack: what the
hub is to do, a channel, and data that the hub does not look at.
"""

import asyncio
import contextlib
import os
import sys
import uuid
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec
from channels.exceptions import ChannelFull

# How many bytes a process may be behind; anything sent beyond that is lost, as with any channel layer.
_MOST_BYTES = 16 * 1024 * 1024
_MOST_MESSAGES = 1_000
_SIZE_BYTES = 4
_AWAY = "the hub between this machine's servers is down"


class _Do(StrEnum):
    HEAR = "hear"  # the sender receives what is sent to the channel
    JOIN = "join"  # the channel joins the group, of which there is only one
    LEAVE = "leave"
    SEND = "send"
    SEND_ALL = "all"


class _Frame(msgspec.Struct, array_like=True, frozen=True):
    do: _Do
    channel: str
    data: bytes = b""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Frame).decode


async def _read(reader: asyncio.StreamReader) -> _Frame:
    """Read the next frame. Raises IncompleteReadError or ConnectionError if the other end is gone."""
    return _decode(await reader.readexactly(int.from_bytes(await reader.readexactly(_SIZE_BYTES))))


def _write(writer: asyncio.StreamWriter, frame: _Frame) -> None:
    """Write a frame. Raises ChannelFull if the other end is too far behind, and ConnectionError if it is gone."""
    if writer.is_closing():
        raise ConnectionResetError(_AWAY)
    if writer.transport.get_write_buffer_size() > _MOST_BYTES:
        raise ChannelFull
    data = _encode(frame)
    writer.write(len(data).to_bytes(_SIZE_BYTES) + data)


class HubLayer:
    """One process's end, which reconnects when the hub is back. Django's CHANNEL_LAYERS names it, with the path of the
    hub's socket. Its methods raise OSError while the hub is down."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._name = uuid.uuid4().hex
        self._inboxes: dict[str, asyncio.Queue[bytes | None]] = {}
        self._joined: set[str] = set()
        self._connecting = asyncio.Lock()
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None

    async def new_channel(self, prefix: str = "specific") -> str:
        """A channel on which this process receives; the same one for the same prefix."""
        channel = f"{prefix}.{self._name}"
        await self._connect()
        if channel not in self._inboxes:
            self._inboxes[channel] = asyncio.Queue(_MOST_MESSAGES)
            await self._post(_Frame(_Do.HEAR, channel))
        return channel

    async def group_add(self, group: str, channel: str) -> None:
        """There is only one group."""
        self._joined.add(channel)
        await self._post(_Frame(_Do.JOIN, channel))

    async def group_discard(self, group: str, channel: str) -> None:
        self._joined.discard(channel)
        await self._post(_Frame(_Do.LEAVE, channel))

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        """Raises ChannelFull if the hub is too far behind."""
        await self._post(_Frame(_Do.SEND_ALL, "", message["data"]))

    async def send(self, channel: str, message: dict[str, Any]) -> None:
        """Raises ChannelFull if the hub is too far behind."""
        await self._post(_Frame(_Do.SEND, channel, message["data"]))

    async def receive(self, channel: str) -> dict[str, Any]:
        """The next message. What was sent while the hub was down is lost."""
        data = await self._inboxes[channel].get()
        if data is None:
            raise ConnectionResetError(_AWAY)
        return {"data": data}

    def close(self) -> None:
        """Disconnect; what arrives after that is lost."""
        if self._reading is not None and self._writer is not None:
            self._reading.cancel()
            self._writer.close()

    async def _post(self, frame: _Frame) -> None:
        _write(await self._connect(), frame)

    async def _connect(self) -> asyncio.StreamWriter:
        async with self._connecting:
            if self._writer is None or self._writer.is_closing():
                reader, self._writer = await asyncio.open_unix_connection(self._path)
                self._reading = asyncio.create_task(self._take(reader, self._writer), name="hub")
                known = [(_Do.HEAR, channel) for channel in self._inboxes] + [(_Do.JOIN, each) for each in self._joined]
                for do, channel in known:
                    _write(self._writer, _Frame(do, channel))
            return self._writer

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                frame = await _read(reader)
                self._deliver(frame.channel, frame.data)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
            for channel in self._joined & self._inboxes.keys():
                self._deliver(channel, None)

    def _deliver(self, channel: str, data: bytes | None) -> None:
        """The channel may have no reader any more, such as a probe that gave up: what does not fit is lost."""
        with contextlib.suppress(asyncio.QueueFull):
            self._inboxes[channel].put_nowait(data)


class Hub:
    """The process in between. What one process does not take in time is lost to it alone."""

    def __init__(self) -> None:
        self._hearing: dict[str, asyncio.StreamWriter] = {}
        self._group: set[str] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Called for each process that connects."""
        try:
            while True:
                self._take(await _read(reader), writer)
        except (asyncio.IncompleteReadError, ConnectionError, msgspec.DecodeError):
            pass
        finally:
            writer.close()
            for channel in [name for name, each in self._hearing.items() if each is writer]:
                del self._hearing[channel]
                self._group.discard(channel)

    def _take(self, frame: _Frame, writer: asyncio.StreamWriter) -> None:
        match frame.do:
            case _Do.HEAR:
                self._hearing[frame.channel] = writer
            case _Do.JOIN:
                self._group.add(frame.channel)
            case _Do.LEAVE:
                self._group.discard(frame.channel)
            case _Do.SEND:
                self._pass_on([frame.channel], frame)
            case _Do.SEND_ALL:
                self._pass_on(self._group, frame)

    def _pass_on(self, channels: Iterable[str], frame: _Frame) -> None:
        for channel in channels:
            if (writer := self._hearing.get(channel)) is not None:
                with contextlib.suppress(ChannelFull, ConnectionError):
                    _write(writer, _Frame(_Do.SEND, channel, frame.data))


async def main(path: str) -> None:
    """Pass messages on until this process is ended. Only its owner may use the socket."""
    mask = os.umask(0o177)
    server = await asyncio.start_unix_server(Hub().serve, path)
    os.umask(mask)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
