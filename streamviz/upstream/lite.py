"""LiteLLM as this project wants it: local prices, no telemetry, no callbacks, nothing printed.

And no call but the one that was asked for. By itself it would fetch pictures from where a request says, templates of
prompts from Hugging Face, what a model costs from a server on this machine, and credentials from a cloud's metadata.
"""

import asyncio
import logging
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import httpx
import litellm
from litellm.litellm_core_utils import exception_mapping_utils, litellm_logging, secret_redaction
from litellm.litellm_core_utils.prompt_templates import common_utils
from litellm.litellm_core_utils.prompt_templates.image_handling import async_inline_remote_media
from litellm.llms.custom_httpx.aiohttp_transport import LiteLLMAiohttpTransport
from litellm.llms.ollama.common_utils import OllamaModelInfo
from litellm.types.llms.vertex_ai import Candidates
from litellm.types.utils import StreamingChoices

from streamviz.core.bounds import Bounds
from streamviz.core.errors import UpstreamError, redirected
from streamviz.core.json_value import as_index, as_object, encode, object_in
from streamviz.upstream.bounded_body import ENCODINGS, EVENTS, LINES, UNBOUNDED, BoundedBody, require_few_values
from streamviz.upstream.proxies import proxy_for

litellm.telemetry = False
litellm.suppress_debug_info = True
litellm.disable_hf_tokenizer_download = True
# Its way from Anthropic's messages to OpenAI's responses needs packages of its proxy; the way over chat does not.
litellm.use_chat_completions_url_for_anthropic_messages = True
# What goes wrong is raised too; its log would quote what providers and clients sent.
logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)

_fakes_stream = litellm.OpenAIResponsesAPIConfig.should_fake_stream


def _fakes_known_stream(
    config: litellm.OpenAIResponsesAPIConfig,
    model: str | None,
    stream: bool | None,
    custom_llm_provider: str | None = None,
) -> bool:
    """Whether LiteLLM asks for a whole answer and cuts it up itself.

    For models that its price map does not know it would always: these are taken to stream.
    """
    is_known = not {model, f"{custom_llm_provider}/{model}"}.isdisjoint(litellm.model_cost)
    return is_known and _fakes_stream(config, model, stream, custom_llm_provider)


litellm.OpenAIResponsesAPIConfig.should_fake_stream = _fakes_known_stream  # type: ignore[method-assign, assignment]


_groqs_answer = litellm.GroqChatConfig.transform_response


def _groqs_answer_without_tier(
    config: litellm.GroqChatConfig, *, raw_response: httpx.Response, **given: Any
) -> litellm.ModelResponse:
    """A whole answer need not name a service tier, which LiteLLM takes for granted of Groq's."""
    if (said := object_in(raw_response.content)) and "service_tier" not in said:
        raw_response = _saying(raw_response, encode({**said, "service_tier": None}))
    return _groqs_answer(config, raw_response=raw_response, **given)


litellm.GroqChatConfig.transform_response = _groqs_answer_without_tier


async def _anthropics_request_aside(config: litellm.AnthropicConfig, **given: Any) -> dict[str, object]:
    """LiteLLM takes a second for some thousands of messages, which others would wait for in the event loop."""
    given["messages"] = await async_inline_remote_media(given["messages"], should_inline=config.inlines_remote_media)
    return await asyncio.to_thread(config.transform_request, **given)


litellm.AnthropicConfig.async_transform_request = _anthropics_request_aside


_googles_choice = litellm.VertexGeminiConfig._create_streaming_choice


def _googles_choice_with_its_own_end(*, candidate: Candidates, **given: Any) -> StreamingChoices:
    """For each chunk of Gemini's that names no reason for an end LiteLLM makes one up, so that an answer that is cut
    off looks whole."""
    choice = _googles_choice(candidate=candidate, **given)
    if candidate.get("finishReason") is None:
        choice.finish_reason = None
    return choice


litellm.VertexGeminiConfig._create_streaming_choice = _googles_choice_with_its_own_end


def _is_looked_at_here(_stream: litellm.CustomStreamWrapper) -> bool:
    """A stream without an end fails for LiteLLM with an error that tells of itself; chat_stream.py sees it too."""
    return False


litellm.CustomStreamWrapper._should_fail_on_clean_eof = _is_looked_at_here  # type: ignore[method-assign, assignment]


_redacted, _cause_of = secret_redaction.python_redact_string, litellm_logging.normalize_error
# Of an error LiteLLM quotes what it could not read, which can be a whole request.
_MOST_OF_AN_ERROR = 4 * 1024


def _redacted_beginning(text: str) -> str:
    """To look for credentials it takes 12 s a megabyte, each of several times, for a log that nobody has."""
    return _redacted(text[:_MOST_OF_AN_ERROR])


def _cause_by_beginning(error: Exception | None, status: str, message: str) -> str | None:
    """The same of words that tell what went wrong: 5 s a megabyte."""
    return _cause_of(error, status, message[:_MOST_OF_AN_ERROR])


secret_redaction.python_redact_string = _redacted_beginning
litellm_logging.normalize_error = _cause_by_beginning


def _is_of_guardrail(_error: Exception) -> bool:
    """There are none here. To see that LiteLLM imports a web framework with the first error, which takes seconds."""
    return False


exception_mapping_utils._is_guardrail_block = _is_of_guardrail


class UnaskedCall(httpx.RequestError):
    """A call that LiteLLM wanted to make beside the one that was asked for."""


# Characters of patterns that are compiled for one call, 5 to 25 µs each.
_MOST_OF_PATTERNS = 10_000
_is_no_pattern = common_utils._is_not_python_regex


class Sending:
    """Whether a call of LiteLLM's has gone out yet: what fails before, the request is at fault for; and whether it was
    accepted: what fails then, the answer is at fault for. How much that may be, and what was found of the patterns in
    the call's schemas."""

    def __init__(self, bounds: Bounds = UNBOUNDED) -> None:
        self.bounds = bounds
        self.has_begun = self.is_accepted = False
        self._of_patterns = 0
        self._found: dict[str, bool] = {}
        _sending.set(self)

    def is_no_pattern(self, pattern: str) -> bool:
        """Each is compiled once, as tools repeat them. Of more than anybody writes the provider tells."""
        if pattern not in self._found:
            self._of_patterns += len(pattern)
            self._found[pattern] = self._of_patterns <= _MOST_OF_PATTERNS and _is_no_pattern(pattern)
        return self._found[pattern]


_sending: ContextVar[Sending | None] = ContextVar("sending", default=None)


def bounds_here() -> Bounds:
    """Those of the call at hand."""
    return UNBOUNDED if (sending := _sending.get()) is None else sending.bounds


def _is_surely_no_pattern(pattern: str) -> bool:
    """Whether OpenAI would refuse a schema's pattern, which LiteLLM then leaves out: it compiles each to see that."""
    sending = _sending.get()
    return sending is not None and sending.is_no_pattern(pattern)


common_utils._is_not_python_regex = _is_surely_no_pattern
# A header of the calls that LiteLLM has OpenAI's SDK make.
_OPENAIS = "x-stainless-lang"
# How answers begin that are no stream.
_JSON = (b"{", b"[")
# A refusal, or an error in an answer's place, says why in a few lines.
_MOST_OF_A_REFUSAL = 16 * 1024
# What stands beside an error of an answer that there is.
_ANSWERS = ("candidates", "choices", "content", "data", "message", "output")
_send, _send_async = httpx.Client.send, httpx.AsyncClient.send


def _require_asked(request: httpx.Request) -> None:
    """Calls of models are posted; what is fetched is something else. Raises UnaskedCall."""
    if request.method != "POST":
        said = f"{request.url.host} was not called: streamviz calls nothing but the model"
        raise UnaskedCall(said, request=request)
    if (sending := _sending.get()) is not None:
        sending.has_begun = True


def _send_only_asked(client: httpx.Client, request: httpx.Request, **options: Any) -> httpx.Response:
    _require_asked(request)
    return _send(client, request, **{**options, "follow_redirects": False})


async def _send_only_asked_async(client: httpx.AsyncClient, request: httpx.Request, **options: Any) -> httpx.Response:
    """A redirect is not followed either: it would send the request to an address that no operator chose."""
    _require_asked(request)
    request.headers["accept-encoding"] = ENCODINGS
    response = await _send_async(client, request, **{**options, "stream": True, "follow_redirects": False})
    is_streaming = bool(options.get("stream"))
    bounds = bounds_here()
    _bound(response, bounds, has_lines=is_streaming)
    if 300 <= response.status_code < 400:
        await response.aclose()
        raise redirected(response.status_code)
    if response.status_code >= 300:
        return await _refusal(response)
    if not is_streaming:
        await _read(response, bounds)
        if status := _status_told(response.content):
            return _saying(response, response.content, status)
    if (sending := _sending.get()) is not None:
        sending.is_accepted = True
    return response


def _bound(response: httpx.Response, bounds: Bounds, *, has_lines: bool) -> None:
    """httpx would unpack each piece at once, to a thousand times its length."""
    packing = response.headers.pop("content-encoding", "").lower()
    # Amazon's events are no lines.
    has_lines = has_lines and "vnd.amazon" not in response.headers.get("content-type", "")
    ends = EVENTS if _OPENAIS in response.request.headers else LINES
    assert isinstance(response.stream, httpx.AsyncByteStream)
    response.stream = BoundedBody(response.stream, packing, bounds, ends if has_lines else ())


async def _read(response: httpx.Response, bounds: Bounds) -> None:
    """All of it. Raises UpstreamError for more than may be, and for what is no JSON, as a web page, of which LiteLLM
    would say that the request is at fault."""
    try:
        body = await response.aread()
    finally:
        await response.aclose()
    require_few_values(body, bounds)
    if body.lstrip()[:1] not in _JSON and not _has_events(response):
        raise UpstreamError(502, "upstream sent something that is not JSON")


def _has_events(response: httpx.Response) -> bool:
    return "event-stream" in str(response.headers.get("content-type", ""))


async def _refusal(response: httpx.Response) -> httpx.Response:
    """The same with the beginning of its body alone: to look for credentials in it LiteLLM takes 12 s a megabyte."""
    body = b""
    with suppress(UpstreamError):  # what cannot be unpacked still is a refusal
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > _MOST_OF_A_REFUSAL:
                break
    await response.aclose()
    return _saying(response, body[:_MOST_OF_A_REFUSAL])


def _status_told(body: bytes) -> int:
    """The status of the error that stands in an answer's place, though the provider's own says that all is well; 0
    where there is none. Where it tells no status of HTTP's, the provider is at fault."""
    told = object_in(body) if len(body) <= _MOST_OF_A_REFUSAL else {}
    # A response that failed is an answer, which has the error as a part of it.
    is_answer = told.get("object") == "response" or any(told.get(name) for name in _ANSWERS)
    if is_answer or not told.get("error"):
        return 0
    status = as_index(as_object(told["error"]).get("code")) or 0
    return status if 400 <= status < 600 else 502


def _saying(response: httpx.Response, body: bytes, status: int = 0) -> httpx.Response:
    """The same with another body, and with another `status` where one is given."""
    of_body = ("content-encoding", "content-length", "transfer-encoding")
    headers = [(name, value) for name, value in response.headers.multi_items() if name not in of_body]
    return httpx.Response(status or response.status_code, headers=headers, content=body, request=response.request)


def _unknown_model(_info: OllamaModelInfo, model: str, *_: object, **__: object) -> dict[str, object]:
    """In place of asking an Ollama server, at its usual address whatever that of the call is."""
    costs = {"input_cost_per_token": 0.0, "output_cost_per_token": 0.0}
    most = {"max_tokens": None, "max_input_tokens": None, "max_output_tokens": None}
    return {"key": model, "litellm_provider": "ollama", "mode": "chat", **costs, **most}


def _proxy_for(_transport: LiteLLMAiohttpTransport, url: httpx.URL) -> str | None:
    """As of calls that LiteLLM does not make: it knows no networks in `NO_PROXY`."""
    return proxy_for(str(url))


LiteLLMAiohttpTransport._proxy_from_env = _proxy_for


def send_only_what_is_asked() -> None:
    """From now on httpx, which nothing but LiteLLM uses in a server, sends no call but one of a model."""
    httpx.Client.send = _send_only_asked  # type: ignore[method-assign, assignment]
    httpx.AsyncClient.send = _send_only_asked_async  # type: ignore[method-assign, assignment]


OllamaModelInfo.get_runtime_model_info = _unknown_model
OllamaModelInfo.get_model_info = _unknown_model
# It looks up names before it fetches, which it may not here.
litellm.user_url_validation = False

__all__ = ["Sending", "litellm", "send_only_what_is_asked"]
