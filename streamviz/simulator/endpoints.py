"""The endpoints that answer as a model does, one per wire format."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from streamviz.simulator import chat, gemini, messages, responses
from streamviz.simulator.errors import ProviderError
from streamviz.simulator.reply import Frame, JsonObject, Reply


class Endpoint(NamedTuple):
    """A path and the wire format that is used there."""

    path: str
    wire_format: str
    needs: str
    """The key, besides `model`, that a request must have."""
    request_id_header: str
    frames: Callable[[Reply], Iterator[Frame]]
    whole: Callable[[Reply], JsonObject]
    error_body: Callable[[ProviderError, str], JsonObject]


CHAT = Endpoint(
    "/v1/chat/completions", "openai_chat", "messages", "x-request-id", chat.frames, chat.whole, chat.error_body
)
MESSAGES = Endpoint(
    "/v1/messages", "anthropic_messages", "messages", "request-id", messages.frames, messages.whole, messages.error_body
)
RESPONSES = Endpoint(
    "/v1/responses", "openai_responses", "input", "x-request-id", responses.frames, responses.whole, chat.error_body
)
ENDPOINTS = (CHAT, MESSAGES, RESPONSES)
# The model and the method are in the path: `/<model>:generateContent`.
GEMINI = Endpoint(
    "/v1beta/models", "gemini", "contents", "x-request-id", gemini.frames, gemini.whole, gemini.error_body
)
