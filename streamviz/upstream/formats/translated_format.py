"""What differs between the formats of clients when their calls are made at providers that speak another."""

from abc import ABC, abstractmethod
from typing import ClassVar

import msgspec

from streamviz.core.json_value import JsonObject, as_object
from streamviz.upstream.model_parameters import has
from streamviz.upstream.targets import Target
from streamviz.upstream.translated_answer import Opened

# What a provider keeps or runs by itself; one that is called in the chat format does neither.
_DONE_THERE = frozenset({"background", "container", "max_tool_calls", "mcp_servers", "previous_response_id"})


class TranslatedFormat(ABC):
    """A format in the translated lane. By default LiteLLM makes its calls in the chat format, which can take its
    requests as they are."""

    # The types of what LiteLLM looks into.
    types: ClassVar[type[msgspec.Struct]]
    # The member of a request that has the sampling parameters; empty if they are the request's own.
    sampling: ClassVar[str] = ""

    def is_spoken(self, target: Target) -> bool:
        """Whether LiteLLM makes calls of this model in the format itself."""
        return False

    def takes(self, target: Target, name: str) -> bool:
        """Whether a call in the chat format can have this parameter."""
        return name not in _DONE_THERE and has(target, name)

    def fit(self, target: Target, fields: JsonObject, left_out: list[str]) -> None:
        """Change what a call in the chat format cannot take as it is. Raises RequestError (400) for what it cannot take
        although the answer depends on it."""
        return

    def asks_for_json(self, fields: JsonObject) -> str:
        """The member by which a request asks for JSON mode, in which the answer may be any JSON; empty if it does
        not."""
        return ""

    @abstractmethod
    async def call(self, target: Target, arguments: JsonObject, most_blocks: int | None) -> Opened:
        """Have LiteLLM make a call with these arguments. Raises whatever LiteLLM raises."""

    def as_chat(self, target: Target, fields: JsonObject) -> JsonObject:
        """A fitted request as one in the chat format. Raises ClientFacingError (400) for what chat cannot express."""
        return fields

    def to_count(self, arguments: JsonObject) -> tuple[JsonObject, str]:
        """LiteLLM's arguments for counting the tokens of a call with these, and what the format calls that number; for
        formats whose clients can ask for it."""
        raise NotImplementedError


def is_any_json(format: object) -> bool:
    """Whether the format that an answer should have is JSON of any kind."""
    return as_object(format).get("type") == "json_object"
