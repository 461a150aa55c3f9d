"""Thinking, content and calls of OpenAI's chat in fields that only some clients read: judged as what they are."""

import json
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamState, ToolCallStreamBlock
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject
from streamviz.core.verdicts import Decision, Verdict
from streamviz.core.wire.openai_chat_body_composer import OpenAIChatBodyComposer
from streamviz.policies import build
from tests.core.support import (
    HEAD,
    About,
    Run,
    active,
    aggregate,
    call,
    calls,
    chunks,
    delta,
    run,
    signatures,
    take_in,
    told,
)

SECRET = "my key"


def body_of(message: JsonObject) -> JsonObject:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return {**HEAD, "object": "chat.completion", "choices": [choice]}


def whole(message: JsonObject) -> list[Chunk]:
    data = json.dumps(body_of(message)).encode()
    return [Chunk(0, 0, data, data)]


async def whole_run(policy: Any, message: JsonObject) -> Run:
    return await Run([active(policy)], OpenAIChatBodyComposer(body_of(message))).finish(whole(message))


def states(**said: Any) -> list[StreamState]:
    """The states after a stream and after a whole answer."""
    return [aggregate(delta(**said), delta(finish="stop")), take_in(whole(said)).state]


BLOCK = {"type": "thinking", "thinking": SECRET, "signature": "sig"}
THINKING: dict[str, JsonObject] = {
    "thinking blocks": {"thinking_blocks": [BLOCK]},
    "the translated lane's": {
        "reasoning_content": SECRET,
        "thinking_blocks": [BLOCK],
        "provider_specific_fields": {"thinking_blocks": [BLOCK]},
    },
    "fields of the provider's": {"provider_specific_fields": {"reasoning_content": SECRET}},
    "blocks of the provider's": {"provider_specific_fields": {"thinking_blocks": [BLOCK]}},
    "an object": {"reasoning": {"content": SECRET}},
    "an object with a summary": {"reasoning": {"summary": [{"type": "summary_text", "text": SECRET}]}},
    "an object of its own": {"reasoning": {"effort": "high", "so": {"it": [SECRET]}}},
    "details": {"reasoning_details": [{"type": "reasoning.text", "text": SECRET}]},
    "two blocks joined with a line": {
        "reasoning_content": "my\nkey",
        "thinking_blocks": [{"type": "thinking", "thinking": "my "}, {"type": "thinking", "thinking": "key"}],
    },
}


@pytest.mark.parametrize("name", THINKING)
def test_thinking_is_thinking_wherever_it_is(name: str) -> None:
    for state in states(**THINKING[name]):
        assert [(kind, text.split()) for kind, text in told(state)] == [("thinking", SECRET.split())]
        assert not state.contradiction


@pytest.mark.parametrize("name", THINKING)
@pytest.mark.parametrize("kind", ["redact", "deny"])
async def test_a_policy_that_holds_thinking_lets_none_of_it_out(name: str, kind: str) -> None:
    verdict = Verdict(Decision.REPLACE if kind == "redact" else Decision.DENY, "", "[gone]")
    said = THINKING[name]
    streamed = await run([active(About(0, verdict))], delta(**said), delta(content="a"), delta(finish="stop"))
    body = await whole_run(About(0, verdict), {**said, "content": "a"})
    for tape in (streamed.tape, body.tape):
        assert b"my" not in tape
        assert b"[gone]" in tape
        assert b"sig" not in tape


@pytest.mark.parametrize(
    "said",
    [
        {"reasoning_content": "a", "thinking_blocks": [{"thinking": SECRET}]},
        {"reasoning_content": "a", "provider_specific_fields": {"reasoning_content": SECRET}},
        {"reasoning": {"content": "a"}, "reasoning_details": [{"text": SECRET}]},
    ],
)
def test_fields_that_think_differently_contradict_each_other(said: JsonObject) -> None:
    assert all(state.contradiction for state in states(**said))


def test_a_signature_that_comes_twice_counts_once() -> None:
    block = [{"type": "thinking", "thinking": "", "signature": "sig"}]
    said = {"reasoning_content": "", "thinking_blocks": block, "provider_specific_fields": {"thinking_blocks": block}}
    assert signatures(aggregate(delta(reasoning_content="hm"), delta(**said))) == ["sig"]


async def test_the_transcript_of_a_sound_is_judged_as_content() -> None:
    rule = build("text_rule", {"patterns": [SECRET], "in": ["content"]})
    audio = {"id": "x", "transcript": SECRET, "data": "YWJj"}
    streamed = await run([active(rule)], delta(audio=audio), delta(finish="stop"))
    body = await whole_run(rule, {"content": None, "audio": audio})
    for tape in (streamed.tape, body.tape):
        assert SECRET.encode() not in tape
        assert b"[removed]" in tape
    pieces = [delta(audio={"id": "x", "transcript": each}) for each in ("my ", "key")]
    assert [told(aggregate(*pieces))] == [[("content", SECRET)]]


async def test_an_answer_aloud_stays_where_another_part_is_changed() -> None:
    said = {"audio": {"id": "x", "transcript": "hello"}, "reasoning_content": SECRET}
    body = await whole_run(About(0, Verdict(Decision.REPLACE, "", "[gone]")), said)
    message = json.loads(body.tape)["choices"][0]["message"]
    assert (message["audio"], message["content"]) == (said["audio"], None)


@pytest.mark.parametrize("said", [{"refusal": {"text": SECRET}}, {"refusal": [SECRET]}])
def test_a_refusal_that_is_no_text_is_a_contradiction(said: JsonObject) -> None:
    assert all(state.contradiction for state in states(**said))


EVIL = {"cmd": "rm -rf /"}
FUNCTION = {"name": "ls", "arguments": "{}"}


@pytest.mark.parametrize(
    "said",
    [
        {"function": FUNCTION, "custom": {"name": "ls", "input": "rm"}},
        {"function": FUNCTION, "arguments": EVIL},
        {"function": FUNCTION, "action": EVIL},
        {"function": FUNCTION, "name": "rm"},
        {"function": {**FUNCTION, "parameters": EVIL}},
        {"type": "custom", "custom": {"name": "ls", "input": "x", "command": "rm"}},
        {"type": "shell_call", "function": FUNCTION, "action": EVIL},
        {"type": "shell", "shell": {"name": "ls", "arguments": "{}", "command": "rm"}},
    ],
)
def test_a_call_that_says_two_things_is_a_contradiction(said: JsonObject) -> None:
    for state in states(tool_calls=[{"index": 0, "id": "a", **said}]):
        assert state.contradiction


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ({"type": "shell", "shell": {"command": "rm -rf /"}}, ""),
        ({"type": "shell", "command": "rm -rf /"}, "shell"),
        ({"command": "rm -rf /", "name": "bash"}, "bash"),
        ({"type": "function", "input": EVIL, "name": "bash"}, "bash"),
    ],
)
def test_all_that_a_call_of_a_new_kind_says_is_judged(said: JsonObject, name: str) -> None:
    for state in states(tool_calls=[{"index": 0, "id": "a", **said}]):
        [block] = state.blocks
        assert isinstance(block, ToolCallStreamBlock)
        assert block.name == name
        assert "rm -rf /" in block.text


@pytest.mark.parametrize("type", ["custom", "custom_tool_call"])
async def test_a_functions_arguments_are_json_whatever_its_type_says(type: str) -> None:
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in "jane.roe@example.com")
    made = {"name": "mail", "arguments": f'{{"to": "{escaped}"}}'}
    for state in states(tool_calls=[{"index": 0, "id": "a", "type": type, "function": made}]):
        [block] = state.blocks
        assert isinstance(block, ToolCallStreamBlock)
        assert not block.is_free_text
    masks = build("redact", {"find": ["e-mail"], "in": ["tool_call"]})
    of_whole = await whole_run(masks, {"tool_calls": [{"id": "a", "type": type, "function": made}]})
    assert b"u006a" not in of_whole.tape


@pytest.mark.parametrize("more", [{"extra_content": {"google": {"x": 1}}}, {"new": "x"}, {"name": "f"}])
def test_what_else_vendors_say_of_a_call_denies_nothing(more: JsonObject) -> None:
    for state in states(tool_calls=[{**call(0, "a", "f", "{}"), **more}]):
        assert not state.contradiction


def test_a_call_of_old_beside_one_of_now_is_judged_too() -> None:
    for state in states(tool_calls=[call(0, "a", "f", "{}")], function_call={"name": "old", "arguments": "{}"}):
        assert [block.kind for block in state.blocks] == [BlockKind.TOOL_CALL] * 2
        assert not state.contradiction


@pytest.mark.parametrize(
    "said",
    [
        {"function_call": "rm"},
        {"tool_calls": "rm"},
        {"tool_calls": ["rm"]},
        {"content": [{"type": "tool_use", "id": "a", "name": "bash", "input": EVIL}]},
    ],
)
def test_a_call_where_no_client_looks_for_one_is_a_contradiction(said: JsonObject) -> None:
    assert all(state.contradiction for state in states(**said))


def test_many_thoughts_in_a_chunk_are_read_in_one_go() -> None:
    details = [{"type": "reasoning.text", "text": "a"}] * 5000
    [block] = take_in(chunks(delta(reasoning_details=details), calls(call(0, "a", "f", "{}")))).state.blocks[:1]
    assert block.length == 5000
