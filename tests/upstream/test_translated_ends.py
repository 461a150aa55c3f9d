"""Where a translated answer ends: as the provider said, and not where its bytes merely stop."""

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from streamviz.core.errors import UpstreamError
from streamviz.upstream.targets import RoutePlan, resolve
from streamviz.upstream.translated import open_translated

# LiteLLM imports more of itself with the first call, and not all of that is without warnings.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

GEMINI_HALF = b'data: {"candidates":[{"content":{"parts":[{"text":"half"}],"role":"model"},"index":0}]}\n\n'
PAGE = b"<html><body>Welcome</body></html>"


async def read(provider: str, body: bytes, received: list[bytes]) -> None:
    """Put into `received` what a chat client gets of a provider that streams this."""

    async def respond(request: web.BaseRequest) -> web.Response:
        await request.read()
        return web.Response(body=body, content_type="text/event-stream")

    server = RawTestServer(respond)
    await server.start_server()
    plan = RoutePlan(f"{provider}/x", f"http://127.0.0.1:{server.port}", key="sk-precious")
    request = {"model": "x", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 9, "stream": True}
    try:
        answer = await open_translated(resolve("x", "openai_chat", plan), request, 30)
        try:
            pieces = aiter(answer)
            while piece := await anext(pieces, b""):
                received.append(piece)
        finally:
            answer.close()
    finally:
        await server.close()


@pytest.mark.parametrize("provider", ["anthropic", "gemini", "ollama_chat"])
@pytest.mark.parametrize("body", [b"", PAGE], ids=["nothing", "a page"])
async def test_an_answer_that_says_nothing_is_no_whole_one(provider: str, body: bytes) -> None:
    received: list[bytes] = []
    with pytest.raises(UpstreamError):
        await read(provider, body, received)
    assert b"[DONE]" not in b"".join(received)


async def test_an_answer_that_stops_halfway_is_no_whole_one() -> None:
    received: list[bytes] = []
    with pytest.raises(UpstreamError, match="before"):
        await read("gemini", GEMINI_HALF, received)
    assert b"half" in b"".join(received)
    assert b'"stop"' not in b"".join(received)


async def test_an_answer_that_was_finished_is_a_whole_one() -> None:
    received: list[bytes] = []
    await read("gemini", GEMINI_HALF + GEMINI_HALF.replace(b'"index"', b'"finishReason":"STOP","index"'), received)
    assert b'"stop"' in b"".join(received)
