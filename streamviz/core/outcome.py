"""How a stream ended."""

from enum import StrEnum


class Outcome(StrEnum):
    """How a stream ended, as streamviz saw it."""

    COMPLETED = "completed"
    HALTED = "halted"
    UPSTREAM_ERROR = "upstream_error"
    CLIENT_DISCONNECTED = "client_disconnected"
    INTERRUPTED = "interrupted"
