"""Compressed requests: decompression gives the original, with work linear in the number of bytes."""

import gzip
import zlib
from random import Random

import pytest

from streamviz.core.errors import RequestError
from streamviz.proxy.unpacking import unpacked

LONG = Random(1).randbytes(300_000)


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(LONG)),
        ("gzip", gzip.compress(LONG[:70_000]) + gzip.compress(b"") + gzip.compress(LONG[70_000:])),
        ("gzip", b"".join(gzip.compress(LONG[at : at + 1_000]) for at in range(0, len(LONG), 1_000))),
        ("deflate", zlib.compress(LONG)),
        ("identity", LONG),
    ],
    ids=["one", "three", "many", "deflate", "none"],
)
async def test_a_compressed_body_is_unpacked(encoding: str, packed: bytes) -> None:
    assert await unpacked(packed, encoding) == LONG


@pytest.mark.parametrize(
    "packed",
    [gzip.compress(LONG)[:-1], gzip.compress(LONG)[:70_000], gzip.compress(b"") * 10_001, gzip.compress(b"") + b"x"],
    ids=["cut at its end", "cut", "very many", "something behind it"],
)
async def test_a_body_that_cannot_be_unpacked_is_refused(packed: bytes) -> None:
    with pytest.raises(RequestError) as raised:
        await unpacked(packed, "gzip")
    assert (raised.value.status, raised.value.code) == (400, "invalid_encoding")


async def test_a_request_that_grows_too_long_is_refused() -> None:
    with pytest.raises(RequestError) as raised:
        await unpacked(gzip.compress(bytes(33 << 20)), "gzip")
    assert (raised.value.status, raised.value.code) == (413, "too_large")
