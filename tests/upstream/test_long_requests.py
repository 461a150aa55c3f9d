"""Long requests are converted where no stream has to wait for it."""

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer
from litellm.llms.vertex_ai.gemini import transformation as googles
from openai._utils import _transform

from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import JsonObject, object_in
from streamviz.upstream.lite import litellm
from streamviz.upstream.targets import RoutePlan, resolve
from streamviz.upstream.translated import open_translated

# LiteLLM imports more of itself at the first call, some of it with warnings.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

MESSAGES = [{"role": "user", "content": "Hello"}]
CLAUDE = "anthropic.claude-3-5-sonnet-20241022-v2:0"
# By model, the function that converts its requests.
CONVERSIONS = {
    "anthropic/x": (litellm.AnthropicConfig, "transform_request"),
    f"bedrock/converse/{CLAUDE}": (litellm.AmazonConverseConfig, "_transform_request_helper"),
    f"bedrock/invoke/{CLAUDE}": (litellm.AmazonAnthropicClaudeConfig, "transform_request"),
    "gemini/x": (googles, "transform_request_body"),
    "ollama/x": (litellm.OllamaConfig, "transform_request"),
    "snowflake/x": (litellm.SnowflakeConfig, "transform_request"),
}


@asynccontextmanager
async def refusing(received: list[JsonObject]) -> AsyncIterator[str]:
    """The address of a provider that adds each request to `received` and refuses it."""

    async def respond(request: web.BaseRequest) -> web.Response:
        received.append(object_in(await request.read()))
        return web.json_response({"error": {"message": "no"}}, status=400)

    server = RawTestServer(respond)
    await server.start_server()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        await server.close()


async def refused(model: str, wire_format: str, request: JsonObject) -> JsonObject:
    """The request as it reaches the model's provider."""
    received: list[JsonObject] = []
    async with refusing(received) as url:
        target = resolve("x", wire_format, RoutePlan(model, url, key="sk-precious"))
        with pytest.raises(UpstreamError, match="no"):
            await open_translated(target, request, 30)
    return received[-1]


def noting(work: Callable[..., Any], found: list[Any]) -> Callable[..., Any]:
    """The same function, which also adds the thread that runs it to `found`."""

    def noted(*args: Any, **given: Any) -> Any:
        found.append(threading.get_ident())
        return work(*args, **given)

    return noted


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("model", CONVERSIONS)
async def test_a_conversation_is_converted_beside_the_event_loop(
    model: str, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_REGION_NAME", "us-east-1")
    owner, name = CONVERSIONS[model]
    threads: list[int] = []
    monkeypatch.setattr(owner, name, noting(getattr(owner, name), threads))
    sent = await refused(model, "openai_chat", {"messages": MESSAGES, "max_tokens": 9, "stream": stream})
    assert "Hello" in str(sent)
    assert threads
    assert threading.get_ident() not in threads


REQUESTS: dict[str, JsonObject] = {
    "openai_chat": {"messages": MESSAGES, "stream": True},
    "anthropic_messages": {"messages": MESSAGES, "max_tokens": 9, "stream": True},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}], "stream": True},
    "embeddings": {"input": ["Hello"]},
}


@pytest.mark.parametrize("wire_format", REQUESTS)
async def test_openais_sdk_does_not_look_at_every_message(wire_format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    look = "_async_transform_recursive"
    monkeypatch.setattr(_transform, look, noting(getattr(_transform, look), looks))
    assert "Hello" in str(await refused("azure/x", wire_format, REQUESTS[wire_format]))
    assert not looks
