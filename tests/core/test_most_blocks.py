"""In each format an aggregator limits the number of blocks, and the items and values of a single event."""

import json
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.bounds import MOST_AT_ONCE
from streamviz.core.errors import UpstreamError
from streamviz.core.wire import AGGREGATORS
from streamviz.core.wire.translator import Translator

MOST = 50


def whole(payload: object) -> Chunk:
    data = json.dumps(payload).encode()
    return Chunk(0, 0, data, data)


def call(number: int) -> dict[str, Any]:
    return {"index": number, "id": f"c{number}", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def chat(message: dict[str, Any]) -> dict[str, Any]:
    return {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


def response(output: list[Any]) -> dict[str, Any]:
    return {"object": "response", "status": "completed", "output": output}


def item(number: int) -> dict[str, Any]:
    return {"type": "function_call", "id": f"f{number}", "call_id": f"c{number}", "name": "f", "arguments": "{}"}


def use(number: int) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"t{number}", "name": "f", "input": {}}


def reasoning(count: int) -> dict[str, Any]:
    return {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": ""}] * count}


def candidates(count: int) -> dict[str, Any]:
    part = {"functionCall": {"name": "f", "args": {}}}
    return {"candidates": [{"content": {"parts": [part] * count}, "finishReason": "STOP"}]}


def many(count: int) -> dict[str, tuple[str, Any]]:
    text = {"type": "output_text", "text": "x"}
    image = {"type": "image_url", "image_url": {"url": "x"}}
    return {
        "chat: calls": ("openai_chat", chat({"tool_calls": [call(n) for n in range(count)]})),
        "chat: pieces of one call": ("openai_chat", chat({"tool_calls": [call(0)] * count})),
        "chat: parts": ("openai_chat", chat({"content": [image] * count})),
        "chat: details": ("openai_chat", chat({"reasoning_details": [{"text": "x"}] * count})),
        "chat: choices": ("openai_chat", {"choices": [{"index": n} for n in range(count)]}),
        "messages: parts": ("anthropic_messages", {"type": "message", "content": [use(n) for n in range(count)]}),
        "responses: items": ("openai_responses", response([item(n) for n in range(count)])),
        "responses: parts": ("openai_responses", response([{"type": "message", "content": [text] * count}])),
        "responses: thoughts": ("openai_responses", response([reasoning(count)])),
        "responses: an event": (
            "openai_responses",
            {"type": "response.completed", "response": response([item(n) for n in range(count)])},
        ),
        "gemini: parts": ("gemini", candidates(count)),
    }


@pytest.mark.parametrize("case", many(0))
def test_one_event_tells_no_more_than_may_be(case: str) -> None:
    wire_format, payload = many(MOST + 1)[case]
    aggregator = AGGREGATORS[wire_format](most_blocks=MOST)
    with pytest.raises(UpstreamError, match="MAX_BLOCKS"):
        aggregator.aggregate(whole(payload))
    assert len(aggregator.state.blocks) <= MOST
    aggregator.close()
    assert all(block.is_sealed for block in aggregator.state.blocks)


@pytest.mark.parametrize("case", many(0))
def test_one_event_may_tell_as_much_as_may_be(case: str) -> None:
    wire_format, payload = many(MOST)[case]
    aggregator = AGGREGATORS[wire_format](most_blocks=MOST)
    aggregator.aggregate(whole(payload))
    assert not aggregator.state.fault


def test_one_event_tells_no_more_than_is_read_at_once() -> None:
    aggregator = AGGREGATORS["openai_responses"](most_blocks=10 * MOST_AT_ONCE)
    aggregator.aggregate(whole(response([item(n) for n in range(MOST_AT_ONCE)])))
    with pytest.raises(UpstreamError, match=f"more than {MOST_AT_ONCE} blocks"):
        AGGREGATORS["openai_responses"](most_blocks=10 * MOST_AT_ONCE).aggregate(
            whole(response([item(n) for n in range(MOST_AT_ONCE + 1)]))
        )


def test_the_end_of_a_response_may_repeat_all_that_came() -> None:
    aggregator = AGGREGATORS["openai_responses"](most_blocks=10 * MOST_AT_ONCE)
    items = [item(n) for n in range(2 * MOST_AT_ONCE)]
    for number, each in enumerate(items):
        aggregator.aggregate(whole({"type": "response.output_item.done", "output_index": number, "item": each}))
    aggregator.aggregate(whole({"type": "response.completed", "response": response(items)}))
    assert aggregator.has_end_mark
    assert len(aggregator.state.blocks) == len(items)
    assert (aggregator.state.fault, aggregator.state.contradiction) == ("", "")


def test_things_in_things_are_counted_together() -> None:
    items = [reasoning(MOST // 5) for _ in range(6)]
    aggregator = AGGREGATORS["openai_responses"](most_blocks=MOST)
    with pytest.raises(UpstreamError, match="MAX_BLOCKS"):
        aggregator.aggregate(whole(response(items)))


@pytest.mark.parametrize("wire_format", ["openai_chat", "anthropic_messages", "openai_responses", "gemini"])
def test_blocks_are_counted_over_all_events(wire_format: str) -> None:
    events = {
        "openai_chat": lambda n: {"choices": [{"index": 0, "delta": {"tool_calls": [call(n)]}}]},
        "anthropic_messages": lambda n: {"type": "content_block_start", "index": n, "content_block": use(n)},
        "openai_responses": lambda n: {"type": "response.output_item.done", "output_index": n, "item": item(n)},
        "gemini": lambda n: candidates(1),
    }
    aggregator = AGGREGATORS[wire_format](most_blocks=MOST)
    for number in range(MOST):
        aggregator.aggregate(whole(events[wire_format](number)))
    with pytest.raises(UpstreamError, match="MAX_BLOCKS"):
        aggregator.aggregate(whole(events[wire_format](MOST)))
    assert len(aggregator.state.blocks) == MOST


@pytest.mark.parametrize("wire_format", ["openai_chat", "gemini"])
def test_choices_without_a_block_are_counted_over_all_events(wire_format: str) -> None:
    events = {
        "openai_chat": lambda n: {"choices": [{"index": n, "delta": {}, "finish_reason": "stop"}]},
        "gemini": lambda n: {"candidates": [{"index": n, "finishReason": "STOP"}]},
    }
    aggregator = AGGREGATORS[wire_format](most_blocks=MOST)
    for number in range(MOST):
        aggregator.aggregate(whole(events[wire_format](number)))
    with pytest.raises(UpstreamError, match="MAX_BLOCKS"):
        aggregator.aggregate(whole(events[wire_format](MOST)))
    assert len(aggregator.state.finish_reasons) == MOST


@pytest.mark.parametrize("wire_format", sorted(AGGREGATORS.keys() - {"embeddings", "passed_through"}))
def test_one_event_has_no_more_values_than_may_be(wire_format: str) -> None:
    aggregator = AGGREGATORS[wire_format](most_values=MOST)
    aggregator.aggregate(whole({"text": "[,{" * MOST, "x": [1] * (MOST // 2)}))
    with pytest.raises(UpstreamError, match="MAX_VALUES"):
        aggregator.aggregate(whole({"x": [{}] * MOST}))
    aggregator.close()


def test_the_body_of_a_whole_answer_is_kept_and_that_of_an_event_is_not() -> None:
    aggregator = AGGREGATORS["openai_chat"]()
    aggregator.aggregate(Chunk(0, 0, b"data: {}\n\n", b"{}"))
    assert aggregator.body == {}
    aggregator.aggregate(whole(chat({"content": "x"})))
    assert aggregator.body == chat({"content": "x"})


def test_a_translator_is_bounded_too() -> None:
    translator = Translator("openai_chat", "anthropic_messages", most_blocks=MOST)
    with pytest.raises(UpstreamError, match="MAX_BLOCKS"):
        translator.take(whole({"choices": [{"index": 0, "delta": {"tool_calls": [call(n) for n in range(MOST + 1)]}}]}))
