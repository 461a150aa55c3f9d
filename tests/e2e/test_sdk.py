"""The vendors' SDKs in front of the server, each with its format; the providers behind it speak the same or another."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

import anthropic
import openai
import pytest

from tests.e2e.proxied import MESSAGES, Proxied, until
from tests.services import Streamviz

SCENARIOS = ("content", "tools", "thinking", "parallel-tools")
# By upstream's format: LiteLLM's provider, and the path of its base URL.
UPSTREAM = {"chat": ("custom_openai", "/v1"), "messages": ("anthropic", ""), "responses": ("openai", "/v1")}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
INSERT = "INSERT INTO records_route (name, target, base_url, credential) VALUES (%s, %s, %s, 'SIMULATED_KEY')"


class Said(NamedTuple):
    """What an answer says, in any format; calls as (name, arguments)."""

    content: str
    thinking: str
    calls: list[tuple[str, Any]]


@pytest.fixture(scope="module")
def proxied(shared_server: Streamviz) -> Iterator[Proxied]:
    """A streamviz with a route to the simulator for each scenario and each upstream format."""
    with Proxied(shared_server) as found:
        make_routes(found)
        yield found


def make_routes(proxied: Proxied) -> None:
    names = set()
    for spoken, (provider, path) in UPSTREAM.items():
        for scenario in (*SCENARIOS, "error-429", "error-midstream"):
            name = f"{spoken}-{scenario}"
            target = f"{provider}/{scenario}?seed=5&speed=inf"
            proxied.query(INSERT, name, target, f"{proxied.simulator.url}{path}")
            names.add(name)
    until(lambda: names <= {model.id for model in proxied.sdk.models.list()})


@pytest.fixture(scope="module")
def expected(proxied: Proxied) -> dict[str, Said]:
    """What each scenario says, which is the same in every format; taken from upstream's own chat answer."""
    found = {}
    for scenario in SCENARIOS:
        asked = proxied.simulator.ask("openai_chat", f"{scenario}?seed=5&speed=inf", stream=False)
        message = json.loads(asked.read())["choices"][0]["message"]
        calls = [call["function"] for call in message.get("tool_calls") or []]
        found[scenario] = Said(
            message["content"] or "",
            message.get("reasoning_content") or "",
            [(call["name"], json.loads(call["arguments"])) for call in calls],
        )
    return found


class Vendor:
    """The SDK of one format, called in four ways, each of which returns what the answer says."""

    def __init__(self, sync: Any, asynchronous: Any) -> None:
        self.sync, self.asynchronous = sync, asynchronous

    def whole(self, model: str) -> Said:
        return self.said(self.calls(self.sync).create(**self.request(model)))

    async def whole_async(self, model: str) -> Said:
        return self.said(await self.calls(self.asynchronous).create(**self.request(model)))

    def streamed(self, model: str) -> Said:
        with self.calls(self.sync).stream(**self.request(model)) as stream:
            for _ in stream:
                pass
            return self.said(self.final(stream))

    async def streamed_async(self, model: str) -> Said:
        async with self.calls(self.asynchronous).stream(**self.request(model)) as stream:
            async for _ in stream:
                pass
            return self.said(await self.final(stream))

    def calls(self, client: Any) -> Any:
        raise NotImplementedError

    def request(self, model: str) -> dict[str, Any]:
        raise NotImplementedError

    def final(self, stream: Any) -> Any:
        raise NotImplementedError

    def said(self, answer: Any) -> Said:
        raise NotImplementedError


class Chat(Vendor):
    def calls(self, client: Any) -> Any:
        return client.chat.completions

    def request(self, model: str) -> dict[str, Any]:
        function = {"name": "read_file", "parameters": SCHEMA, "strict": True}
        return {"model": model, "messages": MESSAGES, "tools": [{"type": "function", "function": function}]}

    def final(self, stream: Any) -> Any:
        return stream.get_final_completion()

    def said(self, answer: Any) -> Said:
        message = answer.choices[0].message
        calls = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or []]
        return Said(message.content or "", getattr(message, "reasoning_content", None) or "", calls)


class Messages(Vendor):
    def calls(self, client: Any) -> Any:
        return client.messages

    def request(self, model: str) -> dict[str, Any]:
        tools = [{"name": "read_file", "input_schema": SCHEMA}]
        return {"model": model, "messages": MESSAGES, "max_tokens": 900, "tools": tools}

    def final(self, stream: Any) -> Any:
        return stream.get_final_message()

    def said(self, answer: Any) -> Said:
        return Said(
            "".join(part.text for part in answer.content if part.type == "text"),
            "".join(part.thinking for part in answer.content if part.type == "thinking"),
            [(part.name, part.input) for part in answer.content if part.type == "tool_use"],
        )


class Responses(Vendor):
    def calls(self, client: Any) -> Any:
        return client.responses

    def request(self, model: str) -> dict[str, Any]:
        tools = [{"type": "function", "name": "read_file", "parameters": SCHEMA, "strict": True}]
        return {"model": model, "input": "Hello", "tools": tools}

    def final(self, stream: Any) -> Any:
        return stream.get_final_response()

    def said(self, answer: Any) -> Said:
        thoughts = [part.text for item in answer.output if item.type == "reasoning"
                    for part in [*item.summary, *(item.content or [])]]  # fmt: skip
        calls = [(item.name, json.loads(item.arguments)) for item in answer.output if item.type == "function_call"]
        return Said(answer.output_text, "".join(thoughts), calls)


@pytest.fixture
async def vendors(proxied: Proxied) -> AsyncIterator[dict[str, Vendor]]:
    """Both SDKs, sync and async."""
    url, key = proxied.server.base_url, proxied.server.api_key
    with (
        openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as one,
        anthropic.Anthropic(base_url=url, api_key=key, max_retries=0) as other,
    ):
        async with AsyncExitStack() as stack:
            async_one = await stack.enter_async_context(
                openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)
            )
            async_other = await stack.enter_async_context(
                anthropic.AsyncAnthropic(base_url=url, api_key=key, max_retries=0)
            )
            yield {
                "chat": Chat(one, async_one),
                "messages": Messages(other, async_other),
                "responses": Responses(one, async_one),
            }


PAIRS = [
    ("chat", "chat"),
    ("chat", "messages"),
    ("messages", "messages"),
    ("messages", "chat"),
    ("responses", "responses"),
    ("responses", "messages"),
    ("responses", "chat"),
]


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize(("spoken", "upstream"), PAIRS)
async def test_an_sdk_reads_the_same_however_it_asks(
    vendors: dict[str, Vendor], expected: dict[str, Said], spoken: str, upstream: str, scenario: str
) -> None:
    vendor, model = vendors[spoken], f"{upstream}-{scenario}"
    assert vendor.streamed(model) == expected[scenario]
    assert await vendor.streamed_async(model) == expected[scenario]
    assert vendor.whole(model) == expected[scenario]
    assert await vendor.whole_async(model) == expected[scenario]


@pytest.mark.parametrize(("spoken", "upstream"), PAIRS)
def test_an_sdk_raises_its_own_error_for_a_refusal(vendors: dict[str, Vendor], spoken: str, upstream: str) -> None:
    with pytest.raises((openai.RateLimitError, anthropic.RateLimitError)) as raised:
        vendors[spoken].streamed(f"{upstream}-error-429")
    assert int(raised.value.response.headers["retry-after"]) > 0
    assert "Rate limit reached" in raised.value.message


@pytest.mark.parametrize(("spoken", "upstream"), PAIRS)
def test_an_sdk_raises_an_error_when_a_stream_breaks(vendors: dict[str, Vendor], spoken: str, upstream: str) -> None:
    with pytest.raises((openai.APIError, anthropic.APIError, RuntimeError)) as raised:
        vendors[spoken].streamed(f"{upstream}-error-midstream")
    assert "error while processing" in str(raised.value) or "response.completed" in str(raised.value)


@pytest.mark.parametrize(("upstream", "is_estimated"), [("messages", False), ("chat", True)])
def test_tokens_are_counted(vendors: dict[str, Vendor], upstream: str, is_estimated: bool) -> None:
    asked = {"model": f"{upstream}-content", "messages": MESSAGES, "system": "Be brief."}
    counted = vendors["messages"].sync.messages.count_tokens(**asked)
    assert counted.input_tokens > 0
    assert (counted.to_dict().get("estimated") is True) is is_estimated
    more = vendors["messages"].sync.messages.count_tokens(**{**asked, "system": "Be brief. " * 50})
    assert more.input_tokens > counted.input_tokens + 40


def test_models_are_listed_for_both_sdks(vendors: dict[str, Vendor]) -> None:
    one = [model.id for model in vendors["chat"].sync.models.list()]
    other = list(vendors["messages"].sync.models.list())
    assert one == [model.id for model in other]
    assert {model.type for model in other} == {"model"}
    assert all(model.display_name and model.created_at.year == 1970 for model in other)


def test_a_single_model_is_told_to_both_sdks(vendors: dict[str, Vendor]) -> None:
    for name in ("chat-content", "sim/content", "sim/content?seed=1"):
        assert vendors["chat"].sync.models.retrieve(name).object == "model"
        assert vendors["messages"].sync.models.retrieve(name).id == name
    with pytest.raises(openai.NotFoundError):
        vendors["chat"].sync.models.retrieve("no-such-model")
    with pytest.raises(anthropic.NotFoundError) as raised:
        vendors["messages"].sync.models.retrieve("no-such-model")
    assert isinstance(raised.value.body, dict)
    assert raised.value.body["type"] == "error"


def test_the_record_of_all_formats_is_whole(proxied: Proxied) -> None:
    assert proxied.whole() > len(SCENARIOS)
