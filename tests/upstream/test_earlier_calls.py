"""A call that a model did not end, or wrote wrongly, is in every later request of its conversation."""

import json
from typing import Any

import pytest

from streamviz.core.wire.translation import OPENAI_CHAT, OPENAI_RESPONSES
from streamviz.upstream.earlier_calls import in_messages, with_object
from streamviz.upstream.targets import RoutePlan, resolve
from streamviz.upstream.translated import open_translated
from tests.simulator.process import Simulator

# LiteLLM imports more of itself at the first call, some of it with warnings.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

CUT_OFF = '{"path": "/tmp/a", "text": "half'
NO_OBJECTS = [CUT_OFF, '{"a": 1}{"b": 2}', "[1]", '"a"', "null", '{"a": NaN}', '{"a": 1e999}', '{"a": "\\ud800"}', "x"]


def spelt(wire_format: str, arguments: str) -> dict[str, Any]:
    """A conversation that goes on after a call with these arguments."""
    if wire_format == OPENAI_RESPONSES:
        call = {"type": "function_call", "call_id": "c1", "name": "write", "arguments": arguments}
        told = {"type": "function_call_output", "call_id": "c1", "output": "not JSON"}
        return {"input": [{"role": "user", "content": "Hello"}, call, told]}
    made = {"id": "c1", "type": "function", "function": {"name": "write", "arguments": arguments}}
    answer = {"role": "assistant", "content": None, "tool_calls": [made]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "not JSON"}
    return {"messages": [{"role": "user", "content": "Hello"}, answer, result], "max_tokens": 900}


@pytest.mark.parametrize("wire_format", [OPENAI_CHAT, OPENAI_RESPONSES])
@pytest.mark.parametrize("arguments", NO_OBJECTS)
async def test_a_conversation_goes_on_after_arguments_that_are_no_object(
    simulator: Simulator, wire_format: str, arguments: str
) -> None:
    asked = {"model": "smart", "stream": True, **spelt(wire_format, arguments)}
    target = resolve("smart", wire_format, RoutePlan("anthropic/content?chunks=1", simulator.url, key="test"))
    answer = await open_translated(target, asked, silence_seconds=30)
    assert b"".join([piece async for piece in answer])
    call = simulator.get_json("/_requests")["requests"][-1]["body"]["messages"][1]["content"][-1]
    assert (call["type"], call["input"]) == ("tool_use", {"INVALID_JSON": arguments})


@pytest.mark.parametrize("arguments", ['{"a": 1}', ' {"a": 1.50} ', "{}", {"a": 1}, None])
def test_arguments_that_are_an_object_stay_as_they_are(arguments: object) -> None:
    call = {"name": "write", "arguments": arguments}
    assert with_object(call) is call


@pytest.mark.parametrize("arguments", ["", " \n"])
def test_no_arguments_are_an_empty_object(arguments: str) -> None:
    assert with_object({"arguments": arguments}) == {"arguments": "{}"}


def test_a_call_of_the_former_kind_has_an_object_too() -> None:
    said: Any = in_messages([{"role": "assistant", "function_call": {"name": "write", "arguments": CUT_OFF}}])
    assert json.loads(said[0]["function_call"]["arguments"]) == {"INVALID_JSON": CUT_OFF}


def test_what_is_no_call_stays_as_it_is() -> None:
    odd: list[object] = ["text", None, {"tool_calls": [None, {"id": "c"}], "function_call": None}, {"role": "user"}]
    assert in_messages(odd) == odd
