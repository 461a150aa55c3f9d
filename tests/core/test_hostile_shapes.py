"""Shapes that no provider or client normally sends; each of their levels or members must cost the same."""

import json
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.request_credentials import MASK, without_credentials
from streamviz.core.request_parts import PartKind
from streamviz.core.wire import AGGREGATORS
from streamviz.core.wire.anthropic_messages_request import parts_of
from streamviz.core.wire.gemini_as_chat import as_chat
from streamviz.core.wire.openai_responses_arguments import goes_on


def aggregated(format: str, *payloads: object) -> Any:
    aggregator = AGGREGATORS[format]()
    for number, payload in enumerate(payloads):
        data = json.dumps(payload).encode()
        aggregator.aggregate(Chunk(number, 0, data, data))
    return aggregator.state


def nested(levels: int, name: str, inner: Any) -> Any:
    for _ in range(levels):
        inner = {name: inner}
    return inner


@pytest.mark.parametrize("name", ["text", "summary", "thinking", "reasoning"])
@pytest.mark.parametrize("field", ["reasoning", "reasoning_content", "thinking"])
@pytest.mark.parametrize("text", ["", "so it is"])
def test_thinking_nested_in_a_hundred_levels_is_read_once(field: str, name: str, text: str) -> None:
    """Doubling the cost at each level would make it 2^100."""
    delta = {"content": "a", field: nested(100, name, text)}
    state = aggregated("openai_chat", {"choices": [{"index": 0, "delta": delta}]})
    assert not state.fault
    assert [block.text for block in state.blocks if block.kind == "thinking"] == ([text] if text else [])


def test_arguments_in_many_levels_go_on() -> None:
    def chain(end: str) -> Any:
        inner: Any = {"end": end}
        for _ in range(180):
            inner = {**{f"k{n}": "" for n in range(300)}, "z": inner}
        return inner

    assert goes_on(chain("so"), chain("so it is"))
    assert goes_on(chain(""), {"z": {}})
    assert not goes_on(chain("so"), chain("not"))
    assert not goes_on(chain("so"), [])


@pytest.mark.parametrize("kind", [[], {}, {"type": "message"}])
def test_an_item_whose_type_is_no_word(kind: Any) -> None:
    event = {"type": "response.output_item.added", "output_index": 0, "item": {"type": kind, "text": "to be seen by"}}
    assert not aggregated("openai_responses", event).fault
    assert not aggregated("openai_responses", {"object": "response", "output": [event["item"]]}).fault


def test_a_result_within_a_result_is_told_as_it_is() -> None:
    inner: Any = [{"type": "image", "source": {}}] * 1_000
    for _ in range(90):
        inner = [{"type": "tool_result", "tool_use_id": "a", "content": inner}]
    [part] = parts_of({"role": "user", "content": inner})
    assert part.kind is PartKind.OTHER


def test_results_answer_calls_of_their_name_in_order() -> None:
    calls = [{"functionCall": {"name": f"f{n % 2}", "args": {}}} for n in range(20_000)]
    results = [{"functionResponse": {"name": f"f{n % 2}", "response": {}}} for n in range(20_000)]
    asked: Any = as_chat({"contents": [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]})
    [answer, *told] = [each for each in asked["messages"] if each["role"] in ("assistant", "tool")]
    assert [each["tool_call_id"] for each in told] == [each["id"] for each in answer["tool_calls"]]


def test_the_result_of_a_call_that_names_it_is_no_others() -> None:
    calls = [{"functionCall": {"name": "f", "id": id}} for id in ("a", "b", "c")]
    results: list[Any] = [{"functionResponse": {"name": "f", "id": "a"}}, *[{"functionResponse": {"name": "f"}}] * 3]
    asked: Any = as_chat({"contents": [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]})
    assert [each["tool_call_id"] for each in asked["messages"] if each["role"] == "tool"] == ["a", "b", "c", "f"]


@pytest.mark.parametrize(
    "address", [f"http://a{chr(0x300) * 500_000}{chr(0x316) * 500_000}/?", f"http://a/?{'b' * 9_000}"]
)
def test_an_address_that_no_server_has_is_masked(address: str) -> None:
    asked = {"tools": [{"type": "mcp", "server_url": address}]}
    assert without_credentials(asked, b"") == {"tools": [{"type": "mcp", "server_url": MASK}]}
