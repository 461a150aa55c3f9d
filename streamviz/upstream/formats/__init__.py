"""The formats of clients whose calls are translated, each in a module of its own."""

from streamviz.core.errors import RequestError
from streamviz.core.wire import ANTHROPIC_MESSAGES, EMBEDDINGS, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES, WIRE_FORMATS
from streamviz.upstream.formats.chat import Chat
from streamviz.upstream.formats.embeddings import Embeddings
from streamviz.upstream.formats.gemini import Gemini
from streamviz.upstream.formats.messages import Messages
from streamviz.upstream.formats.responses import Responses
from streamviz.upstream.formats.translated_format import TranslatedFormat
from streamviz.upstream.targets import Target

TRANSLATED_FORMATS: dict[str, TranslatedFormat] = {
    OPENAI_CHAT.name: Chat(),
    ANTHROPIC_MESSAGES.name: Messages(),
    OPENAI_RESPONSES.name: Responses(),
    GEMINI.name: Gemini(),
    EMBEDDINGS.name: Embeddings(),
}


def translated_format(target: Target) -> TranslatedFormat:
    """The format of a target's calls. Raises RequestError (400) for one that is not translated."""
    known = TRANSLATED_FORMATS.get(target.wire_format)
    if known is None:
        path = WIRE_FORMATS[target.wire_format].path
        message = (
            f"{target.provider}/{target.model} cannot be called at {path}, whose format its provider does not speak."
        )
        raise RequestError(400, message, code="unsupported_endpoint", param="model")
    return known
