"""How a page of this process can ask a model, as the policies of its streams do."""

import asyncio
from collections.abc import Awaitable, Callable

from streamviz.core.policy import Consult

# Set by the worker once it runs; None in a process that runs no streams.
ask_model: Callable[[Consult], Awaitable[str]] | None = None


async def within(answer: Awaitable[str], seconds: float) -> str:
    """Raises TimeoutError where it takes longer."""
    async with asyncio.timeout(seconds):
        return await answer
