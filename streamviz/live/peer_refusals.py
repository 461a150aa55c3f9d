"""The requests that the other workers refused. They are asked only when a page shows them, so a flood of refusals sends
no messages."""

import asyncio
import contextlib
from math import inf
from time import monotonic

from streamviz.live import messages, peer_channel
from streamviz.live.refusals import Refusal

# Pages that ask within this time share the answers.
FRESH_SECONDS = 1.0


class PeerRefusals:
    """Questions go out over `channel`."""

    def __init__(self, channel: peer_channel.PeerChannel) -> None:
        self._channel = channel
        self._told: dict[str, list[Refusal]] = {}
        # Those that did not answer the last question: no page waits for them until they do.
        self._silent: set[str] = set()
        self._came = asyncio.Event()
        self._asking = asyncio.Lock()
        self._asked_at = -inf

    async def ask(self, names: set[str]) -> list[Refusal]:
        """What the workers with these names refused, as far as they answer in time."""
        async with self._asking:
            if names and not self._channel.is_away and monotonic() - self._asked_at >= FRESH_SECONDS:
                await self._ask_now(names)
                self._asked_at = monotonic()
        return [refusal for name in names for refusal in self._told.get(name, ())]

    def take(self, message: messages.RefusalsTold) -> None:
        """Take a worker's answer."""
        self._told[message.sender] = message.refusals
        self._silent.discard(message.sender)
        self._came.set()

    async def _ask_now(self, names: set[str]) -> None:
        self._told.clear()
        await self._channel.publish(messages.RefusalsWanted(self._channel.name))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(peer_channel.ANSWER_SECONDS):
                while not names - self._silent <= self._told.keys():
                    await self._came.wait()
                    self._came.clear()
        self._silent = names - self._told.keys()
