"""Runs as the vendors' SDKs read them, whatever happens to their tools: in each format, streamed and whole."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from streamviz.core.policy_settings import ByHand
from streamviz.core.verdicts import Decision
from streamviz.core.wire import ANTHROPIC_MESSAGES, OPENAI_CHAT, OPENAI_RESPONSES
from streamviz.executors.registry import build
from streamviz.proxy.calls import model_call
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownRoute
from tests.executors.support import plan, said, use
from tests.proxy.running import USES, Model, decide, guard

ENDPOINTS = {each.path: each for each in (OPENAI_CHAT, ANTHROPIC_MESSAGES, OPENAI_RESPONSES)}
MESSAGES: Any = [{"role": "user", "content": "Hi"}]
# An SDK's view of an answer: thinking, text, input tokens and output tokens.
Told = tuple[str, str, int, int]


class Sdks:
    """The SDKs, connected to a worker. Requests and answers are bytes, but without a socket in between."""

    def __init__(self, worker: Worker) -> None:
        async def application(scope: Any, receive: Any, send: Any) -> None:
            await model_call(ENDPOINTS[scope["path"]], worker, scope, receive, send)

        http: Any = httpx2.AsyncClient(transport=httpx2.ASGITransport(application))
        given: Any = {"http_client": http, "api_key": "sv-a-key", "max_retries": 0}
        self.openai = openai.AsyncOpenAI(base_url="http://streamviz.test/v1", **given)
        self.anthropic = anthropic.AsyncAnthropic(base_url="http://streamviz.test", **given)

    async def chat(self) -> Told:
        return _chat(await self.openai.chat.completions.create(model="run", messages=MESSAGES))

    async def chat_streamed(self) -> Told:
        options: Any = {"stream_options": {"include_usage": True}}
        async with self.openai.chat.completions.stream(model="run", messages=MESSAGES, **options) as stream:
            return _chat(await stream.get_final_completion())

    async def responses(self) -> Told:
        return _response(await self.openai.responses.create(model="run", input="Hi"))

    async def responses_streamed(self) -> Told:
        async with self.openai.responses.stream(model="run", input="Hi") as stream:
            return _response(await stream.get_final_response())

    async def messages(self) -> Told:
        return _message(await self.anthropic.messages.create(model="run", max_tokens=99, messages=MESSAGES))

    async def messages_streamed(self) -> Told:
        async with self.anthropic.messages.stream(model="run", max_tokens=99, messages=MESSAGES) as stream:
            return _message(await stream.get_final_message())


def _chat(completion: Any) -> Told:
    message, usage = completion.choices[0].message, completion.usage
    return message.model_extra["reasoning_content"], message.content, usage.prompt_tokens, usage.completion_tokens


def _response(response: Any) -> Told:
    [reasoning, message] = response.output
    assert (reasoning.type, message.type) == ("reasoning", "message")
    thought = "".join(part.text for part in reasoning.summary)
    return thought, response.output_text, response.usage.input_tokens, response.usage.output_tokens


def _message(message: Any) -> Told:
    [thinking, text] = message.content
    return thinking.thinking, text.text, message.usage.input_tokens, message.usage.output_tokens


def in_force(worker: Worker) -> None:
    guard(worker)


def by_hand(worker: Worker) -> None:
    guard(worker, ByHand(3600, Decision.DENY))


async def nobody(worker: Worker) -> None:
    """Do nothing, as no one is asked."""


async def allows(worker: Worker) -> None:
    await decide(worker, Decision.ALLOW)


async def denies(worker: Worker) -> None:
    await decide(worker, Decision.DENY)


FAILING = plan("use_tools", use("wait", seconds="soon"), use("count_words", text="a b"))
HANGING = plan("use_tools", use("wait", seconds=3600), use("count_words", text="a b"), side_by_side=False)
WAYS: dict[str, tuple[str, Callable[[Worker], object], Callable[[Worker], Awaitable[None]], str]] = {
    "runs": (USES, lambda _: None, nobody, 'Result of wait({"seconds": 0}):\n0 s have passed.'),
    "fails": (FAILING, lambda _: None, nobody, "`seconds` must be a number from 0 to 3600."),
    "hangs": (HANGING, lambda _: None, nobody, "wait took longer than 0.01 s, and was stopped."),
    "is denied": (USES, in_force, nobody, "This call was denied by a policy. Do without it."),
    "is held and allowed": (USES, by_hand, allows, 'Result of wait({"seconds": 0}):\n0 s have passed.'),
    "is held and denied": (USES, by_hand, denies, "This call was denied by a policy. Do without it."),
}
READ = [Sdks.chat, Sdks.chat_streamed, Sdks.responses, Sdks.responses_streamed, Sdks.messages, Sdks.messages_streamed]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("read", READ)
async def test_the_sdks_read_a_run_whose_tool(
    worker: Worker, answering: Callable[..., Model], read: Callable[[Sdks], Awaitable[Told]], way: str
) -> None:
    uses, judge, decided, heard = WAYS[way]
    model = answering(said(uses), said(plan()), said("Do", "ne."))
    executor = build("reasoning", {"tool_seconds": 0.01 if way == "hangs" else 30})
    worker.configuration.routes["run"] = KnownRoute("openai/gpt-4o", "http://127.0.0.1:9/v1", "", executor)
    judge(worker)
    asking = asyncio.ensure_future(read(Sdks(worker)))
    await decided(worker)
    thought, text, input_tokens, output_tokens = await asking
    assert (text, input_tokens, output_tokens) == ("Done.", 30, 6)
    said_of_wait, said_of_words = model.requests[1]["messages"][-1]["content"].split("\n\n")
    assert said_of_wait.endswith(heard)
    assert said_of_words.endswith("2")
    assert ("wait(" in thought) == ("denied" not in way)
    assert 'count_words({"text": "a b"}): 2' in thought
