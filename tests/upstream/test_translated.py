"""The translated lane for real: LiteLLM calls a simulator that speaks Anthropic's format."""

import asyncio
import json
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamState, ToolCallStreamBlock
from streamviz.core.errors import RequestError, UpstreamError
from streamviz.core.sse import SSEParser
from streamviz.core.wire.openai_chat import OpenAIChatAggregator
from streamviz.upstream.sending import send_only_what_is_asked
from streamviz.upstream.targets import Lane, RoutePlan, Target, resolve
from streamviz.upstream.translated import open_translated, require_translatable
from streamviz.upstream.translated_answer import TranslatedAnswer
from tests.simulator.process import Simulator

# LiteLLM imports more of itself at the first call, some of it with warnings.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

CHAT = "openai_chat"
TOOLS = [{"type": "function", "function": {"name": "run_shell", "parameters": {"type": "object", "properties": {}}}}]


def target(simulator: Simulator, model: str) -> Target:
    found = resolve("smart", CHAT, RoutePlan(f"anthropic/{model}", simulator.url, key="test"))
    assert found.lane is Lane.TRANSLATED
    return found


def request(**more: Any) -> dict[str, object]:
    return {"model": "smart", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 900, **more}


async def ask(simulator: Simulator, model: str, **more: Any) -> TranslatedAnswer:
    return await open_translated(target(simulator, model), request(**more), silence_seconds=30)


async def state_of(answer: TranslatedAnswer) -> StreamState:
    """What the answer's bytes add up to, read in OpenAI's format."""
    data = b"".join([piece async for piece in answer])
    aggregator = OpenAIChatAggregator()
    if answer.headers["content-type"] == "application/json":
        aggregator.aggregate(Chunk(0, 0, data, data))
    else:
        parser = SSEParser()
        for seq, event in enumerate([*parser.feed(data), *parser.close()]):
            aggregator.aggregate(Chunk(seq, 0, event.raw, event.data, event.name))
        assert aggregator.has_end_mark
    aggregator.close()
    return aggregator.state


@pytest.fixture(params=[True, False], ids=["streaming", "whole"])
def stream(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


async def test_text_comes_in_the_clients_format(simulator: Simulator, stream: bool) -> None:
    state = await state_of(await ask(simulator, "content?seed=7", stream=stream))
    [block] = state.blocks
    assert (block.kind, state.finish_reason) == ("content", "stop")
    assert block.text
    assert asked(simulator)["model"] == "content?seed=7"


def requests(simulator: Simulator) -> list[dict[str, Any]]:
    """The requests that the simulator received, oldest first."""
    found: list[dict[str, Any]] = simulator.get_json("/_requests")["requests"]
    return found


def asked(simulator: Simulator) -> dict[str, Any]:
    """The body of the last request that the simulator received."""
    last = requests(simulator)[-1]
    assert last["path"] == "/v1/messages"
    body: dict[str, Any] = last["body"]
    return body


def calls_of(state: StreamState) -> list[tuple[str, object]]:
    return [(block.name, json.loads(block.text)) for block in state.blocks if isinstance(block, ToolCallStreamBlock)]


async def test_a_stream_and_a_whole_answer_say_the_same(simulator: Simulator) -> None:
    streamed = await state_of(await ask(simulator, "content-tools-empty?seed=3", stream=True))
    whole = await state_of(await ask(simulator, "content-tools-empty?seed=3"))
    assert "".join(b.text for b in streamed.blocks if b.kind == "content") == "".join(
        b.text for b in whole.blocks if b.kind == "content"
    )
    assert calls_of(streamed) == calls_of(whole) != []


async def test_tools_go_out_and_calls_come_back(simulator: Simulator, stream: bool) -> None:
    state = await state_of(await ask(simulator, "dangerous?seed=1", stream=stream, tools=TOOLS, temperature=0.5))
    call = state.blocks[-1]
    assert isinstance(call, ToolCallStreamBlock)
    assert (call.kind, call.name, state.finish_reason) == ("tool_call", "run_shell", "tool_calls")
    assert "rm -rf" in json.loads(call.text)["command"]
    body = asked(simulator)
    assert [tool["name"] for tool in body["tools"]] == ["run_shell"]
    assert (body["temperature"], body["max_tokens"]) == (0.5, 900)


async def test_usage_comes_with_an_answer(simulator: Simulator) -> None:
    streamed = await ask(simulator, "content?seed=7", stream=True, stream_options={"include_usage": True})
    usage = (await state_of(streamed)).usage
    whole = (await state_of(await ask(simulator, "content?seed=7"))).usage
    assert usage is not None
    assert whole is not None
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (whole["prompt_tokens"], whole["completion_tokens"])


async def test_the_credential_goes_in_the_providers_own_header(simulator: Simulator) -> None:
    await state_of(await ask(simulator, "content?chunks=1"))
    headers = requests(simulator)[-1]["headers"]
    assert headers["x-api-key"].startswith("sha256:")
    assert "authorization" not in headers


@pytest.mark.parametrize(
    ("model", "status"), [("error-400", 400), ("error-401", 401), ("error-429", 429), ("error-500", 500)]
)
async def test_a_refusal_keeps_its_status(simulator: Simulator, model: str, status: int, stream: bool) -> None:
    before = len(requests(simulator))
    with pytest.raises(UpstreamError) as raised:
        await ask(simulator, model, stream=stream)
    assert raised.value.status == status
    assert raised.value.message
    assert len(requests(simulator)) == before + 1  # retrying is up to the client


async def test_a_refusal_says_when_to_come_back(simulator: Simulator) -> None:
    send_only_what_is_asked()
    with pytest.raises(UpstreamError) as raised:
        await ask(simulator, "error-429", stream=True)
    assert int(raised.value.headers["retry-after"]) > 0


async def test_a_provider_that_is_not_there_is_an_upstream_error() -> None:
    nobody = resolve("smart", CHAT, RoutePlan("anthropic/x", "http://127.0.0.1:9", key="test"))
    with pytest.raises(UpstreamError) as raised:
        await open_translated(nobody, request(), silence_seconds=30)
    assert raised.value.status >= 500


@pytest.mark.parametrize("model", ["error-midstream", "disconnect"])
async def test_breaking_off_in_the_middle_is_an_error_after_what_came(simulator: Simulator, model: str) -> None:
    answer = await ask(simulator, model, stream=True)
    came = b""
    with pytest.raises(UpstreamError):
        async for piece in answer:
            came += piece
    assert b'"content"' in came
    assert b"[DONE]" not in came


async def test_upstream_is_closed_when_the_reader_is_cancelled(simulator: Simulator) -> None:
    answer = await ask(simulator, "stall?seconds=600&speed=20", stream=True)
    first = asyncio.Event()

    async def read() -> None:
        async for _ in answer:
            first.set()

    reader = asyncio.create_task(read())
    await first.wait()
    reader.cancel()
    await asyncio.gather(reader, return_exceptions=True)
    answer.close()
    last = requests(simulator)[-1]["id"]
    async with asyncio.timeout(60):
        ended = await asyncio.to_thread(simulator.get_json, f"/_ended/{last}")
    assert ended["closed_early"] is True


async def test_closing_ends_the_connection_in_the_middle(simulator: Simulator) -> None:
    answer = await ask(simulator, "stall?seconds=600&speed=20", stream=True)
    pieces = aiter(answer)
    await anext(pieces)
    answer.close()
    last = requests(simulator)[-1]["id"]
    async with asyncio.timeout(60):
        ended = await asyncio.to_thread(simulator.get_json, f"/_ended/{last}")
    assert ended["closed_early"] is True


HOSTILE = [
    "api_base",
    "base_url",
    "api_key",
    "api_version",
    "mock_response",
    "mock_tool_calls",
    "extra_headers",
    "extra_body",
    "headers",
    "custom_llm_provider",
    "fallbacks",
    "model_list",
    "num_retries",
    "timeout",
    "client",
    "callbacks",
    "success_callback",
    "drop_params",
    "input_cost_per_token",
    "litellm_params",
    "aws_secret_access_key",
    "vertex_credentials",
    "caching",
    "proxy_server_request",
    "no_such_parameter",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_client_cannot_set_what_is_not_the_models(name: str) -> None:
    smart = Target("claude", "anthropic", CHAT, Lane.TRANSLATED)
    with pytest.raises(RequestError) as raised:
        require_translatable(smart, request(**{name: "http://evil.test"}))
    assert (raised.value.status, raised.value.param) == (400, name)


def test_what_the_model_understands_is_let_through() -> None:
    smart = Target("claude", "anthropic", CHAT, Lane.TRANSLATED)
    require_translatable(smart, request(tools=TOOLS, stream=True, metadata={"session_id": "s"}, reasoning_effort="low"))


@pytest.mark.parametrize(("name", "value"), [("previous_response_id", "resp_1"), ("background", True)])
def test_what_the_provider_would_have_to_keep_is_refused_where_it_keeps_nothing(name: str, value: object) -> None:
    chat_only = Target("claude", "anthropic", "openai_responses", Lane.TRANSLATED)
    with pytest.raises(RequestError) as raised:
        require_translatable(chat_only, {"model": "claude", "input": "Hello", name: value})
    assert (raised.value.status, raised.value.param) == (400, name)
    require_translatable(chat_only, {"model": "claude", "input": "Hello", name: None})
