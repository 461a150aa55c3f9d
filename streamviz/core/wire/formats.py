"""The wire formats, each in one place."""

from dataclasses import replace

from streamviz.core.composer import Composer
from streamviz.core.errors import ClientFacingError
from streamviz.core.json_value import JsonObject
from streamviz.core.lint import anthropic_messages, gemini, openai_chat, openai_responses
from streamviz.core.wire import (
    anthropic_messages_composer,
    anthropic_messages_request,
    anthropic_messages_writer,
    gemini_calls,
    gemini_errors,
    gemini_request,
    openai_chat_request,
    openai_chat_writer,
    openai_responses_request,
    translation,
)
from streamviz.core.wire.anthropic_messages import AnthropicMessagesAggregator
from streamviz.core.wire.anthropic_messages_body_composer import AnthropicMessagesBodyComposer
from streamviz.core.wire.embeddings import EmbeddingsAggregator, EmbeddingsComposer, UnreadAggregator
from streamviz.core.wire.gemini import GeminiAggregator
from streamviz.core.wire.gemini_body_composer import GeminiBodyComposer
from streamviz.core.wire.gemini_composer import GeminiComposer
from streamviz.core.wire.openai_chat import OpenAIChatAggregator
from streamviz.core.wire.openai_chat_body_composer import OpenAIChatBodyComposer
from streamviz.core.wire.openai_chat_composer import OpenAIChatComposer
from streamviz.core.wire.openai_responses import OpenAIResponsesAggregator
from streamviz.core.wire.openai_responses_body_composer import OpenAIResponsesBodyComposer
from streamviz.core.wire.openai_responses_composer import OpenAIResponsesComposer
from streamviz.core.wire_format import Credential, WireFormat


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


def _openai_error(error: ClientFacingError) -> JsonObject:
    return openai_chat_writer.error_body(error.message, error.kind, error.code, error.param)


def _anthropic_error(error: ClientFacingError) -> JsonObject:
    kind = anthropic_messages_writer.TOO_LARGE if error.status == 413 else error.kind
    return anthropic_messages_writer.error_body(error.message, kind)


def _gemini_error(error: ClientFacingError) -> JsonObject:
    return gemini_errors.error_body(error.message, error.status, error.code)


def _count_messages(fields: JsonObject, model: str) -> tuple[str, JsonObject]:
    return "/count_tokens", {**fields, "model": model}


def _no_stream(head: JsonObject, *, source: str = "") -> Composer:
    return EmbeddingsComposer(head)


OPENAI_CHAT = WireFormat(
    name=translation.OPENAI_CHAT,
    title="chat completions",
    operation="chat",
    path="/v1/chat/completions",
    upstream_path="/chat/completions",
    vendor="openai",
    providers=_names(
        "openai custom_openai openrouter groq deepseek mistral xai together_ai fireworks_ai hosted_vllm cerebras"
        " sambanova nvidia_nim perplexity deepinfra lm_studio llamafile moonshot dashscope nebius novita hyperbolic"
        " featherless_ai litellm_proxy zai github baseten vercel_ai_gateway"
    ),
    turns="messages",
    system="",
    may_be_text=False,
    parameters=_names(
        "messages functions function_call temperature top_p n stream stream_options stop max_tokens"
        " max_completion_tokens modalities prediction audio presence_penalty frequency_penalty logit_bias user"
        " response_format seed tools tool_choice parallel_tool_calls logprobs top_logprobs reasoning_effort verbosity"
        " thinking web_search_options service_tier safety_identifier prompt_cache_key prompt_cache_retention store"
        " context_management top_k min_p repetition_penalty"
    ),
    most_output=("max_completion_tokens", "max_tokens"),
    answers=("n",),
    aggregator=OpenAIChatAggregator,
    composer=OpenAIChatComposer,
    body_composer=OpenAIChatBodyComposer,
    error_body=_openai_error,
    parts_of=openai_chat_request.parts_of,
    linter=openai_chat.OpenAIChatLinter,
    reports_usage_if_asked=True,
)
ANTHROPIC_MESSAGES = WireFormat(
    name=translation.ANTHROPIC_MESSAGES,
    title="messages",
    operation="chat",
    path="/v1/messages",
    upstream_path="/v1/messages",
    vendor="anthropic",
    providers=_names("anthropic"),
    turns="messages",
    system="system",
    may_be_text=False,
    parameters=_names(
        "messages max_tokens stop_sequences stream system temperature thinking tool_choice tools top_k top_p"
        " service_tier container context_management mcp_servers output_config"
    ),
    most_output=("max_tokens",),
    answers=(),
    aggregator=AnthropicMessagesAggregator,
    composer=anthropic_messages_composer.AnthropicMessagesComposer,
    body_composer=AnthropicMessagesBodyComposer,
    error_body=_anthropic_error,
    parts_of=anthropic_messages_request.parts_of,
    linter=anthropic_messages.AnthropicMessagesLinter,
    credential=Credential("x-api-key", "", {"anthropic-version": "2023-06-01"}),
    counting=_count_messages,
)
OPENAI_RESPONSES = WireFormat(
    name=translation.OPENAI_RESPONSES,
    title="responses",
    operation="chat",
    path="/v1/responses",
    upstream_path="/responses",
    vendor="openai",
    providers=_names("openai"),
    turns="input",
    system="instructions",
    may_be_text=True,
    parameters=_names(
        "input include instructions max_output_tokens max_tool_calls parallel_tool_calls previous_response_id"
        " reasoning store background temperature text tool_choice tools top_p top_logprobs truncation user"
        " service_tier safety_identifier prompt_cache_key prompt_cache_retention stream stream_options"
    ),
    most_output=("max_output_tokens",),
    answers=(),
    aggregator=OpenAIResponsesAggregator,
    composer=OpenAIResponsesComposer,
    body_composer=OpenAIResponsesBodyComposer,
    error_body=_openai_error,
    parts_of=openai_responses_request.parts_of,
    linter=openai_responses.OpenAIResponsesLinter,
    is_incomplete_if_filtered=True,
)
GEMINI = WireFormat(
    name=translation.GEMINI,
    title="Gemini",
    operation="generate_content",
    path="/v1beta/models",
    upstream_path="/models",
    vendor="gemini",
    providers=_names("gemini"),
    turns="contents",
    system="systemInstruction",
    may_be_text=False,
    parameters=_names(
        "contents systemInstruction tools toolConfig generationConfig safetySettings cachedContent stream"
    ),
    most_output=("generationConfig.maxOutputTokens", "generationConfig.max_output_tokens"),
    answers=("generationConfig.candidateCount", "generationConfig.candidate_count"),
    aggregator=GeminiAggregator,
    composer=GeminiComposer,
    body_composer=GeminiBodyComposer,
    error_body=_gemini_error,
    parts_of=gemini_request.parts_of,
    linter=gemini.GeminiLinter,
    credential=Credential("x-goog-api-key", ""),
    fields_in_path=("model", "stream"),
    path_end=gemini_calls.generating,
    counting=gemini_calls.counting,
    settings="generationConfig",
    names_models_bare=True,
)
EMBEDDINGS = WireFormat(
    name="embeddings",
    title="embeddings",
    operation="embeddings",
    path="/v1/embeddings",
    upstream_path="/embeddings",
    vendor="openai",
    providers=OPENAI_CHAT.providers,
    turns="input",
    system="",
    may_be_text=True,
    parameters=_names("input encoding_format dimensions user"),
    most_output=(),
    answers=(),
    aggregator=EmbeddingsAggregator,
    composer=_no_stream,
    body_composer=EmbeddingsComposer,
    error_body=_openai_error,
    parts_of=openai_responses_request.parts_of,
    is_of_numbers=True,
)
# Calls that pass unread: they are on record, and have no path of their own.
PASSED_THROUGH = replace(
    EMBEDDINGS,
    name="passed_through",
    title="passed through",
    operation="",
    path="passed through",
    turns="",
    providers=frozenset(),
    aggregator=UnreadAggregator,
)
