"""One module a wire format: an aggregator that reads it and a composer that writes it."""

from collections.abc import Callable

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.composer import Composer
from streamviz.core.json_value import JsonObject
from streamviz.core.wire.anthropic_messages import AnthropicMessagesAggregator
from streamviz.core.wire.anthropic_messages_body_composer import AnthropicMessagesBodyComposer
from streamviz.core.wire.anthropic_messages_composer import AnthropicMessagesComposer
from streamviz.core.wire.gemini import GeminiAggregator
from streamviz.core.wire.openai_chat import OpenAIChatAggregator
from streamviz.core.wire.openai_chat_body_composer import OpenAIChatBodyComposer
from streamviz.core.wire.openai_chat_composer import OpenAIChatComposer
from streamviz.core.wire.openai_responses import OpenAIResponsesAggregator
from streamviz.core.wire.openai_responses_body_composer import OpenAIResponsesBodyComposer
from streamviz.core.wire.openai_responses_composer import OpenAIResponsesComposer

AGGREGATORS: dict[str, type[Aggregator[Chunk, JsonObject]]] = {
    "openai_chat": OpenAIChatAggregator,
    "anthropic_messages": AnthropicMessagesAggregator,
    "openai_responses": OpenAIResponsesAggregator,
    "gemini": GeminiAggregator,
}
# Of the formats that clients speak to us: made with the message's own fields for a stream, with the whole answer else.
COMPOSERS: dict[str, Callable[[JsonObject], Composer]] = {
    "openai_chat": OpenAIChatComposer,
    "anthropic_messages": AnthropicMessagesComposer,
    "openai_responses": OpenAIResponsesComposer,
}
BODY_COMPOSERS: dict[str, Callable[[JsonObject], Composer]] = {
    "openai_chat": OpenAIChatBodyComposer,
    "anthropic_messages": AnthropicMessagesBodyComposer,
    "openai_responses": OpenAIResponsesBodyComposer,
}
