"""A running simulator, as upstream."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.simulator.process import Simulator, running_simulator


@pytest.fixture(autouse=True)
async def no_client_is_left_open() -> AsyncIterator[None]:
    """Close the clients that LiteLLM keeps for a test's event loop: the next test has another loop."""
    yield
    if litellm := sys.modules.get("litellm"):
        await litellm.close_litellm_async_clients()
        litellm.in_memory_llm_clients_cache.flush_cache()
        await litellm.module_level_aclient.client._transport.aclose()
        await asyncio.sleep(0)  # the event loop closes the sockets in its next iteration


@pytest.fixture(scope="session")
def simulator_port() -> Iterator[int]:
    with running_simulator("--speed", "inf") as port:
        yield port


@pytest.fixture
def simulator(simulator_port: int) -> Iterator[Simulator]:
    """A simulator without delays."""
    with Simulator(simulator_port) as started:
        yield started
