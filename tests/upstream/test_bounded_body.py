"""What is read from a provider when LiteLLM makes the call: up to the limit everything, unchanged, and no more."""

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Sequence

import pytest

from streamviz.core.bounds import Bounds
from streamviz.core.errors import UpstreamError
from streamviz.upstream.bounded_body import EVENTS, LINES, BoundedBody

BOUNDS = Bounds(answer_bytes=400, event_bytes=100, events=99, blocks=9, values=9)


def fault_in(line: bytes) -> UpstreamError | None:
    return UpstreamError(502, "told") if line.startswith(b"error") else None


async def read(*pieces: bytes, packing: str = "", ends: tuple[bytes, ...] = LINES) -> bytes:
    async def sent() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    return b"".join([piece async for piece in BoundedBody(sent(), packing, BOUNDS, ends)])


def cut(data: bytes, size: int) -> Sequence[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
async def test_lines_that_may_be_come_as_they_were(size: int) -> None:
    data = b"x" * 90 + b"\n\n" + b"[1,1,1,1,1,1]\n" * 20
    assert await read(*cut(data, size)) == data


@pytest.mark.parametrize("size", [7, 64])
@pytest.mark.parametrize(
    ("data", "setting"),
    [
        (b"x" * 101 + b"\n", "MAX_EVENT_MB"),
        (b"\n" + b"x" * 200, "MAX_EVENT_MB"),
        (b"short\n" * 80, "MAX_ANSWER_MB"),
        (b"\n" * 400, "MAX_EVENTS"),
        (b"data: [" + b"1," * 40 + b"1]\n", "MAX_VALUES"),
        (b"short\ndata: [" + b"1," * 40 + b"1]", "MAX_VALUES"),
    ],
)
async def test_no_more_is_read_than_may_be(data: bytes, setting: str, size: int) -> None:
    with pytest.raises(UpstreamError, match=setting) as raised:
        await read(*cut(data, size))
    assert raised.value.status == 502


async def test_others_get_their_turn_between_many_lines() -> None:
    turns: list[int] = []

    async def others() -> None:
        while True:
            turns.append(1)
            await asyncio.sleep(0)

    beside = asyncio.create_task(others())
    assert await read(b"\n" * 350) == b"\n" * 350
    assert len(turns) > 2
    beside.cancel()


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
async def test_an_event_may_have_several_lines(end: bytes, size: int) -> None:
    data = (b"event: x" + end + b"data: " + b"x" * 60 + end + b"data: [1,1,1]" + end + end) * 4
    assert await read(*cut(data, size), ends=EVENTS) == data


@pytest.mark.parametrize("size", [1, 7, 64])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize(("line", "setting"), [(b"data: x", "MAX_EVENT_MB"), (b"data: [[", "MAX_VALUES")])
async def test_all_lines_of_an_event_count(line: bytes, setting: str, end: bytes, size: int) -> None:
    data = b"data: short" + end + end + (line + end) * (15 if setting == "MAX_EVENT_MB" else 9) + end
    with pytest.raises(UpstreamError, match=setting):
        await read(*cut(data, size), ends=EVENTS)


async def test_marks_in_a_text_are_no_values() -> None:
    data = b'data: "' + b"," * 60 + b'"\n'
    assert await read(*cut(data, 7)) == data


async def test_a_whole_answer_is_one_line_of_any_length() -> None:
    assert await read(*[b"x" * 50] * 8, ends=()) == b"x" * 400


async def test_what_is_not_packed_as_it_says_is_an_error() -> None:
    with pytest.raises(UpstreamError, match="not compressed as it claims"):
        await read(b"plain words", packing="gzip")


async def test_what_is_packed_counts_as_it_is_unpacked() -> None:
    packed = zlib.compress(b"short\n" * 100)
    assert len(packed) < 100
    with pytest.raises(UpstreamError, match="MAX_ANSWER_MB"):
        await read(*cut(packed, 9), packing="deflate")


@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_gzip_may_be_of_several_members(size: int) -> None:
    packed = b"".join(map(gzip.compress, (b"one\n", b"", b"two\n"))) + b"\0\0"
    assert await read(*cut(packed, size), packing="gzip") == b"one\ntwo\n"


async def test_of_very_many_members_no_more_is_read() -> None:
    with pytest.raises(UpstreamError, match="members"):
        await read(gzip.compress(b"") * 10_001, packing="gzip")


async def test_what_comes_behind_the_end_of_what_was_packed_is_not_kept() -> None:
    pieces = [zlib.compress(b"short\n"), *[bytes(10_000)] * 50]
    tracemalloc.start()
    try:
        assert await read(*pieces, packing="gzip") == b"short\n"
        assert tracemalloc.get_traced_memory()[1] < 200_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [1, 64])
async def test_deflate_may_come_without_its_header(size: int) -> None:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    packed = packer.compress(b"short\n" * 9) + packer.flush()
    assert await read(*cut(packed, size), packing="deflate") == b"short\n" * 9


@pytest.mark.parametrize("packing", ["utf-8", "none"])
async def test_words_that_name_no_packing_are_passed_over(packing: str) -> None:
    assert await read(b"plain words", packing=packing) == b"plain words"


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
@pytest.mark.parametrize("data", [b"one\ntwo\nerror x\nthree\n", b"one\r\ntwo\r\nerror x\r\n", b"one\ntwo\nerror x"])
async def test_an_error_in_a_line_is_raised_after_the_lines_before_it(data: bytes, size: int) -> None:
    async def sent() -> AsyncIterator[bytes]:
        for piece in cut(data, size):
            yield piece

    body = aiter(BoundedBody(sent(), "", BOUNDS, LINES, fault_in))
    received = b""
    with pytest.raises(UpstreamError, match="told"):
        while True:
            received += await anext(body)
    assert received.splitlines()[:2] == [b"one", b"two"]
    assert b"error x\n" not in received
