"""Who runs a tool call, by the type that its wire format has for it."""

from enum import StrEnum


class Runner(StrEnum):
    """Who runs a call."""

    CLIENT = "client"
    PROVIDER = "provider"


# Labels of calls that the provider runs itself. All others, including unknown ones, are taken to be the client's.
PROVIDER_RUN = frozenset(
    {
        "code_interpreter_call",
        "file_search_call",
        "image_generation_call",
        "mcp_call",
        "mcp_tool_use",
        "multi_agent_call",
        "program",
        "server_tool_use",
        "tool_search_call",
        "web_search_call",
        "web_search_preview_call",
        "executableCode",
        "toolCall",
    }
)


def runner_of(label: str) -> Runner:
    """Who runs a call with this label."""
    return Runner.PROVIDER if label in PROVIDER_RUN else Runner.CLIENT
