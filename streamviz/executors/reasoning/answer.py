"""A run as an answer: bytes in the client's format, sent as the run goes on."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from time import time
from typing import Protocol

from streamviz.core import sse
from streamviz.core.aggregator import DONE, Chunk
from streamviz.core.json_value import JsonObject, as_object, decode, encode
from streamviz.core.wire import OPENAI_CHAT
from streamviz.core.wire.translator import Translator, collected
from streamviz.executors.call import Asked
from streamviz.executors.reasoning.run import Run
from streamviz.executors.reasoning.speaking import Speaker
from streamviz.executors.reasoning.whole import Beside

# A client that gets nothing for longer may consider its connection dead.
KEEP_ALIVE_SECONDS = 5.0
# Chunks that the client has not taken yet: a run waits for a client that reads slowly.
_MOST_WAITING = 16


class _Writer(Protocol):
    """Writes chat chunks in some format."""

    @property
    def left_out(self) -> tuple[str, ...]: ...

    def take(self, chunk: Chunk) -> bytes: ...
    def end(self) -> bytes: ...
    def keep_alive(self) -> bytes: ...


class _ChatWriter:
    """Writes chat chunks as they are."""

    left_out = ()

    def take(self, chunk: Chunk) -> bytes:
        return sse.write_event(chunk.raw)

    def end(self) -> bytes:
        return sse.write_event(DONE)

    def keep_alive(self) -> bytes:
        return sse.KEEP_ALIVE


class RunAnswer:
    """Carries out a run in a task of its own, which ends with this answer."""

    status = 200
    has_ended = False

    def __init__(self, asked: Asked, run: Run) -> None:
        self._asked = asked
        self._run = run
        self._is_chat = asked.wire_format == OPENAI_CHAT.name
        self._writer: _Writer = _ChatWriter() if self._is_chat else Translator(OPENAI_CHAT.name, asked.wire_format)
        self._beside = Beside()
        self._chunks: asyncio.Queue[JsonObject | None] = asyncio.Queue(_MOST_WAITING)
        self._first: JsonObject | None = None
        kind = "text/event-stream; charset=utf-8" if asked.is_streaming else "application/json"
        self.headers: Mapping[str, str] = {"content-type": kind}
        head: JsonObject = {"id": asked.id, "created": int(time()), "model": asked.model}
        self._speaker = Speaker(head, self._chunks.put, tells_events=asked.wants_events)
        self._task = asyncio.ensure_future(self._carry_out())

    @property
    def left_out(self) -> tuple[str, ...]:
        """What in the request has no place in a run, and what in the run's answer has none in the client's format."""
        return self._run.requests.left_out + self._writer.left_out

    async def begin(self) -> None:
        """Return once there is something to send. Raises ClientFacingError if the run fails before that."""
        try:
            self._first = await self._chunks.get()
            if self._first is None:
                await self._task
        except BaseException:
            self.close()
            raise

    async def __aiter__(self) -> AsyncIterator[bytes]:
        written = self._written()
        if self._asked.is_streaming:
            async for piece in written:
                yield piece
        else:
            yield self._whole(b"".join([piece async for piece in written]))

    def _whole(self, stream: bytes) -> bytes:
        """The single answer that a stream adds up to."""
        answer = collected(stream, self._asked.wire_format)
        return encode(self._beside.added_to(as_object(decode(answer)))) if self._is_chat else answer

    def close(self) -> None:
        """End the run at once, with all its calls and tools."""
        self._task.cancel()
        while not self._chunks.empty():
            self._chunks.get_nowait()  # room for the final None, as nobody reads any more

    async def _written(self) -> AsyncIterator[bytes]:
        payload, writer = self._first, self._writer
        while payload is not None:
            data = encode(payload)
            if self._is_chat and not self._asked.is_streaming:
                self._beside.take(payload)
            if piece := writer.take(Chunk(0, 0, data, data)):
                yield piece
            getting = asyncio.ensure_future(self._chunks.get())
            try:
                while not (await asyncio.wait((getting,), timeout=KEEP_ALIVE_SECONDS))[0]:
                    yield writer.keep_alive()
                payload = getting.result()
            finally:
                getting.cancel()
        await self._task  # to raise what it raised
        yield writer.end()

    async def _carry_out(self) -> None:
        try:
            await self._run.carry_out(self._speaker)
            await self._speaker.end(self._run.budget.usage)
        finally:
            await self._chunks.put(None)
