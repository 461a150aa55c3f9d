"""The model `replay/<stream>`: a recorded stream is sent again, with the original times between its chunks.

`replay/<stream>?speed=8` is eight times as fast, `speed=inf` sends everything at once. It is an upstream like any
other: policies judge its chunks, and the result is a stream of its own.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping
from itertools import groupby
from typing import TypeVar
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import DatabaseError, InterfaceError

from streamviz.core.errors import RequestError, UpstreamError
from streamviz.core.model_names import REPLAY, REPLAY_PREFIX, model_names
from streamviz.core.wire_format import WireFormat
from streamviz.proxy.requests import ModelRequest
from streamviz.proxy.worker import Worker
from streamviz.records.archive.bucket import ChunksAway
from streamviz.records.archive.reading import in_thread
from streamviz.records.configuration import KnownKey
from streamviz.records.models import Stream
from streamviz.records.moments import as_microseconds
from streamviz.records.replays import chunks_from, find, why_not
from streamviz.records.runs import StoredChunk
from streamviz.upstream.targets import Lane, Replay, Target

GivenT = TypeVar("GivenT")
ToldT = TypeVar("ToldT")

_SLOWEST, _FASTEST = 0.1, 1_000.0
_AWAY = "the recorded stream cannot be read: Postgres does not answer"


def is_replay(worker: Worker, model: str) -> bool:
    """Whether a client asks for a recorded stream."""
    return model.startswith(REPLAY_PREFIX) and model not in worker.configuration.routes


async def replay_target(request: ModelRequest, wire_format: WireFormat, key: KnownKey) -> Target:
    """The target that replays the requested stream. Raises RequestError if it does not exist for this key or cannot be
    replayed, and UpstreamError if that cannot be found out now."""
    stream_id, speed = _asked(request.model)
    stream = await _told(find, stream_id)
    if stream is None or not key.may_replay(request.model, stream.key_id):
        raise _unknown(request.model)
    if why := _unlike(stream, request, wire_format) or await _told(why_not, stream):
        message = f"The stream {stream_id} cannot be replayed: {why}."
        raise RequestError(400, message, code="not_replayable", param="model")
    return _target(stream, speed)


class ReplayedAnswer:
    """A recorded answer. Chunks that were received together are sent together; the next run of chunks is read while one
    is sent."""

    status = 200
    left_out: tuple[str, ...] = ()
    has_ended = False

    def __init__(self, replay: Replay, *, is_streaming: bool) -> None:
        self.headers: Mapping[str, str] = {
            "content-type": "text/event-stream; charset=utf-8" if is_streaming else "application/json"
        }
        self._replay = replay
        self._began_at = asyncio.get_running_loop().time()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        reading = self._read(0)
        try:
            while chunks := await _as_read(reading):
                reading = self._read(chunks[-1].seq + 1)
                for received_at, together in groupby(chunks, lambda chunk: chunk.received_at):
                    await self._until(received_at)
                    yield b"".join(map(_bytes, together))
        finally:
            reading.cancel()

    def close(self) -> None:
        """Nothing is open."""

    def _read(self, seq: int) -> "asyncio.Future[list[StoredChunk]]":
        return asyncio.ensure_future(in_thread(chunks_from)(self._replay.stream, seq))

    async def _until(self, received_at: int) -> None:
        """Wait until as much time has passed as upstream took from the request on."""
        took = (received_at - self._replay.requested_at) / 1_000_000 / self._replay.speed
        late = asyncio.get_running_loop().time() - self._began_at
        if took > late:
            await asyncio.sleep(took - late)


async def _told(ask: Callable[[GivenT], ToldT], about: GivenT) -> ToldT:
    try:
        return await sync_to_async(ask)(about)
    except (DatabaseError, InterfaceError):
        raise UpstreamError(503, _AWAY) from None


async def _as_read(reading: "asyncio.Future[list[StoredChunk]]") -> list[StoredChunk]:
    try:
        return await reading
    except ChunksAway as error:
        raise UpstreamError(503, f"chunks of the recorded stream cannot be read: {error}") from None
    except (DatabaseError, InterfaceError):
        raise UpstreamError(503, _AWAY) from None


def _bytes(chunk: StoredChunk) -> bytes:
    if chunk.raw is None:  # It was stored when the stream was looked up.
        raise UpstreamError(502, f"chunk {chunk.seq} of the recorded stream is no longer stored")
    return chunk.raw


def _asked(model: str) -> tuple[UUID, float]:
    """The stream and the speed in a model's name. Raises RequestError for any other name."""
    stream, _, speed = model.removeprefix(REPLAY_PREFIX).partition("?speed=")
    try:
        found = UUID(stream)
    except ValueError:
        raise _unknown(model) from None
    return found, _speed(speed or "1")


def _speed(text: str) -> float:
    """Raises RequestError if it is not a speed."""
    try:
        times = float(text)
    except ValueError:
        times = math.nan
    if not (_SLOWEST <= times <= _FASTEST or times == math.inf):
        message = f"`speed` must be from {_SLOWEST:g} to {_FASTEST:g}, or inf."
        raise RequestError(400, message, code="invalid_speed", param="model")
    return times


def _unlike(stream: Stream, request: ModelRequest, wire_format: WireFormat) -> str:
    """Why the request does not match the recording, as a clause; empty if it does."""
    if stream.wire_format != wire_format.name:
        return f"it was recorded in the format {stream.wire_format} ({stream.endpoint}), and is asked for in another"
    if stream.is_streaming != request.is_streaming:
        return f"it was recorded with `stream: {str(stream.is_streaming).lower()}`"
    return ""


def _target(stream: Stream, speed: float) -> Target:
    names = model_names(stream.requested_model, stream.provider, stream.upstream_model)
    requested_at = as_microseconds(stream.requested_at)
    replay = Replay(stream.pk, speed, requested_at, names, stream.hides_usage)
    return Target(names[0], REPLAY, stream.wire_format, Lane.REPLAYED, replay=replay)


def _unknown(model: str) -> RequestError:
    message = f"The model `{model[:200]}` does not exist: the record has no such stream that this key may replay."
    return RequestError(404, message, kind="not_found_error", code="model_not_found", param="model")
