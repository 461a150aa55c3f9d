"""A value of the wrong type is the request's fault, and named, before LiteLLM stumbles over it."""

import json
import logging
from typing import Any

import pytest

from streamviz.core.errors import ClientFacingError, RequestError, UpstreamError
from streamviz.core.wire import ANTHROPIC_MESSAGES, EMBEDDINGS, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES
from streamviz.core.wire_format import WireFormat
from streamviz.upstream.fitting import fit
from streamviz.upstream.sending import send_only_what_is_asked
from streamviz.upstream.targets import Lane, Target
from streamviz.upstream.translated import open_translated
from tests.simulator.process import Simulator
from tests.upstream.test_translated_formats import answering

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

CLAUDE = ("anthropic", "claude-sonnet-4-5")
GPT = ("openai", "gpt-4.1")
SAID: dict[str, Any] = {
    OPENAI_CHAT.name: {"messages": [{"role": "user", "content": "Hello"}]},
    ANTHROPIC_MESSAGES.name: {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 9},
    OPENAI_RESPONSES.name: {"input": "Hello"},
    GEMINI.name: {"contents": [{"parts": [{"text": "Hello"}]}]},
    EMBEDDINGS.name: {"input": "Hello"},
}
OTHERS = {"openai_chat": CLAUDE, "anthropic_messages": GPT, "openai_responses": CLAUDE, "gemini": GPT,
          "embeddings": ("cohere", "embed-v4")}  # fmt: skip


def target_of(of: WireFormat, **place: str) -> Target:
    provider, model = OTHERS[of.name]
    return Target(model, provider, of.name, Lane.TRANSLATED, **place)


def user(content: Any) -> list[Any]:
    return [{"role": "user", "content": content}]


@pytest.mark.parametrize(
    ("of", "more", "named"),
    [
        (OPENAI_CHAT, {"messages": ["x"]}, "messages[0]"),
        (OPENAI_CHAT, {"messages": None}, "messages"),
        (OPENAI_CHAT, {"messages": [{"content": "x"}]}, "messages[0].role"),
        (OPENAI_CHAT, {"messages": user(5)}, "messages[0].content"),
        (OPENAI_CHAT, {"messages": user(["x"])}, "messages[0].content[0]"),
        (OPENAI_CHAT, {"messages": user([{"type": "image_url", "image_url": {"url": 5}}])},
         "messages[0].content[0].image_url.url"),
        (OPENAI_CHAT, {"response_format": "json"}, "response_format"),
        (OPENAI_CHAT, {"max_tokens": "5"}, "max_tokens"),
        (OPENAI_CHAT, {"stop": [5]}, "stop[0]"),
        (OPENAI_CHAT, {"tools": {"type": "function"}}, "tools"),
        (OPENAI_CHAT, {"tools": [{"type": "function", "function": {"name": "f", "parameters": "x"}}]},
         "tools[0].function.parameters"),
        (OPENAI_CHAT, {"tool_choice": {}}, "tool_choice.type"),
        (ANTHROPIC_MESSAGES, {"messages": ["x"]}, "messages[0]"),
        (ANTHROPIC_MESSAGES, {"messages": user([{"type": "image", "source": 5}])}, "messages[0].content[0].source"),
        (ANTHROPIC_MESSAGES, {"max_tokens": [5]}, "max_tokens"),
        (ANTHROPIC_MESSAGES, {"system": {"a": 1}}, "system"),
        (OPENAI_RESPONSES, {"input": None}, "input"),
        (OPENAI_RESPONSES, {"input": ["x"]}, "input[0]"),
        (OPENAI_RESPONSES, {"input": [{"type": ["message"]}]}, "input[0].type"),
        (OPENAI_RESPONSES, {"tools": [{"type": "function", "name": "f", "parameters": 5}]}, "tools[0].parameters"),
        (GEMINI, {"generationConfig": {"maxOutputTokens": "many"}}, "generationConfig.maxOutputTokens"),
        (EMBEDDINGS, {"input": [None]}, "input[0]"),
    ],
)  # fmt: skip
def test_what_is_of_another_type_is_named(of: WireFormat, more: dict[str, Any], named: str) -> None:
    with pytest.raises(RequestError) as refused:
        fit(target_of(of), {**SAID[of.name], **more})
    assert refused.value.param == named
    status, _, body = of.error_answer(refused.value)
    assert status == 400
    assert f"`{named}`" in json.loads(body)["error"]["message"]


@pytest.mark.parametrize(
    ("of", "gone"), [(OPENAI_CHAT, "messages"), (OPENAI_RESPONSES, "input"), (EMBEDDINGS, "input")]
)
def test_what_is_missing_is_named(of: WireFormat, gone: str) -> None:
    with pytest.raises(RequestError, match=f"^`{gone}` is missing.$"):
        fit(target_of(of), {"temperature": 1})


def test_types_have_the_names_that_json_schema_has_for_them() -> None:
    with pytest.raises(RequestError) as refused:
        fit(target_of(OPENAI_CHAT), {**SAID["openai_chat"], "max_tokens": "5"})
    assert refused.value.message == "`max_tokens` must be `number | null`, not `string`."


def test_null_says_nothing_and_numbers_may_be_written_either_way() -> None:
    for of in (OPENAI_CHAT, ANTHROPIC_MESSAGES, OPENAI_RESPONSES):
        nothing = {"tools": None, "tool_choice": None, "temperature": None}
        assert fit(target_of(of), {**SAID[of.name], **nothing}).request == SAID[of.name]
    assert fit(target_of(OPENAI_CHAT), {**SAID["openai_chat"], "max_tokens": 5.0, "temperature": 1}).left_out == ()


@pytest.mark.parametrize(
    ("of", "more"),
    [
        (EMBEDDINGS, {"input": [{"type": "file", "file": {"file_id": "files/abc"}}, "Hello"]}),
        (OPENAI_RESPONSES, {"input": [*user("Hello"), {"type": "tool_search_call", "arguments": ["a"]}]}),
    ],
)
def test_what_is_legal_at_one_provider_goes_on(of: WireFormat, more: dict[str, Any]) -> None:
    assert fit(target_of(of), more).request["input"] == [each for each in more["input"] if "arguments" not in each]


async def told(simulator: Simulator, of: WireFormat, more: dict[str, Any]) -> ClientFacingError:
    send_only_what_is_asked()
    target = target_of(of, base_url=simulator.url, key="test")
    with pytest.raises(ClientFacingError) as refused:
        await open_translated(target, {**SAID[of.name], **more}, silence_seconds=30)
    return refused.value


@pytest.mark.parametrize(
    ("of", "more", "words"),
    [
        (OPENAI_CHAT, {"response_format": {"type": "json_schema"}}, "`json_schema` is missing"),
        (OPENAI_CHAT, {"messages": [{"role": "system"}, *user("Hello")]}, "`content` is missing"),
        (OPENAI_CHAT, {"tools": [{"type": "x", "function": {"name": "f"}}]}, "Unsupported tool type: x"),
        (OPENAI_CHAT, {"messages": user([{"type": "x"}])}, "Invalid user message at index 0"),
        (EMBEDDINGS, {"input": []}, "something in it is missing or has the wrong type"),
        (EMBEDDINGS, {"input": [5]}, "Input must be a list of strings"),
    ],
)  # fmt: skip
async def test_what_else_litellm_stumbles_over_is_the_requests_fault(
    simulator: Simulator, of: WireFormat, more: dict[str, Any], words: str, caplog: pytest.LogCaptureFixture
) -> None:
    before = len(simulator.get_json("/_requests")["requests"])
    with caplog.at_level(logging.WARNING, "streamviz"):
        error = await told(simulator, of, more)
    assert (error.status, error.kind) == (400, "invalid_request_error")
    assert words in error.message
    assert len(simulator.get_json("/_requests")["requests"]) == before
    assert "LiteLLM: " in caplog.text


async def test_a_picture_that_would_have_to_be_fetched_is_the_requests_fault() -> None:
    send_only_what_is_asked()
    place = Target("amazon.nova-pro-v1:0", "bedrock", OPENAI_CHAT.name, Lane.TRANSLATED, key="test")
    picture = {"type": "image_url", "image_url": {"url": "https://pictures.example/a.png"}}
    with pytest.raises(UpstreamError, match="was not called: streamviz calls nothing but the model") as refused:
        await open_translated(place, {"messages": user([picture])}, silence_seconds=30)
    assert refused.value.status == 400


async def test_a_messages_request_without_a_bound_is_told_which(simulator: Simulator) -> None:
    error = await told(simulator, ANTHROPIC_MESSAGES, {"max_tokens": None})
    assert (error.status, error.message) == (400, "`max_tokens` is missing.")


async def test_an_answer_that_litellm_stumbles_over_is_not_the_requests_fault() -> None:
    send_only_what_is_asked()
    async with answering({"id": "x", "content": 5, "usage": []}) as url:
        with pytest.raises(UpstreamError) as refused:
            await open_translated(target_of(OPENAI_CHAT, base_url=url, key="test"), SAID["openai_chat"], 30)
    assert refused.value.status >= 500


async def test_a_provider_that_is_not_there_is_not_the_requests_fault(simulator: Simulator) -> None:
    send_only_what_is_asked()
    gone = target_of(OPENAI_CHAT, base_url="http://127.0.0.1:1", key="test")
    with pytest.raises(UpstreamError) as refused:
        await open_translated(gone, SAID["openai_chat"], silence_seconds=30)
    assert refused.value.status >= 500


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (Target("gemini-2.5-pro", "gemini", OPENAI_CHAT.name, Lane.TRANSLATED), "Missing Gemini API key"),
        (Target("gpt-4.1", "azure", OPENAI_RESPONSES.name, Lane.TRANSLATED, key="test"), "api_base is required"),
        (Target("gemini-2.5-pro", "vertex_ai", OPENAI_CHAT.name, Lane.TRANSLATED), "credentials file"),
        (target_of(OPENAI_CHAT, base_url="http://[::1", key="test"), "Invalid IPv6 URL"),
    ],
    ids=lambda value: value.provider if isinstance(value, Target) else "",
)
async def test_what_an_operator_did_not_set_is_not_the_requests_fault(
    target: Target, words: str, bare_environment: pytest.MonkeyPatch
) -> None:
    send_only_what_is_asked()
    for name, value in (("CREDENTIALS", "/nowhere.json"), ("PROJECT", "p"), ("LOCATION", "europe-west1")):
        bare_environment.setenv(f"VERTEXAI_{name}", value)
    with pytest.raises(UpstreamError, match=words) as refused:
        await open_translated(target, SAID[target.wire_format], silence_seconds=30)
    assert refused.value.status >= 500


async def test_a_result_that_is_nested_too_deeply_for_litellm_is_the_requests_fault(simulator: Simulator) -> None:
    send_only_what_is_asked()
    at = Target("gemini-2.5-flash", "gemini", OPENAI_CHAT.name, Lane.TRANSLATED, base_url=simulator.url, key="test")
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "call_1", "content": "[" * 200_000}
    with pytest.raises(ClientFacingError, match=r"cannot be converted.*nested too deeply") as refused:
        await open_translated(at, {"messages": [{"role": "assistant", "tool_calls": [call]}, result]}, 30)
    assert refused.value.status == 400
