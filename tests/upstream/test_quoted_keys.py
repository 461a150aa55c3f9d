"""If an answer quotes its call's credential, that is neither passed on nor recorded."""

from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from streamviz.upstream.quoted_keys import QuotedKey
from streamviz.upstream.raw import new_client, open_raw
from streamviz.upstream.targets import RoutePlan, resolve
from streamviz.upstream.translated_answer import Opened, TranslatedAnswer

KEY = "sk-precious-0123456789"
SAID = f'data: {{"error": "Bearer {KEY} is no longer valid", "sk-pre": "sk-"}}\n\n'.encode()
MASKED = SAID.replace(KEY.encode(), b"*" * len(KEY))


def told(pieces: list[bytes], key: str = KEY) -> bytes:
    quoted = QuotedKey(key)
    return b"".join([*map(quoted.without, pieces), quoted.rest()])


@pytest.mark.parametrize("size", range(1, len(SAID) + 1))
def test_a_key_is_masked_however_it_comes(size: int) -> None:
    assert told([SAID[at : at + size] for at in range(0, len(SAID), size)]) == MASKED


def test_text_without_a_key_goes_on_at_once() -> None:
    quoted = QuotedKey(KEY)
    for piece in (b"data: [DONE]\n\n", b'{"a": "sk"}', b"sk-preciou\n"):
        assert quoted.without(piece) == piece
    assert quoted.without(b"tasks") == b"task"
    assert quoted.without(b"k-pre") == b""
    assert quoted.rest() == b"sk-pre"


@pytest.mark.parametrize("key", ["", "lm-studio", "EMPTY", "sk-no-key-required", "local 0123456789 abc"])
def test_what_is_no_secret_is_not_masked(key: str) -> None:
    piece = f"run it with {key} as its key".encode()
    assert told([piece], key) == piece


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with new_client(silence_seconds=30) as session:
        yield session


async def test_a_key_in_a_providers_own_bytes_is_masked(client: aiohttp.ClientSession) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=SAID, content_type="text/event-stream")

    server = RawTestServer(answer)
    await server.start_server()
    try:
        plan = RoutePlan("openai/x", f"http://127.0.0.1:{server.port}", key=KEY)
        opened = await open_raw(client, resolve("x", "openai_chat", plan), b"{}", {})
        assert b"".join([piece async for piece in opened]) == MASKED
    finally:
        await server.close()


async def test_a_key_in_a_translated_answer_is_masked() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield SAID[:30]
        yield SAID[30:]

    opened = TranslatedAnswer(Opened(pieces(), None), "text/event-stream", 30, KEY)
    assert b"".join([piece async for piece in opened]) == MASKED
