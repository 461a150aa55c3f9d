"""What differs between the formats of clients when their calls are made at providers that speak another."""

from abc import ABC, abstractmethod
from typing import ClassVar

import msgspec

from streamviz.core.json_value import JsonObject, as_object
from streamviz.core.wire_format import WireFormat
from streamviz.upstream.model_parameters import has
from streamviz.upstream.targets import Target
from streamviz.upstream.translated_answer import Opened

# What a provider keeps or runs by itself; one that is called in the chat format does neither.
_DONE_THERE = frozenset({"background", "container", "max_tool_calls", "mcp_servers", "previous_response_id"})
# What fitting has already expressed in chat's parameters.
_FITTED = frozenset({"parallel_tool_calls", "reasoning_effort", "response_format"})


class TranslatedFormat(ABC):
    """A format in the translated lane. By default LiteLLM makes its calls in the chat format, which can take its
    requests as they are."""

    # The types of what LiteLLM looks into.
    types: ClassVar[type[msgspec.Struct]]

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


def own_or_fitted(fields: JsonObject, wire_format: WireFormat) -> JsonObject:
    """Of a fitted request, what LiteLLM takes for the format's own parameters or chat's."""
    return {name: value for name, value in fields.items() if name in wire_format.parameters | _FITTED}


def as_set(chat: JsonObject) -> JsonObject:
    """The parameters of a chat call that LiteLLM made from a request, without those that it did not set."""
    return {name: value for name, value in chat.items() if value is not None and name != "custom_llm_provider"}
