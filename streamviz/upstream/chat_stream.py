"""LiteLLM's chat streams, brought to one kind of chunk."""

from collections.abc import AsyncIterator
from typing import TypeAlias

import msgspec
from litellm.llms.anthropic.chat.handler import ModelResponseIterator as _OfAnthropic
from litellm.llms.openai.chat.gpt_transformation import OpenAIChatCompletionStreamingHandler
from litellm.llms.openrouter.chat.transformation import OpenRouterChatCompletionStreamingHandler
from openai import AsyncStream

from streamviz.core.errors import RESET, UNFINISHED_STREAM, UpstreamError
from streamviz.core.json_value import JsonObject, as_object, as_text, objects
from streamviz.upstream.chat_chunk import ChatChunk, typed_chunk
from streamviz.upstream.coheres_events import read_coheres_events
from streamviz.upstream.fragments import bound_fragments
from streamviz.upstream.lite import litellm

bound_fragments()
read_coheres_events()

# What reads the chunks of providers that speak OpenAI's format, if it is not OpenAI's SDK.
_Handler: TypeAlias = OpenAIChatCompletionStreamingHandler | OpenRouterChatCompletionStreamingHandler
# What LiteLLM reports about tools that the provider runs by itself. It repeats everything with each addition, and
# readers take the last.
_TOLD_AGAIN = frozenset(
    ("code_interpreter_results", "compaction_blocks", "tool_results", "web_search_calls", "web_search_results")
)


def _says_anything(choice: JsonObject) -> bool:
    return bool(choice["finish_reason"]) or any(as_object(choice.get("delta")).values())


def _keep_own_reasons(handler: _Handler) -> None:
    """Keep finish_reasons that LiteLLM does not know: it turns each into `stop`, even one which says that the answer is
    incomplete."""
    parse = handler.chunk_parser

    def parsed(chunk: JsonObject) -> litellm.ModelResponseStream:
        made = parse(chunk)
        for choice, own in zip(made.choices, objects(chunk.get("choices")), strict=False):
            if reason := as_text(own.get("finish_reason")):
                choice.finish_reason = reason
        return made

    handler.__dict__["chunk_parser"] = parsed


def _unfinished() -> UpstreamError:
    return UpstreamError(502, UNFINISHED_STREAM, code=RESET)


def _take_told_again(made: litellm.ModelResponseStream) -> JsonObject:
    """Remove what a chunk repeats, and return it."""
    taken: JsonObject = {}
    for choice in made.choices:
        told = as_object(choice.delta.provider_specific_fields)
        taken |= {name: told[name] for name in told.keys() & _TOLD_AGAIN}
        choice.delta.provider_specific_fields = {
            name: value for name, value in told.items() if name not in _TOLD_AGAIN
        } or None
    return taken


class ChatStream:
    """The chunks of a chat call's answer; `choices` is how many were asked for.

    If the provider speaks OpenAI's format, its chunks are taken before LiteLLM re-models them, which loses refusals and
    the usage of providers that count in their own way. Otherwise LiteLLM's own iterator supplies them. At its end that
    iterator assembles the whole message again, and estimates usage that was not reported. So it is not run to its end
    if nothing new would come of that, and is left only the chunks that it needs to add up reported usage.
    """

    def __init__(self, wrapper: litellm.CustomStreamWrapper, choices: int, has_usage: bool) -> None:
        self._wrapper = wrapper
        self._choices = choices
        self._has_usage = has_usage
        self._held: JsonObject = {}
        inner = wrapper.completion_stream
        self._direct = inner if isinstance(inner, AsyncStream | _Handler) else None
        if isinstance(inner, _Handler):
            _keep_own_reasons(inner)
        elif isinstance(inner, _OfAnthropic):
            self._take_early(inner)

    async def __aiter__(self) -> AsyncIterator[ChatChunk]:
        first: ChatChunk | None = None
        is_finished = False
        async for each in self._remodelled() if self._direct is None else self._direct:
            if isinstance(each, dict) and "choices" not in each:
                continue  # LiteLLM makes this of lines without a chunk
            chunk = typed_chunk(each) if first is None else typed_chunk(each, id=first.id, created=first.created)
            if chunk.usage is not None and not any(map(_says_anything, chunk.choices)):
                chunk = msgspec.structs.replace(chunk, choices=[])  # as the format has it; LiteLLM makes up a choice
            first = first or chunk
            is_finished = is_finished or chunk.finished > 0
            yield chunk
        if not is_finished:
            raise _unfinished()

    async def _remodelled(self) -> AsyncIterator[litellm.ModelResponseStream]:
        finished = 0
        async for chunk in self._wrapper:
            if getattr(chunk, "usage", None) is not None and not self._is_usage_reported():
                continue
            self._hold_back(chunk)
            ends = typed_chunk(chunk).finished
            if ends and self._is_end_made_up():
                raise _unfinished()
            yield chunk
            self._forget()
            finished += ends
            if finished >= self._choices and not self._has_usage:
                return

    def _is_end_made_up(self) -> bool:
        """Whether LiteLLM made up the end: without a reason from upstream it gives one of its own, even to a stream
        that was cut off and to an answer that was not a stream."""
        wrapper = self._wrapper
        return not (
            wrapper.received_finish_reason or wrapper.intermittent_finish_reason or wrapper.received_any_finish_reason
        )

    def _take_early(self, handler: _OfAnthropic) -> None:
        """Take what would be repeated before LiteLLM copies all of it a few times."""
        parse = handler.chunk_parser

        def parsed(chunk: JsonObject) -> litellm.ModelResponseStream:
            made = parse(chunk)
            self._held |= _take_told_again(made)
            return made

        handler.__dict__["chunk_parser"] = parsed

    def _hold_back(self, chunk: litellm.ModelResponseStream) -> None:
        """Hold back what would be repeated until the end: otherwise an answer grows with the square of its searches."""
        self._held |= _take_told_again(chunk)
        for choice in chunk.choices:
            if choice.finish_reason is not None and self._held:
                told = as_object(choice.delta.provider_specific_fields)
                choice.delta.provider_specific_fields, self._held = self._held | told, {}

    def _forget(self) -> None:
        """Drop the chunk that LiteLLM kept last, unless it reports usage or, as the first, has the stream's id."""
        kept = self._wrapper.chunks
        if len(kept) > 1 and getattr(kept[-1], "usage", None) is None:
            kept.pop()

    def _is_usage_reported(self) -> bool:
        return any(getattr(chunk, "usage", None) is not None for chunk in self._wrapper.chunks)

    async def aclose(self) -> None:
        """Close the connection, even in the middle of the answer."""
        await self._wrapper.aclose()
