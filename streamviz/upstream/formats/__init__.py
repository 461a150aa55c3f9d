"""The formats of clients whose calls are translated, each in a module of its own."""

from streamviz.core.wire import ANTHROPIC_MESSAGES, EMBEDDINGS, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES
from streamviz.upstream.formats.chat import Chat
from streamviz.upstream.formats.embeddings import Embeddings
from streamviz.upstream.formats.gemini import Gemini
from streamviz.upstream.formats.messages import Messages
from streamviz.upstream.formats.responses import Responses
from streamviz.upstream.formats.translated_format import TranslatedFormat

TRANSLATED_FORMATS: dict[str, TranslatedFormat] = {
    OPENAI_CHAT.name: Chat(),
    ANTHROPIC_MESSAGES.name: Messages(),
    OPENAI_RESPONSES.name: Responses(),
    GEMINI.name: Gemini(),
    EMBEDDINGS.name: Embeddings(),
}
