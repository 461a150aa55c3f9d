"""Wire lint: what upstream sent that its format does not allow. A module for each format has its rules by name."""

from streamviz.core.lint import anthropic_messages, gemini, openai_chat, openai_responses
from streamviz.core.lint.linter import Linter, Note

__all__ = ["LINTERS", "RULES", "Linter", "Note"]

LINTERS: dict[str, type[Linter]] = {
    "openai_chat": openai_chat.OpenAIChatLinter,
    "anthropic_messages": anthropic_messages.AnthropicMessagesLinter,
    "openai_responses": openai_responses.OpenAIResponsesLinter,
    "gemini": gemini.GeminiLinter,
}
# What each rule demands, by its name; formats that share a name demand the same.
RULES: dict[str, str] = {name: demand for linter in LINTERS.values() for name, demand in linter.rules.items()}
