"""Upstream's compressed answers: their decompressed size counts, and only what is read is in memory."""

import json
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
from streamviz.upstream.fragments import BoundedFragments
from streamviz.upstream.loading import load
from streamviz.upstream.raw import RawAnswer, new_client, open_raw
from streamviz.upstream.sending import send_only_what_is_asked
from streamviz.upstream.targets import RoutePlan, resolve
from streamviz.upstream.translated import open_translated

# LiteLLM imports more of itself at the first call, some of it with warnings.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

BOUNDS = Bounds(answer_bytes=32 * MIB, event_bytes=MIB, events=99, blocks=9, values=99)


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """A GiB of zeros in a MiB of gzip, without the checksum, which no one reaches: the second MiB is repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    first, second = (packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + 1023 * second


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    """Load LiteLLM first, as it takes more memory than is measured here."""
    load()


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    client = new_client(silence_seconds=30)
    yield client
    await client.close()


async def asked(client: aiohttp.ClientSession, server: RawTestServer) -> RawAnswer:
    plan = RoutePlan("openai/x", f"http://127.0.0.1:{server.port}", key="sk-precious")
    return await open_raw(client, resolve("x", "openai_chat", plan), b"{}", {})


async def call(server: RawTestServer, target: str, *, stream: bool = False, embeds: bool = False) -> bytes:
    """The result of a translated call."""
    send_only_what_is_asked()
    plan = RoutePlan(target, f"http://127.0.0.1:{server.port}", key="sk-precious")
    request = {"model": "x", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 9, "stream": stream}
    wire_format = "anthropic_messages" if target.startswith("openai") else "openai_chat"
    if embeds:
        request, wire_format = {"model": "x", "input": "Hello"}, "embeddings"
    answer = await open_translated(resolve("x", wire_format, plan), request, 30, BOUNDS)
    try:
        return b"".join([piece async for piece in answer])
    finally:
        answer.close()


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("stream", [True, False], ids=["streaming", "whole"])
@pytest.mark.parametrize("target", ["anthropic/claude-x", "gemini/x", "openai/x"])
async def test_a_bomb_is_never_held_where_litellm_makes_the_call(
    bomb: bytes, target: str, stream: bool, status: int
) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(status=status, headers={"content-encoding": "gzip"})
        await response.prepare(request)
        with suppress(ConnectionError):
            await response.write(bomb)
        return response

    server = RawTestServer(answer)
    await server.start_server()
    tracemalloc.start()
    try:
        with pytest.raises(UpstreamError) as raised:
            await call(server, target, stream=stream)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        await server.close()
    assert peak < (32 if stream or status == 400 else 80) * MIB
    assert (raised.value.status, "MAX_" in raised.value.message) == ((502, True) if status == 200 else (400, False))


@pytest.mark.parametrize(
    ("target", "line", "why"),
    [
        ("openai/x", b"data: " + b"x" * 100_000, "MAX_EVENT_MB"),
        ("anthropic/claude-x", b'data: {"x": "' + b"x" * 100_000, "MAX_EVENT_MB"),
        ("gemini/x", b'data: {"x": "' + b"x" * 100_000, "MAX_EVENT_MB"),
        ("gemini/x", b"data: " + b"[" * 90, "MAX_VALUES"),
    ],
)
async def test_what_comes_in_several_lines_counts_together(target: str, line: bytes, why: str) -> None:
    async def answer(_: web.BaseRequest) -> web.Response:
        return web.Response(body=(line + b"\n") * 20, content_type="text/event-stream")

    async with RawTestServer(answer) as server:
        with pytest.raises(UpstreamError, match=why):
            await call(server, target, stream=True)


def test_what_is_no_json_is_not_looked_at_again_and_again() -> None:
    fragments = BoundedFragments()
    fragments.append('{"text": "' + "x" * 900_000)
    with pytest.raises(UpstreamError, match="not JSON"):
        for _ in range(100):
            fragments.append("}")
            fragments.pop_next_value()


def test_lines_of_one_value_are_put_together() -> None:
    fragments = BoundedFragments()
    for _ in range(100):
        fragments.append('{"text": "' + "x" * 900_000)
        assert fragments.pop_next_value() == (False, None)
        fragments.append('"}')
        assert fragments.pop_next_value()[0]


async def test_embeddings_may_have_many_numbers() -> None:
    numbers = [0.5] * 2 * BOUNDS.values

    async def answer(_: web.BaseRequest) -> web.Response:
        said = {"data": [{"embedding": numbers, "index": 0}], "model": "x", "usage": {"total_tokens": 1}}
        return web.json_response(said)

    async with RawTestServer(answer) as server:
        [told] = json.loads(await call(server, "voyage/x", embeds=True))["data"]
    assert told["embedding"] == numbers


@pytest.mark.parametrize("packing", ["gzip", "deflate", "identity", "br"])
async def test_what_litellm_reads_is_what_was_packed(packing: str) -> None:
    said = b'{"type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hi"}],"id":"m",'
    said += b'"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}'
    kind = {"gzip": 31, "deflate": 15}.get(packing)
    packer = None if kind is None else zlib.compressobj(9, zlib.DEFLATED, kind)
    body = said if packer is None else packer.compress(said) + packer.flush()

    async def answer(_: web.BaseRequest) -> web.Response:
        return web.Response(body=body, headers={"content-encoding": packing, "content-type": "application/json"})

    async with RawTestServer(answer) as server:
        if packing == "br":
            with pytest.raises(UpstreamError, match="answered in br"):
                await call(server, "anthropic/claude-x")
        else:
            assert b'"Hi"' in await call(server, "anthropic/claude-x")


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
