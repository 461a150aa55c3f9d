"""The translating lane: LiteLLM makes the call in the provider's own format and answers in the client's."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import msgspec

from streamviz.core import sse
from streamviz.core.errors import RequestError, UpstreamError
from streamviz.core.json_value import JsonObject, as_object, as_text, encode
from streamviz.upstream.lite import litellm
from streamviz.upstream.targets import Target

# LiteLLM takes its own settings as arguments beside the model's parameters: where to send the call, with what
# credential, what to mock. None of those may come from a client, so only what is known to be a parameter goes on.
PARAMETERS = {
    "openai_chat": frozenset(
        "messages functions function_call temperature top_p n stream stream_options stop max_tokens"
        " max_completion_tokens modalities prediction audio presence_penalty frequency_penalty logit_bias user"
        " response_format seed tools tool_choice parallel_tool_calls logprobs top_logprobs reasoning_effort verbosity"
        " thinking web_search_options service_tier safety_identifier prompt_cache_key prompt_cache_retention store"
        " context_management top_k min_p repetition_penalty".split()
    ),
    "anthropic_messages": frozenset(
        "messages max_tokens stop_sequences stream system temperature thinking tool_choice tools top_k top_p"
        " service_tier container context_management mcp_servers output_config".split()
    ),
    "openai_responses": frozenset(
        "input include instructions max_output_tokens max_tool_calls parallel_tool_calls previous_response_id"
        " reasoning store background temperature text tool_choice tools top_p top_logprobs truncation user"
        " service_tier safety_identifier prompt_cache_key prompt_cache_retention stream stream_options".split()
    ),
}
# These say something to the record, not to the model.
_FOR_US = frozenset({"model", "metadata"})

_CALLS: dict[str, Callable[..., Awaitable[object]]] = {
    "openai_chat": litellm.acompletion,
    "anthropic_messages": litellm.anthropic_messages,
    "openai_responses": litellm.aresponses,
}

# The event loop itself keeps no task alive.
_closing: set[asyncio.Future[None]] = set()


class TranslatedAnswer:
    """An answer that LiteLLM re-models: server-sent events for a stream, else one JSON body."""

    status = 200

    def __init__(self, response: object, wire_format: str, silence_seconds: float) -> None:
        self._response = response
        self._silence_seconds = silence_seconds
        self._wire_format = wire_format
        self._is_streaming = isinstance(response, AsyncIterator)
        kind = "text/event-stream" if self._is_streaming else "application/json"
        self.headers: Mapping[str, str] = {"content-type": kind}

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if not isinstance(self._response, AsyncIterator):
            yield _as_json(self._response)
            return
        try:
            while True:
                async with asyncio.timeout(self._silence_seconds):
                    chunk = await anext(self._response, None)
                if chunk is None:
                    break
                yield _as_event(chunk)
        except TimeoutError as error:
            raise UpstreamError(504, "upstream was silent for too long") from error
        except Exception as error:  # LiteLLM's errors share no base, and its iterators raise what they meet.
            raise _as_upstream_error(error) from error
        if self._wire_format == "openai_chat":
            yield sse.write_event(b"[DONE]")

    def close(self) -> None:
        """LiteLLM's streams are closed by a coroutine, which this leaves to the event loop."""
        if aclose := getattr(self._response, "aclose", None):
            closing = asyncio.ensure_future(aclose())
            _closing.add(closing)
            closing.add_done_callback(_closing.discard)


def require_translatable(target: Target, request: JsonObject) -> None:
    """Raises RequestError (400) for a parameter that this lane cannot pass on: dropping it would go unnoticed."""
    if unknown := request.keys() - PARAMETERS[target.wire_format] - _FOR_US:
        name = min(unknown)
        message = f"The parameter `{name}` cannot be passed on to {target.provider}, which does not speak this format."
        raise RequestError(400, message, code="unsupported_parameter", param=name)


async def open_translated(target: Target, request: JsonObject, silence_seconds: float) -> TranslatedAnswer:
    """Make the call. Raises UpstreamError where LiteLLM or the provider refuses it, or nothing comes for too long."""
    arguments = {name: value for name, value in request.items() if name in PARAMETERS[target.wire_format]}
    arguments["model"] = f"{target.provider}/{target.model}"
    if target.base_url:
        arguments["api_base"] = target.base_url
    if target.key:
        arguments["api_key"] = target.key
    try:
        async with asyncio.timeout(silence_seconds):
            response = await _CALLS[target.wire_format](**arguments)
    except TimeoutError as error:
        raise UpstreamError(504, f"{target.provider} did not answer in time") from error
    except Exception as error:  # LiteLLM's errors share no base but OpenAI's, and some are bare.
        raise _as_upstream_error(error) from error
    return TranslatedAnswer(response, target.wire_format, silence_seconds)


def _as_json(value: object) -> bytes:
    """LiteLLM answers with pydantic models, or with plain dictionaries."""
    if isinstance(value, dict):
        return encode(value)
    return value.model_dump_json(exclude_none=True, warnings=False).encode()  # type: ignore[attr-defined]


def _as_event(chunk: object) -> bytes:
    """One event of LiteLLM's: written already, or as an object."""
    if isinstance(chunk, bytes):
        return chunk
    data = _as_json(chunk)
    name = as_text(as_object(msgspec.json.decode(data)).get("type"))
    return sse.write_event(data, name)


def _as_upstream_error(error: Exception) -> UpstreamError:
    status = getattr(error, "status_code", None)
    # The headers of `response` are LiteLLM's own; what the provider sent is here.
    answered = getattr(error, "litellm_response_headers", None) or {}
    headers = {"retry-after": answered["retry-after"]} if "retry-after" in answered else {}
    message = getattr(error, "message", None) or str(error) or type(error).__name__
    if not isinstance(status, int) or not 400 <= status < 600:
        status = 502
    return UpstreamError(status, message, headers=headers)
