"""Composed streams as the official SDKs' accumulators read them, in a form that is comparable across formats."""

import json
from functools import lru_cache
from typing import Any, NamedTuple

from anthropic._models import construct_type as construct_anthropic
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import RawMessageStreamEvent
from google.genai.types import GenerateContentResponse
from openai import omit
from openai._models import construct_type as construct_openai
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent

from streamviz.core.blocks import StreamState, ToolCallStreamBlock
from streamviz.core.call_runners import PROVIDER_RUN, Runner
from streamviz.core.composer import Composer
from streamviz.core.events import BlockKind, StreamEvent
from streamviz.core.json_value import JsonObject
from streamviz.core.wire import AGGREGATORS, GEMINI
from streamviz.core.wire.anthropic_messages import AnthropicMessagesAggregator
from streamviz.core.wire.anthropic_messages_composer import AnthropicMessagesComposer
from streamviz.core.wire.openai_chat_composer import OpenAIChatComposer
from streamviz.core.wire.openai_responses import OpenAIResponsesAggregator
from streamviz.core.wire.openai_responses_composer import OpenAIResponsesComposer
from tests.core.support import is_other, parse

HEAD: JsonObject = {"id": "made_1", "model": "m"}
# Several tests read the same recordings. Counts streams.
_KEPT = 500


class Told(NamedTuple):
    """What a response says: all text of each kind, and its calls as (id, name, arguments)."""

    content: str
    thinking: str
    calls: list[tuple[str, str, Any]]
    finish_reason: str | None = None
    others: int = 0


@lru_cache(_KEPT)
def take_in(format: str, data: bytes) -> tuple[Any, list[StreamEvent]]:
    """The aggregator after a whole stream, and all its events."""
    aggregator = AGGREGATORS[format]()
    events = [event for chunk in parse(data) for event in aggregator.aggregate(chunk)]
    return aggregator, events + aggregator.close()


def compose(aggregator: Any, events: list[StreamEvent], source: str, target: str) -> bytes:
    """The stream that says `events` in the format `target`."""
    composer: Composer
    if target == GEMINI.name:
        composer = GEMINI.composer(aggregator.head if source == target else HEAD, source=source)
    elif target == "openai_chat":
        composer = OpenAIChatComposer({**HEAD, "created": 1}, source)
    elif target == "anthropic_messages":
        own = isinstance(aggregator, AnthropicMessagesAggregator)
        composer = AnthropicMessagesComposer(aggregator.head if own else HEAD, source)
    elif isinstance(aggregator, OpenAIResponsesAggregator):
        composer = OpenAIResponsesComposer(aggregator.head, source)
    else:
        composer = OpenAIResponsesComposer({**HEAD, "created_at": 1}, source=source)
    return b"".join(composer.compose(events) + composer.end())


def told_of(state: StreamState, *, is_one_text: bool = False, is_own: bool = True) -> Told:
    """What the first choice says; with `is_one_text`, refusals count as content, for formats that write them as such.

    With `is_own`, only calls of functions count as calls; otherwise all that the client runs do, as other formats have
    no kinds of their own for them.
    """
    blocks = [block for block in state.blocks if block.choice == 0]
    kinds = (BlockKind.CONTENT, BlockKind.REFUSAL) if is_one_text else (BlockKind.CONTENT,)
    calls = [(block.id, block.name, read(block.text)) for block in blocks
             if isinstance(block, ToolCallStreamBlock)
             and not (is_other(block) if is_own else block.runner is Runner.PROVIDER)]  # fmt: skip
    return Told(
        "".join(block.text for block in blocks if block.kind in kinds),
        "".join(block.text for block in blocks if block.kind is BlockKind.THINKING),
        calls,
        state.finish_reasons.get(0),
        # An image is part of the item of the call that made it.
        sum(is_other(block) for block in blocks if not (block.kind is BlockKind.MEDIA and block.label in PROVIDER_RUN)),
    )


def read(arguments: str) -> Any:
    """Arguments as a client reads them: none are an empty object, and truncated ones remain text."""
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments


def payloads(data: bytes) -> list[Any]:
    return [json.loads(chunk.data) for chunk in parse(data) if chunk.data and chunk.data != b"[DONE]"]


def _without_errors(data: bytes) -> list[Any]:
    return [payload for payload in payloads(data) if "error" not in payload and payload.get("type") != "error"]


@lru_cache(_KEPT)
def read_back(format: str, data: bytes) -> Told:
    """What the SDK's accumulator makes of a stream, without errors, which the SDK's client raises earlier."""
    readers = {"openai_chat": _chat, "anthropic_messages": _anthropic, "openai_responses": _responses}
    return {**readers, "gemini": _gemini}[format](data)


def _chat(data: bytes) -> Told:
    state = ChatCompletionStreamState()
    for payload in _without_errors(data):
        chunk: Any = construct_openai(type_=ChatCompletionChunk, value=payload)
        state.handle_chunk(chunk)
    choice = next(choice for choice in state.current_completion_snapshot.choices if choice.index == 0)
    message: Any = choice.message.to_dict()
    calls = [(call["id"], call["function"]["name"], read(call["function"]["arguments"]))
             for call in message.get("tool_calls") or []]  # fmt: skip
    return Told(message.get("content") or "", message.get("reasoning_content") or "", calls, choice.finish_reason)


def _anthropic(data: bytes) -> Told:
    message: Any = None
    buffers: dict[int, bytes] = {}
    for payload in _without_errors(data):
        if payload["type"] == "ping":
            continue
        event: Any = construct_anthropic(type_=RawMessageStreamEvent, value=payload)
        message = accumulate_event(event=event, current_snapshot=message, json_bufs=buffers)
    if message is None:
        return Told("", "", [])
    # The SDK warns about types that it does not know, but reads them.
    parts = message.to_dict(warnings=False)["content"]
    calls = [(part["id"], part["name"], part["input"]) for part in parts if part["type"] == "tool_use"]
    text = "".join(part["text"] for part in parts if part["type"] == "text")
    thinking = "".join(part["thinking"] for part in parts if part["type"] == "thinking")
    known = ("text", "thinking", "redacted_thinking", "tool_use")
    return Told(text, thinking, calls, message.stop_reason, sum(part["type"] not in known for part in parts))


def _responses(data: bytes) -> Told:
    state = ResponseStreamState(input_tools=omit, text_format=omit)
    for payload in _without_errors(data):
        event: Any = construct_openai(type_=ResponseStreamEvent, value=payload)
        last: Any = state.handle_event(event)[-1]
    response = last.response.to_dict()
    items = response["output"]
    parts = [part for item in items if item["type"] == "message" for part in item["content"]]
    thoughts = [part["text"] for item in items if item["type"] == "reasoning"
                for part in [*item.get("summary", []), *(item.get("content") or [])]]  # fmt: skip
    calls = [(item["call_id"], item["name"], read(item["arguments"])) for item in items
             if item["type"] == "function_call"]  # fmt: skip
    known = ("message", "reasoning", "function_call")
    return Told(
        "".join(part.get("text", part.get("refusal", "")) for part in parts),
        "".join(thoughts),
        calls,
        response["status"],
        sum(item["type"] not in known for item in items),
    )


def _gemini(data: bytes) -> Told:
    """The SDK adds nothing up: its callers join what each chunk's first candidate says."""
    # Read an answer as the SDK does, which skips what it does not know.
    chunks = [GenerateContentResponse._from_response(response=each, kwargs={}) for each in _without_errors(data)]
    first = [chunk.candidates[0] for chunk in chunks if chunk.candidates and not chunk.candidates[0].index]
    parts = [part for each in first if each.content for part in each.content.parts or []]
    texts = [part for part in parts if part.text is not None]
    calls = [(call.id or "", call.name or "", call.args or {}) for part in parts if (call := part.function_call)]
    others = [part for part in parts if part.text is None and part.function_call is None]
    return Told(
        "".join(part.text or "" for part in texts if not part.thought),
        "".join(part.text or "" for part in texts if part.thought),
        calls,
        next((str(each.finish_reason.value) for each in reversed(first) if each.finish_reason), None),
        len(others),
    )
