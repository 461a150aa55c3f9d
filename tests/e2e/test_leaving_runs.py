"""Clients that leave a run in each of its phases, with the vendors' SDKs: no work goes on for them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anthropic
import openai
import pytest

from tests.e2e.leaving import PHASES, THOUGHT, Leaving, Model, leaving_from
from tests.e2e.proxied import MESSAGES
from tests.e2e.test_policies import Guarded
from tests.services import Streamviz

pytestmark = pytest.mark.slow


class Client:
    """The SDKs, connected to a server, in one session."""

    def __init__(self, leaving: Leaving) -> None:
        server = leaving.guarded.server
        given: Any = {"api_key": server.api_key, "default_headers": {"x-session-id": leaving.session}, "max_retries": 0}
        self.openai = openai.AsyncOpenAI(base_url=f"{server.base_url}/v1", **given)
        self.anthropic = anthropic.AsyncAnthropic(base_url=server.base_url, **given)

    async def chat(self, model: str, *, stream: bool) -> Any:
        return await self.openai.chat.completions.create(model=model, messages=MESSAGES, stream=stream)

    async def responses(self, model: str, *, stream: bool) -> Any:
        return await self.openai.responses.create(model=model, input="Hello", stream=stream)

    async def messages(self, model: str, *, stream: bool) -> Any:
        return await self.anthropic.messages.create(model=model, max_tokens=900, messages=MESSAGES, stream=stream)


@pytest.fixture(scope="module")
def model(shared_server: Streamviz, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Guarded, Model]]:
    with Guarded(shared_server) as guarded, leaving_from(guarded, tmp_path_factory.mktemp("leaving")) as found:
        yield guarded, found


async def read(call: Awaitable[Any], has_read: asyncio.Event) -> None:
    """Read an answer to its end, which never comes."""
    async with await call as stream:
        async for event in stream:
            if THOUGHT in event.to_json():
                has_read.set()


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("ask", [Client.chat, Client.responses, Client.messages])
@pytest.mark.parametrize("stream", [True, False], ids=["streaming", "whole"])
async def test_a_client_that_leaves_stops_upstream_and_tools(
    model: tuple[Guarded, Model], phase: str, ask: Callable[..., Awaitable[Any]], stream: bool
) -> None:
    leaving, has_read = Leaving(*model), asyncio.Event()
    leaving.model.hang_in(phase)
    call = ask(Client(leaving), leaving.name(phase), stream=stream)
    asking = asyncio.ensure_future(read(call, has_read) if stream else call)
    tools = await asyncio.to_thread(leaving.reach, phase)
    if stream:
        await has_read.wait()
    asking.cancel()
    await asyncio.wait((asking,))
    await asyncio.to_thread(leaving.require_stopped, phase, tools)
    assert asking.cancelled()
