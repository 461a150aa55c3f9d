"""Carrying Anthropic's thinking through a format that has one opaque text for it, and back.

Anthropic wants the thinking of a turn back, signed, with the results of the calls that followed it. Clients of OpenAI's
responses keep a reasoning item's `encrypted_content` and send it back, so the signatures go there, each marked with its
kind, so that none of another provider's is taken for one. The text itself is in the item's summary, where policies read
it.
"""

import re
from collections.abc import Iterator

from streamviz.core.json_value import JsonObject, as_text, objects

_MARKED = re.compile(r"sv-(thinking|redacted_thinking):(.*?)(?=sv-(?:redacted_)?thinking:|$)", re.DOTALL)
_SEALS = {"thinking": "signature", "redacted_thinking": "data"}


def marked(delta: JsonObject) -> JsonObject:
    """A chat delta with the seals of its thinking blocks marked."""
    blocks = objects(delta.get("thinking_blocks"))
    return {**delta, "thinking_blocks": [_marked(block) for block in blocks]} if blocks else delta


def _marked(block: JsonObject) -> JsonObject:
    kind = as_text(block.get("type"))
    name = _SEALS.get(kind, "")
    seal = as_text(block.get(name))
    return {**block, name: f"sv-{kind}:{seal}"} if seal else block


def is_marked(sealed: object) -> bool:
    """Whether a text contains seals of Anthropic's."""
    return next(_seals(sealed), None) is not None


def signed_blocks(text: str, sealed: object) -> list[JsonObject]:
    """The blocks of a thinking text and its seals; none if it is unclear which text belongs to which seal."""
    seals = list(_seals(sealed))
    if sum(kind == "thinking" for kind, _ in seals) > 1:
        return []
    told = {"thinking": {"thinking": text}, "redacted_thinking": dict[str, str]()}
    return [{"type": kind, **told[kind], _SEALS[kind]: seal} for kind, seal in seals]


def _seals(sealed: object) -> Iterator[tuple[str, str]]:
    return ((found[1], found[2]) for found in _MARKED.finditer(as_text(sealed)) if found[2])
