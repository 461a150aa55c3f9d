"""Calls in Anthropic's messages, whatever the type of their block and wherever it has the tool's input."""

import json
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamState, ToolCallStreamBlock
from streamviz.core.json_value import JsonObject
from streamviz.core.verdicts import Decision, Verdict
from streamviz.core.wire.anthropic_messages import AnthropicMessagesAggregator
from streamviz.core.wire.anthropic_messages_body_composer import AnthropicMessagesBodyComposer
from streamviz.core.wire.anthropic_messages_composer import AnthropicMessagesComposer
from streamviz.policies import build
from tests.core.sdk import MessagesReader
from tests.core.support import About, Run, active, parse
from tests.core.wire.test_anthropic_messages import begin, finish, grow, start, stop, text
from tests.core.wire.test_anthropic_messages_sdk import END, state_of, tape_of

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
READER = MessagesReader()
EVIL = "rm -rf /"


def part_start(**part: Any) -> JsonObject:
    return {"type": "content_block_start", "index": 0, "content_block": part}


def whole(*parts: object) -> list[Chunk]:
    data = json.dumps(body_of(*parts)).encode()
    return [Chunk(0, 0, data, data)]


def body_of(*parts: object) -> JsonObject:
    message: JsonObject = begin()["message"]
    return {**message, "content": list(parts), "stop_reason": "tool_use"}


async def run_of(policy: Any, *events: JsonObject) -> Run:
    aggregator = AnthropicMessagesAggregator()
    composer = AnthropicMessagesComposer(aggregator.head)
    tape = tape_of(begin(), *events, finish("tool_use"), END)
    return await Run([active(policy)], composer, aggregator).finish(parse(tape))


async def whole_run_of(policy: Any, *parts: object) -> Run:
    composer = AnthropicMessagesBodyComposer(body_of(*parts))
    return await Run([active(policy)], composer, AnthropicMessagesAggregator()).finish(whole(*parts))


CALLS = [
    ({"type": "bash_call", "id": "a", "command": EVIL}, "bash", {"command": EVIL}),
    ({"type": "shell", "id": "a", "command": EVIL}, "shell", {"command": EVIL}),
    ({"type": "shell", "id": "a", "run": EVIL}, "shell", {"run": EVIL}),
    ({"type": "new", "name": "sh", "arguments": {"cmd": EVIL}}, "sh", {"arguments": {"cmd": EVIL}}),
    ({"type": "new", "action": {"cmd": EVIL}, "caller": {"type": "direct"}}, "new", {"action": {"cmd": EVIL}}),
    ({"type": "new", "parameters": {"cmd": EVIL}}, "new", {"parameters": {"cmd": EVIL}}),
    ({"type": "bash_20250124", "id": "a", "name": "bash", "input": {"command": EVIL}}, "bash", {"command": EVIL}),
    ({"type": "new", "id": "a", "input": {}, "command": EVIL}, "new", {"input": {}, "command": EVIL}),
]


@pytest.mark.parametrize(("part", "name", "given"), CALLS)
def test_what_may_be_a_call_is_one(part: JsonObject, name: str, given: JsonObject) -> None:
    for state in (state_of(tape_of(begin(), part_start(**part), stop(), finish(), END)), state_in(whole(part))):
        [block] = state.blocks
        assert isinstance(block, ToolCallStreamBlock)
        assert (block.name, json.loads(block.text)) == (name, given)
        assert not state.contradiction


def state_in(stream: list[Chunk]) -> StreamState:
    aggregator = AnthropicMessagesAggregator()
    for chunk in stream:
        aggregator.aggregate(chunk)
    aggregator.close()
    return aggregator.state


@pytest.mark.parametrize(("part", "name", "given"), CALLS)
async def test_a_call_of_any_shape_is_held_and_denied(part: JsonObject, name: str, given: JsonObject) -> None:
    rule = build("tool_rule", {"arguments": [{"pattern": "rm -rf"}]})
    for it in (await run_of(rule, part_start(**part), stop()), await whole_run_of(rule, part)):
        assert EVIL.encode() not in it.tape
    read = READER.stream((await run_of(rule, part_start(**part), stop())).tape)
    assert [each["type"] for each in read["content"]] == ["text"]
    assert read["stop_reason"] == "end_turn"


@pytest.mark.parametrize(("part", "name", "given"), CALLS)
async def test_a_replaced_call_has_its_input_where_upstream_had_it(
    part: JsonObject, name: str, given: JsonObject
) -> None:
    said = json.loads(json.dumps(given).replace(EVIL, "ls"))
    policy = About(0, Verdict(Decision.REPLACE, "", json.dumps(said)))
    wanted = json.loads(json.dumps(part).replace(EVIL, "ls"))
    wanted.pop("caller", None)
    read = READER.stream((await run_of(policy, part_start(**part), stop())).tape)["content"]
    assert [each | wanted for each in read] == read
    assert EVIL not in str(read)
    body = json.loads((await whole_run_of(policy, part)).tape)["content"]
    assert [each | wanted for each in body] == body
    assert EVIL not in str(body)


CALL = {"type": "tool_use", "id": "a", "name": "bash", "input": {}}


@pytest.mark.parametrize("type", ["tool_use", "server_tool_use", "mcp_tool_use"])
@pytest.mark.parametrize("name", ["arguments", "command", "parameters"])
def test_a_call_that_says_something_beside_its_input_says_it_twice(type: str, name: str) -> None:
    part = {**CALL, "type": type, name: {"command": EVIL}}
    assert state_of(tape_of(begin(), part_start(**part), stop(), finish(), END)).contradiction
    assert state_in(whole(part)).contradiction


@pytest.mark.parametrize("name", ["function", "custom", "tool", "x"])
def test_a_block_of_unknown_type_that_names_a_tool_within_may_be_taken_for_two_calls(name: str) -> None:
    part: JsonObject = {"type": "compaction", "id": "a", name: {"name": "bash", "payload": EVIL}}
    assert state_of(tape_of(begin(), part_start(**part), stop(), finish(), END)).contradiction
    assert state_in(whole(part)).contradiction


@pytest.mark.parametrize("more", [{"caller": {"type": "direct"}}, {"cache_control": {"type": "x"}}, {"new": 1}])
def test_what_else_vendors_say_of_a_call_denies_nothing(more: JsonObject) -> None:
    assert not state_of(tape_of(begin(), part_start(**CALL, **more), stop(), finish(), END)).contradiction
    assert not state_in(whole({**CALL, **more})).contradiction


@pytest.mark.parametrize(
    "part",
    [
        {"type": "bash_tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "rm"}]},
        {"type": "compaction", "content": "so far"},
        {"type": "container_upload", "file_id": "f"},
        {"type": "fancy", "text": ""},
    ],
)
def test_a_block_that_is_no_call_stays_none(part: JsonObject) -> None:
    [block] = state_in(whole(part)).blocks
    assert block.kind == "other"


async def test_a_call_in_a_delta_of_unknown_type_is_one() -> None:
    events = [part_start(type="fancy"), grow(type="fancy_delta", command=EVIL), stop()]
    rule = build("tool_rule", {"arguments": [{"pattern": "rm -rf"}]})
    assert EVIL.encode() not in (await run_of(rule, *events)).tape
    assert EVIL.encode() not in (await run_of(rule, start(), text("a"), *events[1:])).tape


def test_a_delta_of_unknown_type_that_adds_to_a_call_is_a_contradiction() -> None:
    events = [start(**CALL), grow(type="arguments_delta", arguments=EVIL), stop()]
    assert state_of(tape_of(begin(), *events, finish(), END)).contradiction


@pytest.mark.parametrize("content", ["my key", ["my key"], [{"type": "text", "text": "a"}, "my key"]])
async def test_content_that_is_text_is_judged(content: Any) -> None:
    body = {**begin()["message"], "content": content, "stop_reason": "end_turn"}
    data = json.dumps(body).encode()
    rule = build("text_rule", {"patterns": ["my key"], "in": ["content"]})
    it = Run([active(rule)], AnthropicMessagesBodyComposer(body), AnthropicMessagesAggregator())
    assert b"my key" not in (await it.finish([Chunk(0, 0, data, data)])).tape
    events = [begin(content=content), finish(), END]
    aggregator = AnthropicMessagesAggregator()
    it = Run([active(rule)], AnthropicMessagesComposer(aggregator.head), aggregator)
    assert b"my key" not in (await it.finish(parse(tape_of(*events)))).tape


@pytest.mark.parametrize("type", ["custom", "custom_tool_call"])
async def test_what_a_tool_is_given_is_json_whatever_the_type_of_its_block(type: str) -> None:
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in "jane.roe@example.com")
    masks = build("redact", {"find": ["e-mail"], "in": ["tool_call"]})
    call = part_start(type=type, id="t", name="mail", input={})
    given = grow(type="input_json_delta", partial_json=f'{{"to": "{escaped}"}}')
    assert b"u006a" not in (await run_of(masks, call, given, stop())).tape
