"""The translated lane for every pair of formats: the simulator speaks another format than the client."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import chain
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer
from litellm.types.utils import Delta

from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import encode
from streamviz.core.sse import write_event
from streamviz.core.wire.openai_responses_seals import summary_in
from streamviz.core.wire.translation import ANTHROPIC_MESSAGES, OPENAI_CHAT, OPENAI_RESPONSES
from streamviz.upstream.sending import send_only_what_is_asked
from streamviz.upstream.targets import Lane, RoutePlan, Target, resolve
from streamviz.upstream.translated import open_translated
from streamviz.upstream.translated_answer import TranslatedAnswer
from tests.core.wire import legal
from tests.core.wire.official import Told, payloads, read_back, take_in, told_of
from tests.simulator.process import Simulator

# LiteLLM imports more of itself at the first call, some of it with warnings.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

PAIRS = [
    (OPENAI_CHAT, "anthropic"),
    (OPENAI_CHAT, "databricks"),
    (ANTHROPIC_MESSAGES, "openai"),
    (ANTHROPIC_MESSAGES, "groq"),
    (ANTHROPIC_MESSAGES, "minimax"),
    (OPENAI_RESPONSES, "anthropic"),
    (OPENAI_RESPONSES, "groq"),
]
SCENARIOS = ["content", "tools", "thinking", "parallel-tools", "refusal", "length", "two-calls-one-chunk", "hostile"]


def target(simulator: Simulator, wire_format: str, provider: str, model: str) -> Target:
    url = simulator.url if provider in ("anthropic", "minimax") else f"{simulator.url}/v1"
    found = resolve("smart", wire_format, RoutePlan(f"{provider}/{model}", url, key="test"))
    assert found.lane is Lane.TRANSLATED
    return found


async def ask(simulator: Simulator, wire_format: str, provider: str, model: str, **more: Any) -> TranslatedAnswer:
    said: dict[str, object] = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 900}
    if wire_format == OPENAI_RESPONSES:
        said = {"input": "Hello"}
    request = {"model": "smart", **said, **more}
    return await open_translated(target(simulator, wire_format, provider, model), request, silence_seconds=30)


async def bytes_of(answer: TranslatedAnswer) -> bytes:
    return b"".join([piece async for piece in answer])


def sent(simulator: Simulator) -> tuple[str, bytes]:
    """The format and the bytes of the simulator's last answer."""
    last = simulator.get_json("/_requests")["requests"][-1]
    [wire_format] = [name for name, path in simulator.paths.items() if path == last["path"]]
    return wire_format, simulator.get(f"/_sent/{last['id']}")


def said_upstream(simulator: Simulator, wire_format: str) -> Told:
    source, data = sent(simulator)
    aggregator, _ = take_in(source, data if b"data: {" in data else b"data: " + data + b"\n\n")
    return told_of(aggregator.state, is_one_text=wire_format != OPENAI_CHAT)


@pytest.mark.parametrize(("wire_format", "provider"), PAIRS)
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_a_stream_says_in_the_clients_format_what_upstream_said(
    simulator: Simulator, wire_format: str, provider: str, scenario: str
) -> None:
    answer = await ask(simulator, wire_format, provider, f"{scenario}?seed=5", stream=True)
    data = await bytes_of(answer)
    want = said_upstream(simulator, wire_format)
    got = read_back(wire_format, data)
    assert answer.headers["content-type"] == "text/event-stream"
    assert (got.content, got.thinking) == (want.content, want.thinking)
    assert [call[1:] for call in got.calls] == [call[1:] for call in want.calls]
    assert all(got_id for got_id, *_ in got.calls)
    legal.check(wire_format, payloads(data))


@pytest.mark.parametrize(("wire_format", "provider"), PAIRS)
@pytest.mark.parametrize("scenario", ["content", "tools", "thinking", "parallel-tools", "refusal"])
async def test_a_whole_answer_says_in_the_clients_format_what_upstream_said(
    simulator: Simulator, wire_format: str, provider: str, scenario: str
) -> None:
    answer = await ask(simulator, wire_format, provider, f"{scenario}?seed=5")
    data = await bytes_of(answer)
    want = said_upstream(simulator, wire_format)
    aggregator, _ = take_in(wire_format, b"data: " + data + b"\n\n")
    got = told_of(aggregator.state, is_one_text=wire_format != OPENAI_CHAT)
    assert answer.headers["content-type"] == "application/json"
    assert got.content == want.content
    assert [call[1:] for call in got.calls] == [call[1:] for call in want.calls]


@pytest.mark.parametrize(("wire_format", "provider"), [pair for pair in PAIRS if pair[1] != "databricks"])
async def test_usage_is_what_upstream_counted(simulator: Simulator, wire_format: str, provider: str) -> None:
    more = {"stream_options": {"include_usage": True}} if wire_format == OPENAI_CHAT else {}
    answer = await ask(simulator, wire_format, provider, "content?seed=7&chunks=20", stream=True, **more)
    aggregator, _ = take_in(wire_format, await bytes_of(answer))
    source, data = sent(simulator)
    upstream, _ = take_in(source, data)
    numbers = [
        [next(usage[key] for key in keys if key in usage) for keys in (("input_tokens", "prompt_tokens"),
                                                                      ("output_tokens", "completion_tokens"))]
        for usage in (aggregator.state.usage, upstream.state.usage)
    ]  # fmt: skip
    assert numbers[0] == numbers[1]


async def test_usage_that_upstream_does_not_tell_is_not_estimated(simulator: Simulator) -> None:
    # LiteLLM does not request it from this provider.
    more = {"stream_options": {"include_usage": True}}
    answer = await ask(simulator, OPENAI_CHAT, "databricks", "content?seed=7&chunks=20", stream=True, **more)
    aggregator, _ = take_in(OPENAI_CHAT, await bytes_of(answer))
    assert aggregator.state.usage is None
    assert aggregator.has_end_mark


async def test_all_stop_sequences_reach_upstream(simulator: Simulator) -> None:
    stops = list("abcde")
    answer = await ask(simulator, ANTHROPIC_MESSAGES, "openai", "content?chunks=2", stream=True, stop_sequences=stops)
    await bytes_of(answer)
    assert simulator.get_json("/_requests")["requests"][-1]["body"]["stop"] == stops


@pytest.mark.parametrize(("wire_format", "provider"), PAIRS)
async def test_tools_and_their_results_reach_upstream(simulator: Simulator, wire_format: str, provider: str) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    function = {"name": "read_file", "description": "Reads.", "parameters": schema}
    tools: dict[str, Any] = {
        OPENAI_CHAT: {"type": "function", "function": function},
        ANTHROPIC_MESSAGES: {"name": "read_file", "description": "Reads.", "input_schema": schema},
        OPENAI_RESPONSES: {"type": "function", **function},
    }
    await bytes_of(await ask(simulator, wire_format, provider, "tools?seed=1", stream=True, tools=[tools[wire_format]]))
    [tool] = simulator.get_json("/_requests")["requests"][-1]["body"]["tools"]
    assert tool.get("function", tool)["name"] == "read_file"


@pytest.mark.parametrize(("wire_format", "provider"), PAIRS)
async def test_the_first_words_are_there_while_upstream_still_sends(
    simulator: Simulator, wire_format: str, provider: str
) -> None:
    answer = await ask(simulator, wire_format, provider, "content?chunks=100000&pace=5", stream=True)
    async for piece in answer:
        if b"delta" in piece:
            break
    last = simulator.get_json("/_requests")["requests"][-1]["id"]
    answer.close()
    async with asyncio.timeout(60):
        assert (await asyncio.to_thread(simulator.get_json, f"/_ended/{last}"))["closed_early"] is True


async def test_a_model_of_the_responses_kind_that_nobody_knows_is_streamed(simulator: Simulator) -> None:
    unknown = Target("content?chunks=100000&pace=5", "openai", OPENAI_RESPONSES, Lane.TRANSLATED,
                     base_url=f"{simulator.url}/v1", key="test")  # fmt: skip
    answer = await open_translated(unknown, {"model": "smart", "input": "Hello", "stream": True}, silence_seconds=30)
    async for piece in answer:
        if b"output_text.delta" in piece:
            break
    answer.close()
    assert simulator.get_json("/_requests")["requests"][-1]["body"]["stream"] is True


@pytest.mark.parametrize(("wire_format", "provider"), PAIRS)
async def test_a_refusal_has_the_providers_own_words(simulator: Simulator, wire_format: str, provider: str) -> None:
    send_only_what_is_asked()
    before = len(simulator.get_json("/_requests")["requests"])
    with pytest.raises(UpstreamError) as raised:
        await bytes_of(await ask(simulator, wire_format, provider, "error-429", stream=True))
    _, data = sent(simulator)
    assert raised.value.status == 429
    assert raised.value.message == json.loads(data)["error"]["message"]
    assert int(raised.value.headers["retry-after"]) > 0
    # Retrying is up to the client.
    assert len(simulator.get_json("/_requests")["requests"]) == before + 1


@pytest.mark.parametrize("wire_format", [OPENAI_CHAT, ANTHROPIC_MESSAGES, OPENAI_RESPONSES])
async def test_a_stream_of_geminis_is_open_before_it_is_answered(wire_format: str) -> None:
    """LiteLLM makes that call only when the first chunk is requested, long after the client got its status."""

    send_only_what_is_asked()

    async def refuse(_: web.BaseRequest) -> web.Response:
        body = {"error": {"code": 429, "message": "Quota exceeded.", "status": "RESOURCE_EXHAUSTED"}}
        return web.json_response(body, status=429, headers={"retry-after": "7"})

    async with RawTestServer(refuse) as provider:
        url = str(provider.make_url("/"))
        with pytest.raises(UpstreamError) as refused:
            await open_at(url, wire_format)
    assert (refused.value.status, refused.value.message) == (429, "Quota exceeded.")
    assert (refused.value.kind, refused.value.headers["retry-after"]) == ("rate_limit_error", "7")

    with pytest.raises(UpstreamError) as unreached:
        await open_at(url, wire_format)
    assert (unreached.value.status, unreached.value.message) == (
        502,
        "gemini could not be reached: Connection refused",
    )


async def open_at(url: str, wire_format: str) -> TranslatedAnswer:
    said: dict[str, object] = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 900}
    if wire_format == OPENAI_RESPONSES:
        said = {"input": "Hello"}
    at = resolve("smart", wire_format, RoutePlan("gemini/gemini-2.5-pro", url, key="test"))
    return await open_translated(at, {"model": "smart", **said, "stream": True}, silence_seconds=30)


@pytest.mark.parametrize("provider", ["anthropic", "groq"])
@pytest.mark.parametrize("stream", [True, False])
async def test_a_call_of_a_tool_of_plain_text_comes_back_as_that(
    simulator: Simulator, provider: str, stream: bool
) -> None:
    tool = {"type": "custom", "name": "read_file", "format": {"type": "text"}}
    answer = await ask(simulator, OPENAI_RESPONSES, provider, "tools?seed=1", stream=stream, tools=[tool])
    data = await bytes_of(answer)
    response = payloads(data)[-1]["response"] if stream else json.loads(data)
    called = [item for item in response["output"] if item["type"].endswith("_call")]
    kinds = {(item["type"], item["name"] == "read_file") for item in called}
    assert kinds in ({("custom_tool_call", True)}, {("custom_tool_call", True), ("function_call", False)})
    # The simulator's arguments are not text, and stay as they are.
    want = said_upstream(simulator, OPENAI_RESPONSES).calls
    said = [json.loads(item.get("input") or item["arguments"]) for item in called]
    assert said == [arguments for *_, arguments in want]


@pytest.mark.parametrize("provider", ["anthropic", "groq"])
@pytest.mark.parametrize("stream", [True, False])
async def test_a_conversation_is_shortened_to_the_models_summary_of_it(
    simulator: Simulator, provider: str, stream: bool
) -> None:
    said: list[object] = [{"role": "user", "content": "Hello"}, {"type": "compaction_trigger"}]
    answer = await ask(simulator, OPENAI_RESPONSES, provider, "content?seed=1", stream=stream, input=said)
    data = await bytes_of(answer)
    response = payloads(data)[-1]["response"] if stream else json.loads(data)
    [compaction] = response["output"]
    assert summary_in(compaction) == said_upstream(simulator, OPENAI_RESPONSES).content.strip()


@pytest.mark.parametrize("provider", ["anthropic", "groq"])
async def test_a_tool_of_a_namespace_goes_upstream_by_both_names(simulator: Simulator, provider: str) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    members = [{"type": "function", "name": "read", "parameters": schema}, {"type": "custom", "name": "patch"}]
    tools = [{"type": "namespace", "name": "fs", "description": "Files.", "tools": members}]
    await bytes_of(await ask(simulator, OPENAI_RESPONSES, provider, "content?seed=1", stream=True, tools=tools))
    told = simulator.get_json("/_requests")["requests"][-1]["body"]["tools"]
    assert [tool.get("function", tool)["name"] for tool in told] == ["fs__read", "fs__patch"]
    assert "namespace" not in json.dumps(told)


@pytest.mark.parametrize("stream", [True, False])
async def test_a_whole_answer_of_groqs_need_not_name_a_service_tier(stream: bool) -> None:
    # LiteLLM requests a whole answer if it must be JSON.
    message = {"role": "assistant", "content": '{"a":1}'}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    said = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    schema = {"type": "json_schema", "name": "a", "schema": {"type": "object"}}
    async with answering(said) as url:
        groq = resolve("fast", OPENAI_RESPONSES, RoutePlan("groq/openai/gpt-oss-120b", url, key="test"))
        asked = {"model": "fast", "input": "Hello", "stream": stream, "text": {"format": schema}}
        data = await bytes_of(await open_translated(groq, asked, silence_seconds=30))
    response = payloads(data)[-1]["response"] if stream else json.loads(data)
    assert response["output"][0]["content"][0]["text"] == '{"a":1}'


def search(number: int) -> list[bytes]:
    """The events of a search that Anthropic ran."""
    call = {"type": "server_tool_use", "id": f"srvtoolu_{number}", "name": "web_search", "input": {}}
    page = {"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": f"page-{number}-"}
    found = {"type": "web_search_tool_result", "tool_use_id": call["id"], "content": [page]}
    events: list[bytes] = []
    for index, block in enumerate((call, found), 2 * number):
        start = {"type": "content_block_start", "index": index, "content_block": block}
        stop = {"type": "content_block_stop", "index": index}
        events += [write_event(encode(each), str(each["type"])) for each in (start, stop)]
    return events


async def test_what_searches_found_is_told_once_with_the_end() -> None:
    data = await searched(20)
    assert [data.count(f"page-{number}-".encode()) for number in range(20)] == [1] * 20
    ends = [chunk["choices"][0] for chunk in payloads(data) if chunk["choices"][0]["finish_reason"]]
    [told] = [each["delta"]["provider_specific_fields"] for each in ends]
    assert (len(told["web_search_results"]), len(told["web_search_calls"])) == (20, 20)


async def test_what_searches_found_is_copied_no_more_often_for_more_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    copied = 0
    dump = Delta.model_dump

    def counted(delta: Delta, **options: Any) -> dict[str, Any]:
        nonlocal copied
        dumped = dump(delta, **options)
        copied += str(dumped).count("page-")
        return dumped

    monkeypatch.setattr(Delta, "model_dump", counted)
    await searched(20)
    assert copied <= 20


async def searched(times: int) -> bytes:
    """What a chat client gets of an answer from Claude with this many searches."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": {}}
    begin = {"type": "message_start", "message": {**message, "usage": {"input_tokens": 1, "output_tokens": 1}}}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}
    around = [write_event(encode(each), str(each["type"])) for each in (begin, end, {"type": "message_stop"})]
    async with answering(b"".join([around[0], *chain(*map(search, range(times))), *around[1:]])) as url:
        claude = resolve("smart", OPENAI_CHAT, RoutePlan("anthropic/claude-sonnet-4-5", url, key="test"))
        asked = {"model": "smart", "messages": [{"role": "user", "content": "Hello"}], "stream": True}
        return await bytes_of(await open_translated(claude, asked, silence_seconds=30))


async def answered(provider: str, reason: str | None) -> bytes:
    """What a client of Anthropic's API gets of an answer with this finish_reason."""
    told = [{"delta": {"role": "assistant", "content": "Hi"}, "finish_reason": ""}, {"finish_reason": reason}]
    common = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    said = [encode({**common, "choices": [{"index": 0, "delta": {}, **choice}]}) for choice in told]
    async with answering(b"".join(map(write_event, [*said, b"[DONE]"]))) as url:
        asked = {"model": "smart", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 9, "stream": True}
        model = resolve("smart", ANTHROPIC_MESSAGES, RoutePlan(f"{provider}/some-model", url, key="test"))
        return await bytes_of(await open_translated(model, asked, silence_seconds=30))


OF_CHAT = ["openai", "mistral", "hosted_vllm", "groq", "xai", "together_ai", "openrouter"]


@pytest.mark.parametrize("provider", OF_CHAT)
async def test_an_answer_without_an_end_is_an_error(provider: str) -> None:
    with pytest.raises(UpstreamError, match="before it was finished"):
        await answered(provider, None)


@pytest.mark.parametrize("provider", OF_CHAT)
@pytest.mark.parametrize(("reason", "want"), [("model_length", "max_tokens"), ("network_error", None)])
async def test_why_an_answer_ended_is_what_its_provider_said(provider: str, reason: str, want: str | None) -> None:
    aggregator, _ = take_in(ANTHROPIC_MESSAGES, await answered(provider, reason))
    assert aggregator.state.finish_reason == want
    assert (aggregator.state.failure is None) is (want is not None)


@asynccontextmanager
async def answering(said: object) -> AsyncIterator[str]:
    """The address of a provider that gives everyone this answer, in JSON or, if it is bytes, as events."""
    kind, body = (b"text/event-stream", said) if isinstance(said, bytes) else (b"application/json", encode(said))
    head = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head % (kind, len(body)) + body)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
