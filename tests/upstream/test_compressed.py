"""Upstream's compressed answers: what they come to counts, and no more of it is held at once than is read."""

import tracemalloc
import zlib
from collections.abc import AsyncIterator
from contextlib import suppress

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from streamviz.core.bounds import MIB, Bounds
from streamviz.core.errors import UpstreamError
from streamviz.upstream.answer import BoundedAnswer
from streamviz.upstream.loading import load
from streamviz.upstream.raw import RawAnswer, new_client, open_raw
from streamviz.upstream.targets import RoutePlan, resolve

BOUNDS = Bounds(answer_bytes=32 * MIB, event_bytes=MIB, blocks=9, values=9)


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """A GiB of zeros in a MiB of gzip, up to its checksum, which nobody comes to: each MiB is written as the second."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    first, second = (packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + 1023 * second


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    """LiteLLM, which takes more memory than is measured here."""
    load()


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    client = new_client(silence_seconds=30)
    yield client
    await client.close()


async def asked(client: aiohttp.ClientSession, server: RawTestServer) -> RawAnswer:
    plan = RoutePlan("openai/x", f"http://127.0.0.1:{server.port}", key="sk-precious")
    return await open_raw(client, resolve("x", "openai_chat", plan), b"{}", {})


@pytest.mark.parametrize("status", [200, 400])
async def test_a_bomb_is_cut_off_at_the_limit_and_never_held(
    client: aiohttp.ClientSession, bomb: bytes, status: int
) -> None:
    asks_for: list[str] = []

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        asks_for.append(request.headers["accept-encoding"])
        head = {"content-encoding": "gzip", "content-type": "text/event-stream"}
        response = web.StreamResponse(status=status, headers=head)
        await response.prepare(request)
        with suppress(ConnectionError):
            await response.write(bomb)
        return response

    server = RawTestServer(answer)
    await server.start_server()
    tracemalloc.start()
    received = 0
    try:
        with pytest.raises(UpstreamError) as raised:
            bounded = BoundedAnswer(await asked(client, server), BOUNDS)
            try:
                async for piece in bounded:
                    received += len(piece)
            finally:
                bounded.close()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        await server.close()
    assert asks_for[0] == "gzip, deflate"
    assert peak < 16 * MIB
    assert received <= BOUNDS.answer_bytes + 2 * MIB
    if status == 200:
        assert (raised.value.status, "MAX_ANSWER_MB" in raised.value.message) == (502, True)
    else:
        assert (raised.value.status, raised.value.body) == (400, b"")
