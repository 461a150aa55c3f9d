"""LiteLLM as this project wants it: local prices, no telemetry, no callbacks, nothing printed. What it may send is in
`sending.py`."""

import logging
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

from streamviz.core.json_value import encode, object_in
from streamviz.upstream.conversions import convert_in_threads
from streamviz.upstream.proxies import proxy_for
from streamviz.upstream.sending import saying, sending_here

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
        raw_response = saying(raw_response, encode({**said, "service_tier": None}))
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


_is_no_pattern = common_utils._is_not_python_regex


def _is_surely_no_pattern(pattern: str) -> bool:
    """Whether OpenAI would refuse a schema's pattern, which LiteLLM then leaves out: it compiles each to find out."""
    sending = sending_here()
    return sending is not None and sending.is_no_pattern(pattern, _is_no_pattern)


common_utils._is_not_python_regex = _is_surely_no_pattern


def _unknown_model(_info: OllamaModelInfo, model: str, *_: object, **__: object) -> dict[str, object]:
    """Describe any model as unknown: LiteLLM would ask an Ollama server, at the usual address whatever the call's
    is."""
    costs = {"input_cost_per_token": 0.0, "output_cost_per_token": 0.0}
    most = {"max_tokens": None, "max_input_tokens": None, "max_output_tokens": None}
    return {"key": model, "litellm_provider": "ollama", "mode": "chat", **costs, **most}


OllamaModelInfo.get_runtime_model_info = _unknown_model
OllamaModelInfo.get_model_info = _unknown_model


def _proxy_for(_transport: LiteLLMAiohttpTransport, url: httpx.URL) -> str | None:
    """Choose the proxy as for calls that LiteLLM does not make: LiteLLM ignores networks in `NO_PROXY`."""
    return proxy_for(str(url))


LiteLLMAiohttpTransport._proxy_from_env = _proxy_for

# With this on, LiteLLM looks up host names before it fetches something, and it may not fetch anything here.
litellm.user_url_validation = False

__all__ = ["litellm"]
