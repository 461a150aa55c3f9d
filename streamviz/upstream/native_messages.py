"""LiteLLM's calls of providers that speak Anthropic's messages, whose streams are passed on as they come.

LiteLLM's own reader keeps all of such a stream so that its proxy can bill it, and imports the proxy's packages, which
are not installed; and it goes on reading when its client has left.
"""

import sys
from collections.abc import AsyncIterator
from types import ModuleType
from typing import Any

import httpx

from streamviz.upstream.lite import litellm

_BILLING = "litellm.proxy.pass_through_endpoints.success_handler"

_instead = ModuleType(_BILLING)
_instead.PassThroughEndpointLogging = object  # type: ignore[attr-defined]
sys.modules[_BILLING] = _instead
try:
    from litellm.llms.anthropic.messages.native.streaming_iterator import BaseAnthropicMessagesStreamingIterator
finally:
    del sys.modules[_BILLING]


async def call_messages(**arguments: Any) -> object:
    """The answer: an asynchronous iterator of bytes if a stream was asked for, otherwise an object."""
    answer: object = await litellm.anthropic_messages(**arguments)
    return answer


async def _pieces(_: object, httpx_response: httpx.Response, **__: object) -> AsyncIterator[bytes]:
    try:
        async for piece in httpx_response.aiter_bytes():
            yield piece
    finally:
        await httpx_response.aclose()


async def _events(
    reader: BaseAnthropicMessagesStreamingIterator, completion_stream: AsyncIterator[Any]
) -> AsyncIterator[bytes]:
    """The events of a provider that has other frames for them."""
    async for event in completion_stream:
        yield reader._convert_chunk_to_sse_format(event)


BaseAnthropicMessagesStreamingIterator.get_async_streaming_response_iterator = _pieces
BaseAnthropicMessagesStreamingIterator.async_sse_wrapper = _events
