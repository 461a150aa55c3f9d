"""Blocks of Anthropic's messages, as ones that LiteLLM can express in chat: it silently drops any others."""

from collections.abc import Callable
from typing import NamedTuple

from streamviz.core.errors import RequestError
from streamviz.core.json_value import JsonObject, as_object, as_text, objects
from streamviz.upstream.request_fields import refusal
from streamviz.upstream.targets import Target

_OF_A_MODEL = frozenset({"redacted_thinking", "text", "thinking", "tool_use"})
# What Anthropic ran by itself, and its results: the answer that follows says what the model made of them.
_RUN_THERE = ("server_tool_use", "mcp_tool_use", "_tool_result")
_PICTURES = frozenset({"base64", "url"})
# Chat has no member that says so.
_FAILED = "The tool failed:"
_LONGEST_NAME = 50


def sayable(target: Target, messages: list[object], left_out: list[str]) -> list[object]:
    """Messages with blocks that chat can express. Raises RequestError (400) for what a model would be shown but chat
    cannot express."""
    blocks = _Blocks(target, left_out)
    return [blocks.in_message(message) if isinstance(message, dict) else message for message in messages]


class _Blocks(NamedTuple):
    target: Target
    left_out: list[str]

    def in_message(self, message: JsonObject) -> JsonObject:
        said = self._of_a_model if message.get("role") == "assistant" else self._of_a_person
        return _each(message, said)

    def _of_a_model(self, block: JsonObject) -> list[JsonObject]:
        kind = as_text(block.get("type"))
        if kind in _OF_A_MODEL:
            return [block]
        if kind == "compaction":
            return [_text(as_text(block.get("content")))]
        if kind.endswith(_RUN_THERE):
            self.left_out.append(kind[:_LONGEST_NAME])
            return []
        raise self._unsayable(block)

    def _of_a_person(self, block: JsonObject) -> list[JsonObject]:
        if block.get("type") == "tool_result":
            return [_told_of_failure(_each(block, self._of_a_tool))]
        if block.get("type") == "document" and as_object(block.get("source")).get("type") == "base64":
            return [block]
        return self._shown(block)

    def _of_a_tool(self, block: JsonObject) -> list[JsonObject]:
        if block.get("type") == "tool_reference":
            return [_text(f"Found the tool {as_text(block.get('tool_name'))}")]
        return self._shown(block)

    def _shown(self, block: JsonObject) -> list[JsonObject]:
        """What people and tools show a model, as texts and images."""
        kind, source = block.get("type"), as_object(block.get("source"))
        if kind == "text" or (kind == "image" and as_text(source.get("type")) in _PICTURES):
            return [block]
        if kind == "search_result":
            return [*_named(block, as_text(block.get("source"))), *self._inside(block.get("content"))]
        if kind == "document" and source.get("type") == "text":
            return [*_named(block), _text(as_text(source.get("data")))]
        if kind == "document" and source.get("type") == "content":
            return [*_named(block), *self._inside(source.get("content"))]
        raise self._unsayable(block)

    def _inside(self, content: object) -> list[JsonObject]:
        if isinstance(content, str):
            return [_text(content)]
        return [made for each in objects(content) for made in self._inner(each)]

    def _inner(self, block: JsonObject) -> list[JsonObject]:
        """Only texts and images may be inside: nothing is nested further."""
        if block.get("type") not in ("text", "image"):
            raise self._unsayable(block)
        return self._shown(block)

    def _unsayable(self, block: JsonObject) -> RequestError:
        name = as_text(block.get("type"))[:_LONGEST_NAME] or "content"
        source = as_text(as_object(block.get("source")).get("type"))[:_LONGEST_NAME]
        return refusal(self.target, f"{name}.source.{source}" if source else name)


def _each(holder: JsonObject, said: Callable[[JsonObject], list[JsonObject]]) -> JsonObject:
    """A message, or a tool's result, with each block replaced by what `said` makes of it."""
    content = holder.get("content")
    if not isinstance(content, list):
        return holder
    made = [each for block in content for each in (said(block) if isinstance(block, dict) else [block])]
    return {**holder, "content": made}


def _told_of_failure(result: JsonObject) -> JsonObject:
    """A tool's result, with a text that says so if it is an error."""
    if result.get("is_error") is not True:
        return result
    content = result.get("content")
    if not isinstance(content, list):
        return {**result, "content": f"{_FAILED} {as_text(content)}".rstrip()}
    first = as_object(content[0]) if content else {}
    if first.get("type") != "text":
        return {**result, "content": [_text(_FAILED), *content]}
    return {**result, "content": [{**first, "text": f"{_FAILED} {as_text(first.get('text'))}"}, *content[1:]]}


def _named(block: JsonObject, source: str = "") -> list[JsonObject]:
    words = [as_text(block.get("title")), source, as_text(block.get("context"))]
    return [_text("\n".join(filter(None, words)))] if any(words) else []


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}
