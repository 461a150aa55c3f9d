"""One event may carry hundreds of thousands of values besides its answer: no line is executed for each of them."""

import json
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.wire import AGGREGATORS
from tests.core.test_linear import work_of

FORMATS = {
    "openai_chat": lambda told: {"object": "chat.completion.chunk", "choices": [], "x": told},
    "anthropic_messages": lambda told: {"type": "message_delta", "delta": {}, "usage": {}, "x": told},
    "openai_responses": lambda told: {"type": "response.created", "response": {"output": [], "metadata": told}},
    "gemini": lambda told: {"candidates": [], "usageMetadata": told},
}
VALUES = {
    "objects": lambda count: [{"a": 1}] * count,
    "numbers": lambda count: list(range(count)),
    "nested": lambda count: [[{"a": [1]}]] * count,
    "texts again": lambda count: ["a"] * count,
}


async def lines(format: str, payload: Any, name: str = "") -> int:
    """How many lines are executed to take this in."""
    data = json.dumps(payload).encode()
    aggregator = AGGREGATORS[format]()

    async def take() -> None:
        aggregator.aggregate(Chunk(0, 0, b"data: %b\n\n" % data, data, name))

    return await work_of(take())


@pytest.mark.parametrize("told", VALUES)
@pytest.mark.parametrize("format", FORMATS)
async def test_an_event_of_many_values_runs_no_line_for_each(format: str, told: str) -> None:
    few, many = [await lines(format, FORMATS[format](VALUES[told](count))) for count in (10, 1_010)]
    assert many - few < 100


@pytest.mark.parametrize(
    ("format", "payload"),
    [
        ("openai_chat", lambda tokens: {"choices": [{"delta": {"content": "x"}, "logprobs": {"content": tokens}}]}),
        ("openai_responses", lambda tokens: {"type": "response.output_text.delta", "delta": "x", "logprobs": tokens}),
    ],
)
async def test_a_token_with_its_probability_runs_few_lines(format: str, payload: Any) -> None:
    token = {"token": "x", "logprob": -0.5, "bytes": [120], "top_logprobs": []}
    few, many = [await lines(format, payload([token] * count)) for count in (10, 1_010)]
    assert many - few < 10 * 1_000


MEMBERS: dict[str, tuple[str, Any]] = {
    "a delta's fields": ("openai_chat", lambda many: {"choices": [{"delta": {"provider_specific_fields": many}}]}),
    "a sound": ("openai_chat", lambda many: {"choices": [{"delta": {"audio": {"transcript": "x", **many}}}]}),
    "a picture": ("openai_chat", lambda many: {"choices": [{"delta": {"images": [many]}}]}),
    "thinking": ("openai_chat", lambda many: {"choices": [{"delta": {"reasoning_details": [{"text": "x", **many}]}}]}),
    "a block": ("anthropic_messages", lambda many: {
        "type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "x", **many}}),
    "an item": ("openai_responses", lambda many: {
        "type": "response.output_item.added", "item": {"type": "message", "id": "i", "content": [], **many}}),
    "a candidate": ("gemini", lambda many: {"candidates": [{"content": {"parts": [{"text": "x"}]}, **many}]}),
}  # fmt: skip


@pytest.mark.parametrize("place", MEMBERS)
async def test_a_part_of_many_members_costs_the_same_for_each(place: str) -> None:
    format, payload = MEMBERS[place]
    counts = (10, 500, 1_000, 1_500)
    _, few, more, most = [await lines(format, payload({f"k{n}": "w" for n in range(count)})) for count in counts]
    assert most - more < 1.05 * (more - few) + 50


# Each with the number of lines that may be executed per item, in any Python: 3.12 executes one more than 3.11.
NUMBERS: dict[str, tuple[int, str, Any]] = {
    "tokens": (20, "openai_chat", lambda ones: {"choices": [{"delta": {}, "logprobs": {"content": ones}}]}),
    "parts": (90, "anthropic_messages", lambda ones: {"type": "message", "id": "m", "content": ones}),
    "items": (40, "openai_responses", lambda ones: {"id": "r", "object": "response", "output": ones}),
    "candidates": (60, "gemini", lambda ones: {"candidates": ones}),
}


@pytest.mark.parametrize("place", NUMBERS)
async def test_what_is_no_part_of_an_answer_runs_few_lines(place: str) -> None:
    most, format, payload = NUMBERS[place]
    few, many = [await lines(format, payload([1] * count)) for count in (10, 1_010)]
    assert many - few < most * 1_000
