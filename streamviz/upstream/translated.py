"""The translated lane: LiteLLM makes the call in the provider's own format and answers in the client's."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import msgspec
from litellm.responses.litellm_completion_transformation.streaming_iterator import LiteLLMCompletionStreamingIterator
from pydantic import BaseModel

from streamviz.core import sse
from streamviz.core.aggregator import DONE, Chunk
from streamviz.core.bounds import Bounds
from streamviz.core.errors import ClientFacingError, UpstreamError, missing
from streamviz.core.json_value import JsonObject, as_index, as_object, as_text, decode, encode, objects
from streamviz.core.wire import ANTHROPIC_MESSAGES, EMBEDDINGS, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES
from streamviz.core.wire.compaction import Summary
from streamviz.core.wire.gemini_as_chat import as_chat
from streamviz.core.wire.signed_thinking import marked, signed_blocks
from streamviz.core.wire.translator import Translator, collected
from streamviz.upstream.bounded_body import UNBOUNDED
from streamviz.upstream.chat_chunk import ChatChunk
from streamviz.upstream.chat_requests import without_thinking
from streamviz.upstream.chat_stream import ChatStream
from streamviz.upstream.fitting import fit
from streamviz.upstream.lite import Sending, litellm
from streamviz.upstream.messages_as_chat import as_chat_request
from streamviz.upstream.native_messages import call_messages
from streamviz.upstream.offered_tools import NAMESPACE, namespaces_of
from streamviz.upstream.provider_formats import speaks_messages, speaks_responses
from streamviz.upstream.raw import no_answer
from streamviz.upstream.refusals import as_upstream_error, unreached
from streamviz.upstream.summaries import asks_for_summary, in_words
from streamviz.upstream.targets import Target
from streamviz.upstream.translated_answer import Opened, TranslatedAnswer

# A client that gets nothing for longer may take its connection for dead.
_KEEP_ALIVE_SECONDS = 5.0


def require_translatable(target: Target, request: JsonObject) -> None:
    """Raises RequestError (400) for what this lane cannot pass on although the answer depends on it."""
    fit(target, request)


def arguments_for(target: Target, request: JsonObject) -> JsonObject:
    """LiteLLM's arguments for a call: what the model can take of the request, and where to send it.

    LiteLLM takes its own settings as arguments besides the model's parameters: where to send the call, with which
    credential, what to mock. None of those may come from a client, so only known parameters are passed on.
    """
    return _arguments(target, fit(target, request).request)


def _arguments(target: Target, fitted: JsonObject) -> JsonObject:
    arguments: JsonObject = {**fitted, "model": f"{target.provider}/{target.model}"}
    if target.base_url:
        arguments["api_base"] = target.base_url
    if target.key:
        arguments["api_key"] = target.key
    return arguments


async def open_translated(
    target: Target, request: JsonObject, silence_seconds: float, bounds: Bounds | None = None
) -> TranslatedAnswer:
    """Make the call; `bounds` limit its answer, unless None. Raises ClientFacingError if LiteLLM or the provider
    refuses it, or nothing comes for too long."""
    fitted = fit(target, request)
    arguments = _arguments(target, fitted.request)
    sending = Sending(UNBOUNDED if bounds is None else _bounds_of(target, bounds), target.key)
    most_blocks = None if bounds is None else bounds.blocks
    try:
        async with asyncio.timeout(silence_seconds):
            opened = await _CALLS[target.wire_format](target, arguments, most_blocks)
    except TimeoutError as error:
        raise UpstreamError(504, f"{target.provider} did not answer in time") from error
    except ClientFacingError:
        raise
    except Exception as error:  # LiteLLM's errors have no common base but OpenAI's, and some are bare.
        if sending.refusal is not None:
            raise sending.refusal from error
        if (why := unreached(error)) is not None:
            raise no_answer(why, target.provider) from error
        raise as_upstream_error(
            error, target.key, was_sent=sending.has_begun, was_accepted=sending.is_accepted
        ) from error
    kind = "text/event-stream" if arguments.get("stream") else "application/json"
    return TranslatedAnswer(opened, kind, silence_seconds, target.key, fitted.left_out)


def _bounds_of(target: Target, bounds: Bounds) -> Bounds:
    """Do not limit the numbers in embeddings: there are hundreds of thousands, which take hardly any time to read."""
    return replace(bounds, values=UNBOUNDED.values) if target.wire_format == EMBEDDINGS.name else bounds


async def _chat(target: Target, arguments: JsonObject, most_blocks: int | None) -> Opened:
    response: object = await litellm.acompletion(**arguments, max_retries=0)
    if not isinstance(response, litellm.CustomStreamWrapper):
        return Opened(_whole(response), response)
    has_usage = as_object(arguments.get("stream_options")).get("include_usage") is True
    await response.fetch_stream()  # as in _translated
    chunks = ChatStream(response, as_index(arguments.get("n")) or 1, has_usage)
    return Opened(_chat_events(chunks), chunks)


async def _messages(target: Target, arguments: JsonObject, most_blocks: int | None) -> Opened:
    if arguments.get("max_tokens") is None:
        raise missing("max_tokens")
    if speaks_messages(target):
        return _native(await call_messages(**arguments))
    chat, tool_names = as_chat_request({**arguments, "stream": True})
    chat["messages"] = without_thinking(chat["messages"])
    response: object = await litellm.acompletion(**chat, max_retries=0)
    translator = Translator(OPENAI_CHAT.name, target.wire_format, tool_names, most_blocks)
    return await _translated(response, translator, arguments)


async def _gemini(target: Target, arguments: JsonObject, most_blocks: int | None) -> Opened:
    where = {name: arguments[name] for name in ("model", "api_base", "api_key") if name in arguments}
    chat = {**as_chat(arguments), **where, "stream": True, "stream_options": {"include_usage": True}}
    response: object = await litellm.acompletion(**chat, max_retries=0)
    return await _translated(response, Translator(OPENAI_CHAT.name, GEMINI.name, most_blocks=most_blocks), arguments)


async def _responses(target: Target, arguments: JsonObject, most_blocks: int | None) -> Opened:
    if speaks_responses(target):
        return _native(await litellm.aresponses(**arguments))
    given = arguments["input"]
    summary = Summary() if asks_for_summary(given) else None
    if isinstance(given, list):
        keeps = speaks_messages(target)
        given = in_words([_thought(item, keeps=keeps) for item in given])
    tools = objects(arguments.get("tools"))
    told = {"tools": [_without(tool, NAMESPACE) for tool in tools]} if tools else {}
    asked = {**arguments, **told, "input": given, "stream": True}
    response: object = await litellm.aresponses(**asked, max_retries=0)
    assert isinstance(response, LiteLLMCompletionStreamingIterator), type(response)
    chat = response.litellm_custom_stream_wrapper
    plain = {as_text(tool.get("name")) for tool in tools if tool.get("type") == "custom"}
    translator = Translator(OPENAI_CHAT.name, target.wire_format, {}, most_blocks, plain, namespaces_of(tools), summary)
    return await _translated(chat, translator, arguments)


def _thought(item: object, *, keeps: bool) -> object:
    """A reasoning item with its blocks in the form in which LiteLLM takes them back, and without other encrypted
    content, which nobody can read."""
    details = as_object(item)
    if details.get("type") != "reasoning":
        return item
    told = _without(details, "encrypted_content")
    text = "".join(as_text(part.get("text")) for part in objects(details.get("summary")))
    blocks = signed_blocks(text, details.get("encrypted_content")) if keeps else []
    return {**told, "encrypted_content": encode(blocks).decode()} if blocks else told


def _without(details: JsonObject, member: str) -> JsonObject:
    return {name: value for name, value in details.items() if name != member}


async def _embeddings(target: Target, arguments: JsonObject, most_blocks: int | None) -> Opened:
    response: Any = await litellm.aembedding(**arguments, max_retries=0)
    if not response.data:
        raise UpstreamError(502, "upstream sent something that does not fit its format: no embeddings")
    return Opened(_whole(response), response)


_CALLS: dict[str, Callable[[Target, JsonObject, int | None], Awaitable[Opened]]] = {
    OPENAI_CHAT.name: _chat,
    ANTHROPIC_MESSAGES.name: _messages,
    OPENAI_RESPONSES.name: _responses,
    GEMINI.name: _gemini,
    EMBEDDINGS.name: _embeddings,
}


async def _whole(response: object) -> AsyncIterator[bytes]:
    yield _as_json(response)


def _native(response: object) -> Opened:
    """An answer already in the client's format, which the provider speaks and LiteLLM has its own way to call."""
    return Opened(_events(response) if isinstance(response, AsyncIterator) else _whole(response), response)


async def _events(response: AsyncIterator[object]) -> AsyncIterator[bytes]:
    async for event in response:
        yield _as_event(event)


async def _chat_events(chunks: ChatStream) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        yield sse.write_event(chunk.json())
    yield sse.write_event(DONE)


async def _translated(response: object, translator: Translator, arguments: JsonObject) -> Opened:
    """An answer of a provider that speaks chat. LiteLLM's own conversion loses pieces of interleaved calls, refusals
    and numbers.

    Upstream is always asked for a stream, so one translation serves both kinds of answer.
    """
    assert isinstance(response, litellm.CustomStreamWrapper), type(response)
    # LiteLLM makes some calls, Gemini's among them, only when the first chunk is asked for. Whether the provider
    # refuses must be known before the client gets a status.
    await response.fetch_stream()
    chunks = ChatStream(response, choices=1, has_usage=True)
    written = _written(chunks, translator)
    pieces = written if arguments.get("stream") else _collected(written, translator.target)
    return Opened(pieces, chunks, translator)


async def _written(chunks: ChatStream, translator: Translator) -> AsyncIterator[bytes]:
    now = asyncio.get_running_loop().time
    written_at = now()
    async for chunk in chunks:
        data = (_with_seals(chunk) if translator.target == OPENAI_RESPONSES.name else chunk).json()
        piece = translator.take(Chunk(0, 0, data, data))
        if not piece and now() - written_at > _KEEP_ALIVE_SECONDS:
            piece = translator.keep_alive()
        written_at = now() if piece else written_at
        yield piece
    yield translator.end()


def _with_seals(chunk: ChatChunk) -> ChatChunk:
    choices = [{**choice, "delta": marked(as_object(choice.get("delta")))} for choice in chunk.choices]
    return msgspec.structs.replace(chunk, choices=choices)


async def _collected(written: AsyncIterator[bytes], wire_format: str) -> AsyncIterator[bytes]:
    yield collected(b"".join([piece async for piece in written]), wire_format)


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
