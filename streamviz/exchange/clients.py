"""Clients that are known by their headers, and what they do that others do not."""

import re
from collections.abc import Mapping

from streamviz.core.composer import Composer
from streamviz.core.wire import OPENAI_CHAT
from streamviz.exchange.stream import LiveStream

# Gemini CLI and Qwen Code contain such an SDK.
_OLD_NODE_SDK_OF_GOOGLE = re.compile(r"geminicli|qwencode|google-genai-sdk/[12]\.\S{1,30} gl-node/", re.IGNORECASE)
_VIBE = re.compile(r"(mistral-client-python/)?mistral-vibe/|python-httpx/", re.IGNORECASE)


def fitted(composer: Composer, stream: LiveStream) -> Composer:
    """The composer, set up for the client of a stream."""
    composer.counts_events = is_codex(stream.user_agent)
    composer.asks_again_for_incomplete = asks_again_for_incomplete(stream)
    composer.knows_openai_codes_alone = _is_copilot(stream.request_headers)
    composer.asks_again_after_errors = _asks_again_after_errors(stream)
    composer.reads_events_alone = _reads_events_alone(stream.request_headers)
    composer.has_bare_errors = _wants_bare_errors(stream.user_agent)
    return composer


def is_codex(user_agent: str) -> bool:
    """Whether a client identifies itself as Codex. Codex gives up on a stream that sends no event for long, whatever
    else it sends, and retries five times after a 403."""
    return user_agent.lower().startswith("codex")


def _is_vibe(stream: LiveStream) -> bool:
    """Whether its client is Mistral Vibe. Its user agent is its own, with or without that of Mistral's SDK before it,
    or httpx's. Other clients send the header too, because Mistral's API reads it."""
    return "x-affinity" in stream.request_headers and _VIBE.match(stream.user_agent) is not None


def asks_again_for_incomplete(stream: LiveStream) -> bool:
    """Whether its client asks for the rest of an incomplete answer: Codex does so five times, Mistral Vibe six times,
    Factory's Droid without end."""
    is_droid = stream.user_agent.lower().startswith("factory-cli")
    return is_codex(stream.user_agent) or is_droid or _is_vibe(stream)


def _is_copilot(headers: Mapping[str, str]) -> bool:
    """Whether a client sends the headers of Copilot CLI, whose user agent is that of OpenAI's SDK."""
    return "x-interaction-type" in headers


def _reads_events_alone(headers: Mapping[str, str]) -> bool:
    """Whether a client sends the header of `@google/generative-ai`, Google's first SDK for Node, which is part of
    LangChain's. It stops reading at an empty line between events, and takes an error for an answer without text."""
    # Programs that use it, such as Genkit, may name themselves before it.
    return any(word.startswith("genai-js/") for word in headers.get("x-goog-api-client", "").split())


def _asks_again_after_errors(stream: LiveStream) -> bool:
    """Whether its client asks again after any error in mid-stream. Kimi Code does, whatever the error says. Mistral
    Vibe in chat and Google's first SDK for Node see no error there, and take the stream for a broken or empty one."""
    is_kimi = stream.user_agent.lower().startswith("kimi-code-cli")
    overlooks_errors = _is_vibe(stream) and stream.wire_format == OPENAI_CHAT.name
    return is_kimi or overlooks_errors or _reads_events_alone(stream.request_headers)


def _wants_bare_errors(user_agent: str) -> bool:
    """Whether a client of this name takes an error event within a Gemini stream for an answer without text, and asks
    again. It recognises only errors sent on their own, without `data:`, as Google sends them."""
    return _OLD_NODE_SDK_OF_GOOGLE.search(user_agent) is not None
