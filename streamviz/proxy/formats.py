"""The wire formats that clients speak to us, and what each endpoint needs to know of its own."""

from collections.abc import Callable
from dataclasses import dataclass

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.bounds import Bounds
from streamviz.core.composer import Composer
from streamviz.core.errors import ClientFacingError, UpstreamError
from streamviz.core.json_value import JsonObject, encode
from streamviz.core.wire import (
    AGGREGATORS,
    anthropic_messages_body_composer,
    anthropic_messages_composer,
    openai_chat_body_composer,
    openai_chat_composer,
    openai_responses_body_composer,
    openai_responses_composer,
)


@dataclass(frozen=True)
class WireFormat:
    """One format: its name in the record, its path, how its answers are written, where a request has its turns."""

    name: str
    path: str
    turns: str
    composer: Callable[[JsonObject], Composer]
    body_composer: Callable[[JsonObject], Composer]
    error_body: Callable[[ClientFacingError], JsonObject]

    def aggregator(self, bounds: Bounds) -> Aggregator[Chunk, JsonObject]:
        return AGGREGATORS[self.name](run_id=self.path, most_blocks=bounds.blocks, most_values=bounds.values)

    def error_answer(self, error: ClientFacingError) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body that tell of an error. What a provider said in JSON goes on as it said it."""
        headers = {"content-type": "application/json"}
        if isinstance(error, UpstreamError) and error.body.lstrip()[:1] == b"{":
            return error.status, {**headers, **error.headers}, error.body
        return error.status, {**error.headers, **headers}, encode(self.error_body(error))


def _openai_error(error: ClientFacingError) -> JsonObject:
    return openai_chat_composer.error_body(error.message, error.kind, error.code, error.param)


def _anthropic_error(error: ClientFacingError) -> JsonObject:
    return anthropic_messages_composer.error_body(error.message, error.kind)


OPENAI_CHAT = WireFormat(
    name="openai_chat",
    path="/v1/chat/completions",
    turns="messages",
    composer=openai_chat_composer.OpenAIChatComposer,
    body_composer=openai_chat_body_composer.OpenAIChatBodyComposer,
    error_body=_openai_error,
)
ANTHROPIC_MESSAGES = WireFormat(
    name="anthropic_messages",
    path="/v1/messages",
    turns="messages",
    composer=anthropic_messages_composer.AnthropicMessagesComposer,
    body_composer=anthropic_messages_body_composer.AnthropicMessagesBodyComposer,
    error_body=_anthropic_error,
)
OPENAI_RESPONSES = WireFormat(
    name="openai_responses",
    path="/v1/responses",
    turns="input",
    composer=openai_responses_composer.OpenAIResponsesComposer,
    body_composer=openai_responses_body_composer.OpenAIResponsesBodyComposer,
    error_body=_openai_error,
)
WIRE_FORMATS = (OPENAI_CHAT, ANTHROPIC_MESSAGES, OPENAI_RESPONSES)


def format_of(path: str, speaks_anthropic: bool = False) -> WireFormat:
    """The format in which a client of this path expects to be answered, errors included.

    Paths that several formats have are answered in Anthropic's to a client that says it speaks that.
    """
    otherwise = ANTHROPIC_MESSAGES if speaks_anthropic else OPENAI_CHAT
    return next((known for known in WIRE_FORMATS if path.startswith(known.path)), otherwise)
