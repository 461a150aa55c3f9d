"""Calls whose contents arrive in another member than their type's, or in a second one as well."""

import json
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import ToolCallStreamBlock
from streamviz.core.verdicts import Decision, Verdict
from streamviz.core.wire.openai_responses import OpenAIResponsesAggregator
from streamviz.core.wire.openai_responses_composer import OpenAIResponsesComposer
from streamviz.policies import build
from tests.core.support import Opinion, Run, active, chunks
from tests.core.wire.official import payloads
from tests.core.wire.test_openai_responses import CALL, CREATED, added, done, finish, say, take_in
from tests.core.wire.test_openai_responses_evasions import POISON, read_by_sdk, through, whole

# The SDK's own classes warn that their contents are odd.
pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")

CUSTOM = {"type": "custom_tool_call", "id": "ctc", "call_id": "c1", "name": "run", "input": "ls"}
PATCH = {"type": "apply_patch_call", "id": "ap", "call_id": "c1", "operation": {"type": "delete_file", "path": "a"}}
SHELL = {"type": "shell_call", "id": "sh", "call_id": "c1", "action": {"commands": ["ls"]}}
LOCAL = {"type": "local_shell_call", "id": "ls", "call_id": "c1", "action": {"type": "exec", "command": ["ls"]}}
COMPUTER = {"type": "computer_call", "id": "cc", "call_id": "c1", "action": {"type": "wait"}}
MCP = {"type": "mcp_approval_request", "id": "m", "name": "look", "server_label": "s", "arguments": "{}"}
CARRIERS = ("payload", "input", "arguments", "command", "commands", "action", "operation", "code", "parameters",
            "params", "args", "script", "patch", "tool_input", "function", "custom", "body")  # fmt: skip


def scripts(item: Any) -> list[list[Any]]:
    """Streams with the item from its announcement on, from its end on, and only in the whole response."""
    empty = {**item, **{key: "" for key in ("arguments", "input") if isinstance(item.get(key), str)}}
    return [
        [CREATED, added(item), done(item), finish(item)],
        [CREATED, added(empty), done(item), finish(item)],
        [CREATED, added({"type": item["type"], "id": item["id"]}), finish(item)],
        [CREATED, finish(item)],
    ]


async def assert_poison_stays(item: Any) -> None:
    assert POISON in json.dumps(item)
    for script in scripts(item):
        stream = chunks(*({**payload, "sequence_number": number} for number, payload in enumerate(script)))
        tape = await through(stream)
        assert POISON not in tape.decode(), tape.decode()
        read_by_sdk(tape)
    assert POISON not in (await whole(finish(item)["response"])).decode()


@pytest.mark.parametrize("value", [POISON, {"a": POISON}, [POISON], [{"a": {"b": POISON}}]])
@pytest.mark.parametrize("carrier", CARRIERS)
async def test_an_unknown_item_that_could_be_a_call_is_judged_as_one(carrier: str, value: Any) -> None:
    for more in ({}, {"call_id": "c"}, {"name": "look"}, {"status": "completed"}):
        item = {"type": "gadget", "id": "g", carrier: value, **more}
        assert isinstance(take_in(done(item)).state.blocks[0], ToolCallStreamBlock)
        await assert_poison_stays(item)


async def test_an_item_without_a_type_that_could_be_a_call_is_judged_as_one() -> None:
    await assert_poison_stays({"type": "", "id": "g", "call_id": "c", "name": "look", "arguments": {"a": POISON}})


async def test_what_an_unknown_call_says_as_its_result_alone_is_judged() -> None:
    await assert_poison_stays({"type": "gadget_call", "id": "g", "call_id": "c", "result": POISON})


@pytest.mark.parametrize("key", ["tool_name", "tool"])
def test_an_unknown_call_may_word_its_name_otherwise(key: str) -> None:
    [block] = take_in(done({"type": "gadget", "id": "g", key: "rm", "payload": {"a": 1}})).state.blocks
    assert isinstance(block, ToolCallStreamBlock)
    assert block.name == "rm"


@pytest.mark.parametrize("carrier", ["payload", "arguments", "input", "patch", "command", "parameters", "function"])
@pytest.mark.parametrize("item", [CALL, CUSTOM, PATCH, SHELL, LOCAL, COMPUTER, MCP], ids=lambda item: item["type"])
async def test_what_a_call_says_beside_its_arguments_does_not_go_out_unjudged(item: Any, carrier: str) -> None:
    full = {**item, "arguments": "{}"} if item["type"] == "function_call" else item
    if full.get(carrier) is None:
        for value in (POISON, {"a": POISON}, [POISON]):
            await assert_poison_stays({**full, carrier: value})


@pytest.mark.parametrize("empty", [None, "", {}])
async def test_a_call_without_arguments_has_what_another_member_says(empty: Any) -> None:
    for value in (json.dumps({"a": POISON}), {"a": POISON}):
        item = {**CALL, "arguments": empty, "input": value}
        [block] = take_in(done(item)).state.blocks
        assert json.loads(block.text) == {"a": POISON}
        await assert_poison_stays(item)
    await assert_poison_stays({**CUSTOM, "input": empty, "arguments": POISON})
    await assert_poison_stays({**LOCAL, "action": empty, "command": ["bash", POISON]})


async def test_deltas_of_one_carrier_and_an_end_of_another_do_not_go_out() -> None:
    at = {"item_id": "fc_1"}
    script = [added(CALL), say("function_call_arguments.delta", **at, delta="{}")]
    for end in (
        [say("function_call_arguments.done", **at, arguments="{}"), done({**CALL, "arguments": "{}", "input": POISON})],
        [done({**CALL, "arguments": None, "input": POISON})],
        [finish({**CALL, "arguments": "{}", "payload": {"a": POISON}})],
    ):
        assert POISON not in (await through(chunks(CREATED, *script, *end))).decode()


ENVIRONMENT = {"type": "local", "env": {"LD_PRELOAD": POISON}}


@pytest.mark.parametrize("last", [[], [{"type": "response.custom_tool_call_input.done", "input": "ls"}]])
async def test_a_call_that_its_beginning_contradicts_does_not_go_out_as_another(last: list[Any]) -> None:
    """What it was announced with is appended at the end, which makes a text that the client does not have."""
    begun = added({**CUSTOM, "input": "", "command": "-x"})
    deltas = {"type": "response.custom_tool_call_input.delta", "item_id": "ctc", "output_index": 0, "delta": "rm"}
    ends = [{**each, "item_id": "ctc", "output_index": 0} for each in last]
    policy = Opinion(lambda block: Verdict(Decision.DENY, "", "[no]") if block.text == "rm" else None)
    aggregator = OpenAIResponsesAggregator()
    run = Run([active(policy)], OpenAIResponsesComposer(aggregator.head), aggregator)
    await run.finish(chunks(CREATED, begun, deltas, *ends))
    assert b'"rm"' not in run.tape


async def test_the_environment_of_a_shell_is_judged() -> None:
    await assert_poison_stays({**SHELL, "environment": ENVIRONMENT})


def test_the_environment_of_a_shell_is_among_its_arguments() -> None:
    place = {"type": "container_reference", "container_id": "c"}
    item = {**SHELL, "environment": place}
    deltas = [say("shell_call_command.delta", delta="ls", command_index=0)]
    for script in (
        [done(item)],
        [added({**item, "action": {"commands": []}}), *deltas, done(item), finish(item)],
        [added({**item, "action": {"commands": []}}), *deltas, finish(status="incomplete")],
    ):
        state = take_in(CREATED, *script).state
        assert json.loads(state.blocks[0].text) == {"commands": ["ls"], "environment": place}
        assert not state.contradiction


def test_a_stream_cut_off_within_a_shell_call_contradicts_nothing() -> None:
    begun = {**SHELL, "action": {"commands": [], "timeout_ms": 9}, "environment": {"type": "local"}}
    state = take_in(CREATED, added(begun), say("shell_call_command.delta", delta="l", command_index=0)).state
    assert state.blocks[0].text == '{"commands": ["l'
    assert not state.contradiction


async def test_a_shells_environment_stays_where_nothing_is_denied() -> None:
    item = {**SHELL, "environment": {"type": "local"}, "status": "completed"}
    evil = {**CALL, "id": "fc_2", "call_id": "c2", "arguments": json.dumps({"a": POISON})}
    body = json.loads(await whole(finish(item, evil)["response"]))
    assert body["output"][0] == item
    built = take_in(CREATED, done(item), finish(item)).build()
    assert built["output"] == [item]


HARMLESS = {
    "caller": {"type": "program", "caller_id": "p"},
    "namespace": "n",
    "phase": "commentary",
    "status": "completed",
    "created_by": "somebody",
    "internal_chat_message_metadata_passthrough": {"turn_id": "t"},
    "async": True,
    "metadata": {"a": "b"},
    "provider_specific_fields": {"signature": "x"},
    "extra_content": {"google": {"thought_signature": "x"}},
}


@pytest.mark.parametrize("item", [CALL, CUSTOM, PATCH, SHELL, LOCAL, COMPUTER, MCP], ids=lambda item: item["type"])
async def test_what_describes_a_call_denies_nothing(item: Any) -> None:
    full = {**item, "arguments": "{}"} if item["type"] == "function_call" else item
    plain = take_in(CREATED, done(full)).state.blocks[0].text
    for script in scripts({**full, **HARMLESS}):
        state = take_in(*script).state
        assert not state.contradiction
        assert state.blocks[0].text == plain
        stream = chunks(*({**payload, "sequence_number": number} for number, payload in enumerate(script)))
        assert await through(stream) == b"".join(chunk.raw for chunk in stream)


@pytest.mark.parametrize("again", ['{"a": 1}', {"a": 1}])
def test_arguments_told_in_two_members_alike_are_none_told_otherwise(again: Any) -> None:
    item = {**CALL, "arguments": '{"a":1}', "input": again, "parameters": None}
    state = take_in(CREATED, added(CALL), done(item), finish(item)).state
    assert [block.text for block in state.blocks] == ['{"a":1}']
    assert not state.contradiction


def test_a_call_that_the_provider_carries_out_has_what_other_calls_say() -> None:
    item = {"type": "image_generation_call", "id": "i", "result": "aW1n", "arguments": "one", "patch": {"of": "two"}}
    [block, _] = take_in(CREATED, finish(item)).state.blocks
    assert json.loads(block.text) == {"arguments": "one", "patch": {"of": "two"}}


@pytest.mark.parametrize("member", ["function", "custom", "tool", "anything"])
def test_an_unknown_item_is_a_call_of_the_tool_that_a_member_names(member: str) -> None:
    item = {"type": "gadget", "id": "g", member: {"name": "run"}}
    [block] = take_in(CREATED, done(item)).state.blocks
    assert isinstance(block, ToolCallStreamBlock)
    assert block.name == "run"
    assert take_in(CREATED, done({**item, "name": "look"})).state.contradiction


@pytest.mark.parametrize("member", ["function", "custom"])
@pytest.mark.parametrize("item", [CALL, CUSTOM, PATCH, SHELL, LOCAL, COMPUTER, MCP], ids=lambda item: item["type"])
def test_a_call_that_names_a_second_tool_is_a_contradiction(item: Any, member: str) -> None:
    for inner in ({"name": "rm"}, {"name": "rm", "arguments": "{}"}):
        assert take_in(CREATED, done({**item, member: inner})).state.contradiction


@pytest.mark.parametrize("type", ["function_call", "custom_tool_call", "shell_call"])
def test_a_call_that_becomes_one_of_another_kind_is_a_contradiction(type: str) -> None:
    begun = {"type": "mcp_call", "id": "i", "call_id": "c1", "name": "look", "arguments": ""}
    ended = {**begun, "type": type, "arguments": "{}"}
    assert take_in(CREATED, added(begun), done(ended)).state.contradiction


async def test_an_output_that_is_no_list_is_changed_too() -> None:
    evil = {**CALL, "arguments": json.dumps({"a": POISON})}
    raw = json.dumps({**finish()["response"], "output": evil}).encode()
    assert POISON not in (await through([Chunk(0, 0, raw, raw)], json.loads(raw))).decode()
    event = {**finish(), "response": json.loads(raw)}
    assert POISON not in json.dumps(payloads(await through(chunks(CREATED, event))))


@pytest.mark.parametrize("output", [POISON, [POISON], [[{"type": "message", "content": POISON}]]])
async def test_an_output_of_what_is_no_item_does_not_go_out(output: Any) -> None:
    event = {**finish(), "response": {**finish()["response"], "output": output}}
    assert POISON not in (await through(chunks(CREATED, event))).decode()


@pytest.mark.parametrize(
    "part",
    [
        {"type": "brand_new_call", "function": {"name": "run", "parameters": "ls"}},
        {"type": "brand_new", "name": "run"},
        {"type": "brand_new", "custom": {"name": "run", "input": "ls"}},
        {"type": "mcp_tool_use", "input": {"command": "ls"}},
    ],
)
def test_a_call_among_the_parts_of_a_message_is_a_contradiction(part: Any) -> None:
    item = {"type": "message", "id": "m", "role": "assistant", "content": [part]}
    place = {"output_index": 0, "content_index": 0, "item_id": "m"}
    for said in (added(item), done(item), finish(item), {"type": "response.content_part.added", "part": part, **place}):
        assert "where its format has none" in take_in(CREATED, said).state.contradiction


@pytest.mark.parametrize("word", ["content", "text", "refusal", "summary"])
@pytest.mark.parametrize("type", ["mcp_approval_request", "code_interpreter_call", "web_search_call"])
def test_a_call_has_no_words_where_a_message_has_them(type: str, word: str) -> None:
    for words in ("jane@example.com", [{"type": "output_text", "text": "jane@example.com"}]):
        item = {"type": type, "id": "m", word: words}
        for said in (added(item), done(item), finish(item)):
            assert "where its format has none" in take_in(CREATED, said).state.contradiction


@pytest.mark.parametrize("text", [CUSTOM, [CUSTOM], [[CUSTOM]]])
def test_a_call_in_the_place_of_a_text_is_a_contradiction(text: Any) -> None:
    place = {"output_index": 0, "content_index": 0, "item_id": "m"}
    for type, member in (("output_text", "text"), ("refusal", "refusal"), ("reasoning_text", "text")):
        part = {"type": type, member: text}
        for said in (
            {"type": f"response.{type}.done", member: text, **place},
            {"type": "response.content_part.done", "part": part, **place},
            done({"type": "message", "id": "m", "content": [part]}),
            done({"type": "reasoning", "id": "m", "summary": [part]}),
        ):
            assert "where its format has none" in take_in(CREATED, said).state.contradiction


@pytest.mark.parametrize("member", ["response", "item", "part"])
@pytest.mark.parametrize("type", ["response.output_text.delta", "response.output_text.done", "response.brand.new"])
def test_an_event_is_about_what_its_name_says(type: str, member: str) -> None:
    """Our reader and our writer would each take it as being about another item."""
    event = {"type": type, "output_index": 0, "content_index": 0, member: {"id": "m"}}
    assert "where its format has none" in take_in(CREATED, event).state.contradiction


def test_plain_text_that_may_be_read_as_json_is_a_contradiction() -> None:
    escaped = {"arguments": '{"command": "\\u006cs"}'}
    for item in ({**CUSTOM, **escaped}, {**CUSTOM, "input": "", **escaped}):
        assert take_in(CREATED, done(item)).state.contradiction
    assert not take_in(CREATED, done({**CUSTOM, "input": "a\\nb"})).state.contradiction


def pieces(type: str, *texts: str) -> list[Any]:
    return [CREATED, *({"type": type, "item_id": "x", "output_index": 0, "delta": text} for text in texts)]


RESULT = {"type": "gadget_result", "id": "g", "output": "for bidden"}


@pytest.mark.parametrize(
    "script",
    [
        *(
            pieces(type, *texts)
            for type in ("response.gadget.delta", "gadget.delta", "output_text.delta", "response.delta")
            for texts in (("forbidden",), ("for", "bidden"), ("All of it is forbidden",))
        ),
        *(
            [CREATED, done({"type": type, "id": "g", **said})]
            for type in ("gadget", "gadget_use", "gadget_call", "gadget_request", "gadget_update")
            for said in (
                {"text": "forbidden"},
                {"thinking": "it is forbidden"},
                {"content": "forbidden"},
                {"content": [{"type": "output_text", "text": "forbidden"}]},
                {"content": [{"type": "output_text", "text": "it is forbidden"}]},
            )
        ),
    ],
    ids=str,
)
async def test_a_text_of_an_unknown_kind_does_not_go_out_unread(script: list[Any]) -> None:
    rule = build("text_rule", {"patterns": ["forbidden"], "in": ["content", "thinking", "refusal"]})
    allowed = [*script[:1], done(RESULT, 5)]
    tape = await through(chunks(*allowed), policy=rule)
    assert b"bidden" in tape
    last = script[-1].get("delta") or json.dumps(script[-1]["item"])
    assert last not in (await through(chunks(*script), policy=rule)).decode()
