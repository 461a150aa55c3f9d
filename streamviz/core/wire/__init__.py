"""One module a wire format: an aggregator that reads it and a composer that writes it."""

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.json_value import JsonObject
from streamviz.core.wire.anthropic_messages import AnthropicMessagesAggregator
from streamviz.core.wire.gemini import GeminiAggregator
from streamviz.core.wire.openai_chat import OpenAIChatAggregator
from streamviz.core.wire.openai_responses import OpenAIResponsesAggregator

AGGREGATORS: dict[str, type[Aggregator[Chunk, JsonObject]]] = {
    "openai_chat": OpenAIChatAggregator,
    "anthropic_messages": AnthropicMessagesAggregator,
    "openai_responses": OpenAIResponsesAggregator,
    "gemini": GeminiAggregator,
}
