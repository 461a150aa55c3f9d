"""What LiteLLM answers with, as bytes of the client's format."""

import asyncio
from collections.abc import AsyncIterator, Callable

from pydantic import BaseModel

from streamviz.core import sse
from streamviz.core.aggregator import DONE, Chunk
from streamviz.core.json_value import JsonObject, as_object, as_text, decode, encode
from streamviz.core.wire.translator import Translator, collected
from streamviz.upstream.chat_chunk import ChatChunk
from streamviz.upstream.chat_stream import ChatStream
from streamviz.upstream.lite import litellm
from streamviz.upstream.translated_answer import Opened

# A client that gets nothing for longer may take its connection for dead.
_KEEP_ALIVE_SECONDS = 5.0
Change = Callable[[ChatChunk], ChatChunk]


async def whole(response: object) -> AsyncIterator[bytes]:
    """An answer that comes in one piece."""
    yield _as_json(response)


def native(response: object) -> Opened:
    """An answer already in the client's format, which the provider speaks and LiteLLM has its own way to call."""
    return Opened(_events(response) if isinstance(response, AsyncIterator) else whole(response), response)


async def chat_events(chunks: ChatStream) -> AsyncIterator[bytes]:
    """A stream of chat."""
    async for chunk in chunks:
        yield sse.write_event(chunk.json())
    yield sse.write_event(DONE)


async def translated(
    response: object, translator: Translator, arguments: JsonObject, change: Change | None = None
) -> Opened:
    """An answer of a provider that speaks chat, each chunk as `change` leaves it. LiteLLM's own conversion loses pieces
    of interleaved calls, refusals and numbers.

    Upstream is always asked for a stream, so one translation serves both kinds of answer.
    """
    assert isinstance(response, litellm.CustomStreamWrapper), type(response)
    # LiteLLM makes some calls, Gemini's among them, only when the first chunk is asked for. Whether the provider
    # refuses must be known before the client gets a status.
    await response.fetch_stream()
    chunks = ChatStream(response, choices=1, has_usage=True)
    written = _written(chunks, translator, change)
    pieces = written if arguments.get("stream") else _collected(written, translator.target)
    return Opened(pieces, chunks, translator)


async def _written(chunks: ChatStream, translator: Translator, change: Change | None) -> AsyncIterator[bytes]:
    now = asyncio.get_running_loop().time
    written_at = now()
    async for chunk in chunks:
        data = (chunk if change is None else change(chunk)).json()
        piece = translator.take(Chunk(0, 0, data, data))
        if not piece and now() - written_at > _KEEP_ALIVE_SECONDS:
            piece = translator.keep_alive()
        written_at = now() if piece else written_at
        yield piece
    yield translator.end()


async def _collected(written: AsyncIterator[bytes], wire_format: str) -> AsyncIterator[bytes]:
    yield collected(b"".join([piece async for piece in written]), wire_format)


async def _events(response: AsyncIterator[object]) -> AsyncIterator[bytes]:
    async for event in response:
        yield _as_event(event)


def _as_json(value: object) -> bytes:
    """LiteLLM answers with pydantic models, or with plain dictionaries."""
    if isinstance(value, BaseModel):
        return value.model_dump_json(exclude_none=True, warnings=False).encode()
    return encode(value)


def _as_event(event: object) -> bytes:
    """One event of LiteLLM's, which is either written already or an object."""
    if isinstance(event, bytes):
        return event
    data = _as_json(event)
    name = as_text(as_object(decode(data)).get("type"))
    return sse.write_event(data, name)
