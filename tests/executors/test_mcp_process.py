"""An untrusted program: its output, and its end."""

import asyncio
import os
import sys
from asyncio.subprocess import Process
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from streamviz.executors import mcp_process
from streamviz.executors.mcp_process import Ends, Lines, spoken_to

pytestmark = pytest.mark.integration

MOST = 300


@given(st.lists(st.binary(max_size=50).filter(lambda line: b"\n" not in line)), st.data())
def test_lines_are_those_that_were_written(lines: list[bytes], data: st.DataObject) -> None:
    written, reader = b"".join(line + b"\n" for line in lines), Lines(MOST)
    read: list[bytes | Ends] = []
    while written:
        count = data.draw(st.integers(1, len(written)))
        read += reader.feed(written[:count])
        written = written[count:]
    assert read == lines


@pytest.mark.parametrize("size", [MOST + 1, 10 * MOST])
@pytest.mark.parametrize(
    ("line", "id"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"text":"%s"}}', 7),
        (b'{ "id": 7, "jsonrpc": "2.0", "result": {"text": "%s"}}', 7),
        (b'{"result":{"text":"%s"},"jsonrpc":"2.0","id":7}', 7),
        (b'{"result":{"text":"%s"},"id":7,"jsonrpc":"2.0"}\r', 7),
        (b'{"result":{"text":"%s","id":7}}', None),
        (b'{"result":{"id":7,"text":"%s"}}', None),
        (b'{"result":{"text":"%s\\"id\\":7}"}}', None),
        (b"%s", None),
    ],
)
def test_a_long_line_says_what_it_answers(size: int, line: bytes, id: int | None) -> None:
    reader = Lines(MOST)
    long, short = [found for piece in (line % (b"x" * size), b"\n", b"short\n") for found in reader.feed(piece)]
    assert isinstance(long, Ends)
    assert long.id == id
    assert len(long.head) + len(long.tail) < MOST + 200
    assert short == b"short"


# The parent exits when its input ends; its child reports when it is told to terminate.
_PARENT = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", sys.argv[1], sys.argv[2]], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
sys.stdin.read()
"""
_CHILD = """
import os, signal, sys
def heed(*_):
    os.write(file, b"done")
    sys.exit()
signal.signal(signal.SIGTERM, heed)
file = os.open(sys.argv[1], os.O_WRONLY)
os.write(file, b"begun ")
signal.pause()
"""


async def test_what_a_program_started_has_time_to_end_though_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_process, "_END_SECONDS", 60)
    note = tmp_path / "note"
    os.mkfifo(note)
    reading = os.open(note, os.O_RDONLY | os.O_NONBLOCK)
    try:
        async with spoken_to([sys.executable, "-IS", "-c", _PARENT, _CHILD, str(note)], {}, MOST):
            while not (said := _read(reading)):
                await asyncio.sleep(0)
        assert said + _read(reading) == b"begun done"
    finally:
        os.close(reading)


async def test_no_more_programs_run_at_once_than_a_machine_bears(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_process, "MOST_PROGRAMS", 1)
    ping, order = SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=1, method="ping")), []

    async def use() -> None:
        async with spoken_to(["cat"], {"PATH": os.defpath}, MOST) as (heard, said):
            order.append("begun")
            await said.send(ping)
            assert await heard.receive() == ping
            order.append("used")

    await asyncio.gather(use(), use(), use())
    assert order == ["begun", "used"] * 3


async def test_others_get_on_while_a_program_floods_with_lines() -> None:
    lines, rounds = 20_000, 0
    said = asyncio.StreamReader()
    said.feed_data(b"x\n" * lines)
    said.feed_eof()
    to_session, from_session = anyio.create_memory_object_stream[Any](0)
    process = cast(Process, SimpleNamespace(stdout=said))
    reading = asyncio.ensure_future(mcp_process._read(process, to_session, MOST))
    while not reading.done():
        rounds += 1
        await asyncio.sleep(0)
    from_session.close()
    assert rounds > lines // 100


def _read(file: int) -> bytes:
    """The available bytes; empty if there are none yet."""
    try:
        return os.read(file, 100)
    except BlockingIOError:
        return b""
