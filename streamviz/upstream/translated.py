"""The translating lane: LiteLLM makes the call in the provider's own format and gives OpenAI's chunks."""

from collections.abc import AsyncIterator, Mapping

from streamviz.core import sse
from streamviz.core.errors import RequestError, UpstreamError
from streamviz.core.json_value import JsonObject
from streamviz.upstream.lite import litellm
from streamviz.upstream.targets import Target

# LiteLLM takes its own settings as arguments beside the model's parameters: where to send the call, with what
# credential, what to mock. None of those may come from a client, so only what is known to be a parameter goes on.
PARAMETERS = frozenset(
    "messages functions function_call temperature top_p n stream stream_options stop max_tokens"
    " max_completion_tokens modalities prediction audio presence_penalty frequency_penalty logit_bias user"
    " response_format seed tools tool_choice parallel_tool_calls logprobs top_logprobs reasoning_effort"
    " verbosity thinking web_search_options service_tier safety_identifier prompt_cache_key"
    " prompt_cache_retention store context_management top_k min_p repetition_penalty".split()
)
# These say something to the record, not to the model.
_FOR_US = frozenset({"model", "metadata"})


class TranslatedAnswer:
    """An answer that LiteLLM re-models: server-sent events for a stream, else one JSON body."""

    status = 200

    def __init__(self, response: object, is_streaming: bool) -> None:
        self._response = response
        self.headers: Mapping[str, str] = {"content-type": "text/event-stream" if is_streaming else "application/json"}

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if isinstance(self._response, litellm.ModelResponse):
            yield self._response.model_dump_json(exclude_none=True).encode()
            return
        try:
            async for chunk in self._response:  # type: ignore[attr-defined]  # litellm types its streams as a union
                yield sse.write_event(chunk.model_dump_json(exclude_none=True).encode())
        except litellm.exceptions.APIError as error:
            raise _as_upstream_error(error) from error
        yield sse.write_event(b"[DONE]")

    def close(self) -> None:
        """LiteLLM's stream ends with the task that reads it."""


def require_translatable(target: Target, request: JsonObject) -> None:
    """Raises RequestError (400) for a parameter that this lane cannot pass on: dropping it would go unnoticed."""
    if unknown := request.keys() - PARAMETERS - _FOR_US:
        name = min(unknown)
        message = f"The parameter `{name}` cannot be passed on to {target.provider}, which does not speak this format."
        raise RequestError(400, message, code="unsupported_parameter", param=name)


async def open_translated(target: Target, request: JsonObject) -> TranslatedAnswer:
    """Make the call. Raises UpstreamError where LiteLLM or the provider refuses it."""
    arguments = {name: value for name, value in request.items() if name in PARAMETERS}
    arguments |= {"model": f"{target.provider}/{target.model}", "max_retries": 0}
    if target.base_url:
        arguments["api_base"] = target.base_url
    if target.key:
        arguments["api_key"] = target.key
    try:
        response = await litellm.acompletion(**arguments)
    except Exception as error:  # LiteLLM's errors share no base but OpenAI's, and some are bare.
        raise _as_upstream_error(error) from error
    return TranslatedAnswer(response, bool(request.get("stream")))


def _as_upstream_error(error: Exception) -> UpstreamError:
    status = getattr(error, "status_code", None)
    response = getattr(error, "response", None)
    headers = {}
    if retry_after := getattr(response, "headers", {}).get("retry-after"):
        headers["retry-after"] = retry_after
    message = getattr(error, "message", None) or str(error) or type(error).__name__
    is_status = isinstance(status, int) and 400 <= status < 600
    return UpstreamError(status if is_status else 502, message, headers=headers)
