"""Models as clients of each format name and list them. When one was made, and what it can take, is not known here."""

from collections.abc import Callable, Container, Sequence
from typing import NamedTuple

from streamviz.core.json_value import JsonObject
from streamviz.core.wire import ANTHROPIC_MESSAGES, GEMINI
from streamviz.core.wire_format import WireFormat

_METHODS = ["generateContent", "streamGenerateContent", "countTokens"]


class Shape(NamedTuple):
    """How to write one model, and a list of models."""

    one: Callable[[str], JsonObject]
    listing: Callable[[Sequence[str]], JsonObject]


def shape_for(wire_format: WireFormat) -> Shape:
    """The shape for clients of a format."""
    return _SHAPES.get(wire_format.name, _OPENAI)


def full_name(name: str, wire_format: WireFormat, routes: Container[str]) -> str:
    """The name of a model, with its provider's name where clients of a format leave it out."""
    is_bare = wire_format.names_models_bare and "/" not in name and name not in routes
    return f"{wire_format.vendor}/{name}" if is_bare else name


def _openai_model(name: str) -> JsonObject:
    owner = name.partition("/")[0] if "/" in name else "streamviz"
    return {"id": name, "object": "model", "created": 0, "owned_by": owner}


def _openai_list(names: Sequence[str]) -> JsonObject:
    return {"object": "list", "data": [_openai_model(name) for name in names]}


def _anthropic_model(name: str) -> JsonObject:
    return {"type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z"}


def _anthropic_list(names: Sequence[str]) -> JsonObject:
    ends = {"has_more": False, "first_id": names[0] if names else None, "last_id": names[-1] if names else None}
    return {"data": [_anthropic_model(name) for name in names], **ends}


def _gemini_model(name: str) -> JsonObject:
    """Google's own models are listed without a provider's name."""
    own = name.removeprefix(f"{GEMINI.vendor}/")
    return {"name": f"models/{own}", "displayName": own, "supportedGenerationMethods": _METHODS}


def _gemini_list(names: Sequence[str]) -> JsonObject:
    return {"models": [_gemini_model(name) for name in names]}


_OPENAI = Shape(_openai_model, _openai_list)
_SHAPES = {
    ANTHROPIC_MESSAGES.name: Shape(_anthropic_model, _anthropic_list),
    GEMINI.name: Shape(_gemini_model, _gemini_list),
}
