"""Sends frames at their times and records each byte that was sent."""

import asyncio
from collections.abc import Iterable

from aiohttp import web

from streamviz.simulator.ledger import Exchange, Ledger
from streamviz.simulator.reply import Frame
from streamviz.simulator.steps import ConnectionCut

MOST_JOINED = 16 * 1024


class Sender:
    """Writes one response. Its headers are sent with its first byte, like those of a provider that thinks before it
    answers.

    Responses with much to send at once take turns through `floods`: one of them goes on in each round of the event
    loop.
    """

    def __init__(
        self,
        request: web.Request,
        response: web.StreamResponse,
        ledger: Ledger,
        exchange: Exchange,
        floods: asyncio.Lock,
    ) -> None:
        self._request = request
        self._floods = floods
        self._response = response
        self._ledger = ledger
        self._exchange = exchange
        self._waiting: list[bytes] = []
        self._waiting_size = 0

    async def send(self, frames: Iterable[Frame], most_joined: int = MOST_JOINED) -> None:
        """Send all frames, then end the body; or drop the connection if the frames say so.

        Frames with no time between them leave in one write, as long as it has less than `most_joined` bytes. Raises
        CancelledError or ConnectionError if the client has left.
        """
        try:
            await self._send_in_time(frames, most_joined)
        except ConnectionCut:
            await self._flush()
            self._drop_connection()
            return
        await self._flush()
        if not self._response.prepared:
            await self._response.prepare(self._request)
        await self._response.write_eof()

    async def _send_in_time(self, frames: Iterable[Frame], most_joined: int) -> None:
        clock = asyncio.get_running_loop().time
        due = clock()
        for delay, data in frames:
            if delay:
                await self._flush()
                due += delay
                await asyncio.sleep(max(due - clock(), 0))
            self._waiting.append(data)
            self._waiting_size += len(data)
            if self._waiting_size >= most_joined:
                await self._flush()
                async with self._floods:
                    await asyncio.sleep(0)  # lets other streams go on, and the client's leaving be noticed

    async def _flush(self) -> None:
        data = b"".join(self._waiting)
        self._waiting.clear()
        self._waiting_size = 0
        if not data:
            return
        if not self._response.prepared:
            await self._response.prepare(self._request)
        self._ledger.sent(self._exchange, data)
        await self._response.write(data)

    def _drop_connection(self) -> None:
        if self._request.transport is not None:
            self._request.transport.abort()
