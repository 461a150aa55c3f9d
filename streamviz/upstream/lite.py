"""LiteLLM as this project wants it: local prices, no telemetry, no callbacks, nothing printed.

It also makes no call but the one that was asked for. By itself LiteLLM would fetch images from URLs in a request,
prompt templates from Hugging Face, a model's prices from a server on this machine, and credentials from a cloud's
metadata service.
"""

import logging
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from typing import Any

import httpx
import litellm
from litellm.litellm_core_utils import exception_mapping_utils, litellm_logging, secret_redaction
from litellm.litellm_core_utils.prompt_templates import common_utils
from litellm.llms.custom_httpx.aiohttp_transport import LiteLLMAiohttpTransport
from litellm.llms.ollama.common_utils import OllamaModelInfo
from litellm.llms.openai.openai import OpenAIChatCompletion
from litellm.types.llms.vertex_ai import Candidates
from litellm.types.utils import StreamingChoices

from streamviz.core.bounds import Bounds
from streamviz.core.error_words import error_of
from streamviz.core.errors import UpstreamError, unanswered
from streamviz.core.json_value import as_object, encode, object_in
from streamviz.upstream.bounded_body import ENCODINGS, EVENTS, LINES, UNBOUNDED, BoundedBody, require_few_values
from streamviz.upstream.conversions import convert_in_threads
from streamviz.upstream.proxies import proxy_for
from streamviz.upstream.told_errors import MOST_OF_AN_ERROR, error_in, refusal, status_in

litellm.telemetry = False
litellm.suppress_debug_info = True
litellm.disable_hf_tokenizer_download = True
# LiteLLM's direct conversion from Anthropic's messages to OpenAI's responses needs packages of its proxy; the one by
# way of chat does not.
litellm.use_chat_completions_url_for_anthropic_messages = True
# LiteLLM would send four stop sequences and say nothing of the others; a provider that takes no more refuses them.
litellm.disable_stop_sequence_limit = True
# Errors are raised as well; LiteLLM's log would quote what providers and clients sent.
logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)

_fakes_stream = litellm.OpenAIResponsesAPIConfig.should_fake_stream


def _fakes_known_stream(
    config: litellm.OpenAIResponsesAPIConfig,
    model: str | None,
    stream: bool | None,
    custom_llm_provider: str | None = None,
) -> bool:
    """Whether LiteLLM asks for a whole answer and cuts it up itself.

    It would always do so for models that its price map does not know: these are taken to stream.
    """
    is_known = not {model, f"{custom_llm_provider}/{model}"}.isdisjoint(litellm.model_cost)
    return is_known and _fakes_stream(config, model, stream, custom_llm_provider)


litellm.OpenAIResponsesAPIConfig.should_fake_stream = _fakes_known_stream  # type: ignore[method-assign, assignment]


_openais_client = OpenAIChatCompletion._get_openai_client


def _client_without_retries(calls: OpenAIChatCompletion, is_async: bool, **given: Any) -> object:
    """A client of OpenAI's SDK that does not retry: for some providers LiteLLM drops `max_retries`. Whether and when
    to retry is up to streamviz's clients."""
    return _openais_client(calls, is_async, **{**given, "max_retries": 0})


OpenAIChatCompletion._get_openai_client = _client_without_retries


_groqs_answer = litellm.GroqChatConfig.transform_response


def _groqs_answer_without_tier(
    config: litellm.GroqChatConfig, *, raw_response: httpx.Response, **given: Any
) -> litellm.ModelResponse:
    """Add the service tier that LiteLLM expects in Groq's answers, if a whole answer does not name one."""
    if (said := object_in(raw_response.content)) and "service_tier" not in said:
        raw_response = _saying(raw_response, encode({**said, "service_tier": None}))
    return _groqs_answer(config, raw_response=raw_response, **given)


litellm.GroqChatConfig.transform_response = _groqs_answer_without_tier


convert_in_threads()


_googles_choice = litellm.VertexGeminiConfig._create_streaming_choice


def _googles_choice_with_its_own_end(*, candidate: Candidates, **given: Any) -> StreamingChoices:
    """Remove the finish reason that LiteLLM makes up for each chunk of Gemini's without one: it would make an answer
    that is cut off look complete."""
    choice = _googles_choice(candidate=candidate, **given)
    if candidate.get("finishReason") is None:
        choice.finish_reason = None
    return choice


litellm.VertexGeminiConfig._create_streaming_choice = _googles_choice_with_its_own_end


def _is_looked_at_here(_stream: litellm.CustomStreamWrapper) -> bool:
    """Do not have LiteLLM fail for a stream without an end: its error describes LiteLLM, and chat_stream.py notices
    this too."""
    return False


litellm.CustomStreamWrapper._should_fail_on_clean_eof = _is_looked_at_here  # type: ignore[method-assign, assignment]


_redacted = secret_redaction.python_redact_string
# LiteLLM's errors quote what it could not read, which can be a whole request.
_MOST_REDACTED = 4 * 1024


def _redacted_beginning(text: str) -> str:
    """Redact only the beginning: searching for credentials takes 12 s per megabyte, several times for each error."""
    return _redacted(text[:_MOST_REDACTED])


secret_redaction.python_redact_string = _redacted_beginning


def _log_no_failure(*_: object, **__: object) -> None:
    """Do not log failed calls: nobody reads that log, and LiteLLM copies all of a call's messages twice for it."""


async def _log_no_failure_async(*_: object, **__: object) -> None:
    """The same for LiteLLM's asynchronous log."""


litellm_logging.Logging.failure_handler = _log_no_failure
litellm_logging.Logging.async_failure_handler = _log_no_failure_async


def _is_of_guardrail(_error: Exception) -> bool:
    """Whether an error is a guardrail's: never, as there are none here. LiteLLM's own check imports a web framework at
    the first error, which takes seconds."""
    return False


exception_mapping_utils._is_guardrail_block = _is_of_guardrail


class UnaskedCall(httpx.RequestError):
    """A call that LiteLLM wanted to make besides the one that was asked for."""


# How many characters of patterns are compiled for one call, at 5 to 25 µs each.
_MOST_OF_PATTERNS = 10_000
_is_no_pattern = common_utils._is_not_python_regex


class Sending:
    """One call of LiteLLM's. If it fails before it `has_begun`, the request is at fault; if it fails once it
    `is_accepted`, the answer is. `refusal` is the provider's, if it refused the last attempt. Also holds the bounds of
    the answer, the call's credential, and which patterns in the call's schemas were found invalid."""

    def __init__(self, bounds: Bounds = UNBOUNDED, key: str = "") -> None:
        self.bounds, self.key = bounds, key
        self.has_begun = self.is_accepted = False
        self.refusal: UpstreamError | None = None
        self._of_patterns = 0
        self._found: dict[str, bool] = {}
        _sending.set(self)

    def is_no_pattern(self, pattern: str) -> bool:
        """Whether a pattern is invalid. Each is compiled once, as tools repeat them. If there is more to compile than
        anybody writes, the rest is left to the provider to judge."""
        if pattern not in self._found:
            self._of_patterns += len(pattern)
            self._found[pattern] = self._of_patterns <= _MOST_OF_PATTERNS and _is_no_pattern(pattern)
        return self._found[pattern]


_sending: ContextVar[Sending | None] = ContextVar("sending", default=None)


def bounds_here() -> Bounds:
    """The bounds of the current call."""
    return UNBOUNDED if (sending := _sending.get()) is None else sending.bounds


def _is_surely_no_pattern(pattern: str) -> bool:
    """Whether OpenAI would refuse a schema's pattern, which LiteLLM then leaves out: it compiles each to find out."""
    sending = _sending.get()
    return sending is not None and sending.is_no_pattern(pattern)


common_utils._is_not_python_regex = _is_surely_no_pattern
# A header of calls that LiteLLM makes with OpenAI's SDK.
_OPENAIS = "x-stainless-lang"
# How answers that are not streams begin.
_JSON = (b"{", b"[")
# Members of a real answer; with one of these, an error is only part of the answer.
_ANSWERS = ("candidates", "choices", "content", "data", "message", "output")
_send, _send_async = httpx.Client.send, httpx.AsyncClient.send


def _require_asked(request: httpx.Request) -> None:
    """Raises UnaskedCall for anything but a POST: that is how models are called, and anything that is fetched is
    something else."""
    if request.method != "POST":
        said = f"{request.url.host} was not called: streamviz calls nothing but the model"
        raise UnaskedCall(said, request=request)
    if (sending := _sending.get()) is not None:
        sending.has_begun, sending.refusal = True, None


def _send_only_asked(client: httpx.Client, request: httpx.Request, **options: Any) -> httpx.Response:
    _require_asked(request)
    return _send(client, request, **{**options, "follow_redirects": False})


async def _send_only_asked_async(client: httpx.AsyncClient, request: httpx.Request, **options: Any) -> httpx.Response:
    """Redirects are not followed either: they would send the request to an address that no operator chose."""
    _require_asked(request)
    request.headers["accept-encoding"] = ENCODINGS
    response = await _send_async(client, request, **{**options, "stream": True, "follow_redirects": False})
    is_streaming = bool(options.get("stream"))
    bounds = bounds_here()
    _bound(response, bounds, has_lines=is_streaming)
    if response.status_code < 200 or 300 <= response.status_code < 400:
        await response.aclose()
        raise unanswered(response.status_code)
    if response.status_code >= 400:
        return _noted(await _refusal(response))
    response.status_code = 200  # LiteLLM treats some others, such as 204, as refusals
    if not is_streaming:
        await _read(response, bounds)
        if status := _status_told(response.content):
            return _noted(_saying(response, response.content, status))
    if (sending := _sending.get()) is not None:
        sending.is_accepted = True
    return response


def _noted(refused: httpx.Response) -> httpx.Response:
    """Note the refusal as the provider wrote it, because LiteLLM loses part of it. LiteLLM still gets it: it may leave
    something out of the request and call again."""
    if (sending := _sending.get()) is not None:
        sending.refusal = refusal(refused.status_code, refused.content, refused.headers, sending.key)
    return refused


def _bound(response: httpx.Response, bounds: Bounds, *, has_lines: bool) -> None:
    """Bound the response's body and unpack it here: httpx would unpack each piece at once, to a thousand times its
    length."""
    packing = response.headers.pop("content-encoding", "").lower()
    # Amazon's events are not lines.
    has_lines = has_lines and "vnd.amazon" not in response.headers.get("content-type", "")
    ends = EVENTS if _OPENAIS in response.request.headers else LINES
    assert isinstance(response.stream, httpx.AsyncByteStream)
    sending = _sending.get()
    error_told = partial(error_in, key="" if sending is None else sending.key)
    response.stream = BoundedBody(response.stream, packing, bounds, ends if has_lines else (), error_told)


async def _read(response: httpx.Response, bounds: Bounds) -> None:
    """Read the whole body. Raises UpstreamError if it is too much, or not JSON, such as a web page, which LiteLLM would
    report as the request's fault."""
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
    """The response with only the beginning of its body: LiteLLM takes 12 s per megabyte to look for credentials in
    it."""
    body = b""
    with suppress(UpstreamError, httpx.HTTPError):  # a refusal that is cut off or cannot be unpacked still counts
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > MOST_OF_AN_ERROR:
                break
    await response.aclose()
    return _saying(response, body[:MOST_OF_AN_ERROR])


def _is_filled(value: object) -> bool:
    return isinstance(value, dict | list) and bool(value)


def _status_told(body: bytes) -> int:
    """The status of an error that is in an answer's place although the provider's status says that all is well; 0 if
    there is none. If the error has no HTTP status, the provider is at fault (502)."""
    told = object_in(body) if len(body) <= MOST_OF_AN_ERROR else {}
    # A response object that failed is an answer, with the error as a part of it.
    is_answer = told.get("object") == "response" or any(map(_is_filled, map(told.get, _ANSWERS)))
    error = None if is_answer else error_of(told)
    return status_in(as_object(error)) if error else 0


def _saying(response: httpx.Response, body: bytes, status: int = 0) -> httpx.Response:
    """The response with another body, and with another `status` if one is given."""
    of_body = ("content-encoding", "content-length", "transfer-encoding")
    headers = [(name, value) for name, value in response.headers.multi_items() if name not in of_body]
    return httpx.Response(status or response.status_code, headers=headers, content=body, request=response.request)


def _unknown_model(_info: OllamaModelInfo, model: str, *_: object, **__: object) -> dict[str, object]:
    """Describe any model as unknown: LiteLLM would ask an Ollama server, at the usual address whatever the call's
    is."""
    costs = {"input_cost_per_token": 0.0, "output_cost_per_token": 0.0}
    most = {"max_tokens": None, "max_input_tokens": None, "max_output_tokens": None}
    return {"key": model, "litellm_provider": "ollama", "mode": "chat", **costs, **most}


def _proxy_for(_transport: LiteLLMAiohttpTransport, url: httpx.URL) -> str | None:
    """Choose the proxy as for calls that LiteLLM does not make: LiteLLM ignores networks in `NO_PROXY`."""
    return proxy_for(str(url))


LiteLLMAiohttpTransport._proxy_from_env = _proxy_for


def send_only_what_is_asked() -> None:
    """Make httpx, which only LiteLLM uses in a server, refuse all calls that are not calls of models."""
    httpx.Client.send = _send_only_asked  # type: ignore[method-assign, assignment]
    httpx.AsyncClient.send = _send_only_asked_async  # type: ignore[method-assign, assignment]


OllamaModelInfo.get_runtime_model_info = _unknown_model
OllamaModelInfo.get_model_info = _unknown_model
# With this on, LiteLLM looks up host names before it fetches something, and it may not fetch anything here.
litellm.user_url_validation = False

__all__ = ["Sending", "litellm", "send_only_what_is_asked"]
