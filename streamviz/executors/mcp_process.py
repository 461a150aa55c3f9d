"""An MCP server that is a program: started, spoken to line by line, and ended with everything that it started."""

import asyncio
import os
import re
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process, SubprocessStreamProtocol
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

import anyio
from anyio.lowlevel import RunVar
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from streamviz.executors.mcp_bounds import Allowance, TooMuch, failed

# Each takes tens of megabytes. A run beyond these waits for one to end, as long as its limits allow.
MOST_PROGRAMS = 64
_READ_BYTES = 64 * 1024
# Lines after which other tasks get a turn: rejecting this many short ones takes less than 1 ms, and one read may have
# thousands.
_TURN_LINES = 50
# Messages that may wait for a program that does not read: no caller waits for it, and no run makes more tool calls.
_MOST_WAITING = 1_000
# How long a program gets to end by itself, and then to react to SIGTERM.
_END_SECONDS = 0.2
_LOOK_SECONDS = 0.01
# Kept of each end of a line that is too long: its id is before or after its result.
_KEPT_BYTES = 200
_ID = re.compile(
    rb'^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,9})\s*,'
    rb'|"id"\s*:\s*(\d{1,9})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$'
)

_rooms: RunVar[anyio.Semaphore | None] = RunVar("rooms", None)


class Ends(NamedTuple):
    """The beginning and the end of a line that cannot be read as a whole."""

    head: bytes
    tail: bytes

    @property
    def id(self) -> int | None:
        """The id of the call that it answers, if it can be seen."""
        found = _ID.search(self.head) or _ID.search(self.tail)
        return int(found[1] or found[2]) if found else None


class Lines:
    """Cuts bytes into lines, and keeps at most `most` bytes of each, and its end."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._line = bytearray()
        self._tail = b""

    def feed(self, data: bytes) -> Iterator[bytes | Ends]:
        """The lines that end in these bytes."""
        *ending, begun = data.split(b"\n")
        for piece in ending:
            self._add(piece)
            yield self._end()
        self._add(begun)

    def _add(self, piece: bytes) -> None:
        room = self._most - len(self._line)
        self._line += piece[:room]
        self._tail = (self._tail + piece[room:])[-_KEPT_BYTES:]

    def _end(self) -> bytes | Ends:
        line, tail = bytes(self._line), self._tail
        self._line, self._tail = bytearray(), b""
        if not tail:
            return line
        return Ends(line[:_KEPT_BYTES], (line[-_KEPT_BYTES:] + tail)[-_KEPT_BYTES:])


@asynccontextmanager
async def spoken_to(command: Sequence[str], environment: Mapping[str, str], most: int) -> AsyncIterator[Any]:
    """The streams that an MCP client session reads from and writes to. What is not a message is dropped, and so is one
    of more than `most` bytes: its call gets an error. Raises OSError if the program cannot be started."""
    async with _room(), _started(command, environment, most) as streams:
        yield streams


def _room() -> anyio.Semaphore:
    """The semaphore of this event loop."""
    room = _rooms.get()
    if room is None:
        room = anyio.Semaphore(MOST_PROGRAMS)
        _rooms.set(room)
    return room


@asynccontextmanager
async def _started(command: Sequence[str], environment: Mapping[str, str], most: int) -> AsyncIterator[Any]:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_exec(
        lambda: SubprocessStreamProtocol(_READ_BYTES, loop),
        *command,
        env=environment,
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        start_new_session=True,
    )
    process = Process(transport, protocol, loop)
    to_session, heard = anyio.create_memory_object_stream[Any](0)
    said, from_session = anyio.create_memory_object_stream[Any](_MOST_WAITING)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_read, process, to_session, most)
            group.start_soon(_write, process, from_session)
            try:
                yield heard, said
            finally:
                group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)
        transport.close()
        for stream in (to_session, heard, said, from_session):
            stream.close()


async def _read(process: Process, session: MemoryObjectSendStream[Any], most: int) -> None:
    """Read until the output ends or exceeds its bounds; the session then sees the end of its stream."""
    from mcp.shared.message import SessionMessage

    assert process.stdout is not None
    lines, allowance = Lines(most), Allowance()
    async with session:
        with suppress(OSError, TooMuch, anyio.BrokenResourceError):
            while data := await process.stdout.read(_READ_BYTES):
                allowance.take(len(data))
                for number, line in enumerate(lines.feed(data)):
                    allowance.take(0)
                    if number % _TURN_LINES == _TURN_LINES - 1:
                        await asyncio.sleep(0)
                    if (message := _message(line, most)) is not None:
                        await session.send(SessionMessage(message))


def _message(line: bytes | Ends, most: int) -> Any:
    """The message in a line; None if nobody waits for it. Raises TooMuch for an answer that is too long if nobody can
    tell what it answers."""
    from mcp_types import jsonrpc_message_adapter

    if isinstance(line, Ends):
        if line.id is None:
            raise TooMuch
        return failed(line.id, f"its answer has more than {most} bytes")
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        answers = None if b'"method"' in line else Ends(line[:_KEPT_BYTES], line[-_KEPT_BYTES:]).id
        return None if answers is None else failed(answers, "its answer is not a message")


async def _write(process: Process, session: MemoryObjectReceiveStream[Any]) -> None:
    assert process.stdin is not None
    with suppress(OSError):
        async for each in session:
            process.stdin.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await process.stdin.drain()


async def _end(process: Process) -> None:
    """Close its input, which asks the program to end; then SIGTERM and SIGKILL go to what is left of its group."""
    assert process.stdin is not None
    process.stdin.close()
    for number, is_over in ((signal.SIGTERM, process.wait()), (signal.SIGKILL, _all_gone(process))):
        with suppress(TimeoutError):
            await asyncio.wait_for(is_over, _END_SECONDS)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)


async def _all_gone(process: Process) -> None:
    """Return once the program and everything that it started is gone. Nothing reports when the last of those is."""
    await process.wait()
    with suppress(ProcessLookupError, PermissionError):
        while True:
            os.killpg(process.pid, 0)
            await asyncio.sleep(_LOOK_SECONDS)
