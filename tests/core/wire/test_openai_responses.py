"""Reading OpenAI's responses: chunks in, blocks and events out."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamviz.core.blocks import ToolCallStreamBlock
from streamviz.core.events import BlockCompleted, BlockDelta, BlockKind, BlockSealed, BlockStarted, StreamFailed
from streamviz.core.wire.openai_responses import OpenAIResponsesAggregator
from tests.core.support import chunks, parse, signatures, told

CREATED = {
    "type": "response.created",
    "response": {"id": "r", "object": "response", "status": "in_progress", "output": []},
}
MESSAGE = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": ""}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}


def added(item: Any, index: int | None = 0) -> dict[str, Any]:
    return at({"type": "response.output_item.added", "item": item}, index)


def done(item: Any, index: int | None = 0) -> dict[str, Any]:
    return at({"type": "response.output_item.done", "item": item}, index)


def say(word: str, index: int | None = 0, **fields: Any) -> dict[str, Any]:
    return at({"type": f"response.{word}", **fields}, index)


def at(payload: dict[str, Any], index: int | None) -> dict[str, Any]:
    return payload if index is None else {**payload, "output_index": index}


def finish(*output: Any, status: str = "completed", **fields: Any) -> dict[str, Any]:
    response = {"id": "r", "object": "response", "status": status, "output": list(output), **fields}
    return {"type": f"response.{status}", "response": response}


def message(*parts: str, id: str = "msg_1") -> dict[str, Any]:
    return {**MESSAGE, "id": id, "content": [{"type": "output_text", "text": part} for part in parts]}


def take_in(*payloads: object) -> OpenAIResponsesAggregator:
    aggregator = OpenAIResponsesAggregator()
    for chunk in chunks(*payloads):
        aggregator.aggregate(chunk)
    aggregator.close()
    return aggregator


# Small events that, each time, require reading everything so far again; the keys say what they repeat.
AGAIN = {
    "arguments, otherwise spaced": (added(CALL), say("function_call_arguments.done", arguments='{"a":1}')),
    "an unknown item": (added({"type": "list", "id": "l"}), done({"type": "list", "id": "l", "of": 1})),
    "the answer's text": (added(MESSAGE), {"type": "response.in_progress", "response": {"output_text": "ab"}}),
}
BEGUN = {
    "arguments, otherwise spaced": say("function_call_arguments.delta", delta='{"a": 1}'),
    "an unknown item": done({"type": "list", "id": "l", "of": 1, "and": 2}),
    "the answer's text": say("output_text.delta", content_index=0, delta="a b"),
}


@pytest.mark.parametrize("what", AGAIN)
def test_what_is_told_again_and_again_contradicts(what: str) -> None:
    begun, again = AGAIN[what]
    assert not take_in(begun, BEGUN[what], *[again] * 10).state.contradiction
    assert "repeated too often" in take_in(begun, BEGUN[what], *[again] * 100).state.contradiction


def read(*payloads: object) -> list[tuple[str, ...]]:
    return told(take_in(*payloads).state)


def test_it_reads_a_plain_answer() -> None:
    aggregator = OpenAIResponsesAggregator()
    script = chunks(
        added(MESSAGE),
        say("output_text.delta", content_index=0, delta="Hi"),
        say("output_text.done", content_index=0, text="Hi"),
        done(message("Hi")),
    )
    assert [aggregator.aggregate(chunk) for chunk in script] == [
        [],
        [BlockStarted(0, BlockKind.CONTENT, 0, 0, "msg_1"), BlockDelta(0, "Hi")],
        [BlockCompleted(0)],
        [BlockSealed(0)],
    ]


def test_a_call_is_sealed_when_its_item_is_done() -> None:
    aggregator = OpenAIResponsesAggregator()
    for chunk in chunks(
        added(CALL), say("function_call_arguments.delta", delta="{}"), done({**CALL, "arguments": "{}"})
    ):
        aggregator.aggregate(chunk)
    assert [block.id for block in aggregator.state.just_sealed] == ["c1"]


@pytest.mark.parametrize(
    "script",
    [
        [added(CALL), say("function_call_arguments.done", arguments="{}")],
        [added(CALL), done({**CALL, "arguments": "{}"})],
        [done({**CALL, "arguments": "{}"})],
        [added({"type": "function_call", "id": "fc_1"}), done({**CALL, "arguments": "{}"})],
        [say("function_call_arguments.delta", delta="{"), done({**CALL, "arguments": "{}"})],
        [say("function_call_arguments.delta", delta="{}"), finish({**CALL, "arguments": "{}"})],
        [finish({**CALL, "arguments": "{}"})],
        [finish({**CALL, "arguments": "{}"})["response"]],
    ],
)
def test_a_call_is_read_from_wherever_it_is_first_told(script: list[Any]) -> None:
    assert read(*script) == [("tool_call", "c1", "look", "{}")]


@pytest.mark.parametrize(
    "script",
    [
        [say("output_text.delta", delta="Hi"), finish(message("Hi"))],
        [say("output_text.delta", None, delta="Hi", item_id="msg_1"), finish(message("Hi"))],
        [added(MESSAGE), say("output_text.done", text="Hi"), finish(message("Hi"))],
        [added(MESSAGE), say("content_part.done", part={"type": "output_text", "text": "Hi"}), finish()],
        [done(message("Hi")), finish(message("Hi", id="msg_other"))],
        [added(MESSAGE), say("output_text.delta", delta="H"), finish(message("Hi"))],
        [finish(message("Hi"))],
        [finish(message("Hi"))["response"]],
    ],
)
def test_text_counts_once(script: list[Any]) -> None:
    assert read(CREATED, *script) == [("content", "Hi")]


def test_a_message_has_a_block_for_each_part() -> None:
    script = [
        added(MESSAGE),
        say("output_text.delta", content_index=0, delta="a"),
        say("refusal.delta", content_index=1, delta="no"),
        say("refusal.done", content_index=1, refusal="no"),
        finish(message("a")),
    ]
    assert read(*script) == [("content", "a"), ("refusal", "no")]


def test_the_parts_of_a_reasoning_item_make_one_block() -> None:
    parts = [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}]
    item = {**REASONING, "summary": parts, "encrypted_content": "secret"}
    aggregator = take_in(
        added({**REASONING, "encrypted_content": "draft"}),
        say("reasoning_summary_text.delta", summary_index=0, delta="a"),
        say("reasoning_summary_text.done", summary_index=0, text="a"),
        say("reasoning_summary_text.done", summary_index=1, text="b"),
        done(item),
        finish(item),
    )
    assert told(aggregator.state) == [("thinking", "ab")]
    assert signatures(aggregator.state) == ["secret"]


def test_encrypted_reasoning_is_an_empty_block() -> None:
    assert read(added(REASONING), done(REASONING), finish(REASONING)) == [("thinking", "")]


def test_items_may_be_open_side_by_side() -> None:
    script = [
        added(REASONING),
        say("reasoning_text.delta", content_index=0, delta="hm"),
        added(MESSAGE, 1),
        say("output_text.delta", 1, delta="4"),
        done(message("4"), 1),
        say("reasoning_text.delta", content_index=0, delta="!"),
        done(REASONING),
    ]
    assert read(*script, finish()) == [("thinking", "hm!"), ("content", "4")]


def test_items_that_all_have_the_same_place_are_told_apart() -> None:
    aggregator = take_in(
        added(REASONING), done(REASONING), added(CALL), done({**CALL, "arguments": "{}"}), done(message("x"))
    )
    assert told(aggregator.state) == [("thinking", ""), ("tool_call", "c1", "look", "{}"), ("content", "x")]
    built: Any = aggregator.build()
    assert [item["type"] for item in built["output"]] == ["reasoning", "function_call", "message"]


def test_an_item_may_get_another_id_in_every_event() -> None:
    script = [
        added(MESSAGE),
        say("output_text.delta", item_id="a", delta="H"),
        say("output_text.delta", item_id="b", delta="i"),
        done(message("Hi", id="c")),
        finish(message("Hi", id="d")),
    ]
    assert read(*script) == [("content", "Hi")]
    assert not take_in(*script).state.contradiction


def test_two_ids_that_take_turns_are_two_texts_to_some_clients() -> None:
    script = [added(MESSAGE), *(say("output_text.delta", item_id=id, delta=id) for id in ("a", "b", "a"))]
    assert "two ids take turns" in take_in(*script).state.contradiction


@pytest.mark.parametrize(
    ("item", "deltas", "want"),
    [
        ({"type": "new_item", "id": "w"}, [say("new_item_text.delta", delta="x")], "x"),
        ({"type": "shell_call_output", "id": "w"}, [say("shell_call_output_content.delta", delta={"o": 1})], '{"o":1}'),
        ({"type": "mcp_list_tools", "id": "w", "tools": [], "name": "t"}, [], '{"tools":[],"name":"t"}'),
    ],
)
def test_other_kinds_are_kept_under_the_wires_word(item: Any, deltas: list[Any], want: str) -> None:
    state = take_in(added({"type": item["type"], "id": "w"}), *deltas, done(item), finish(item)).state
    assert told(state) == [("other", want)]


SHELL = {"type": "shell_call", "id": "sh_1", "call_id": "c1"}
COMPUTER = {"type": "computer_call", "id": "i", "call_id": "c1"}
CHECK = {"id": "sc_1", "code": "malicious_instructions", "message": "The page gives orders."}
ACTION = {"commands": ["ls", 'rm -r "a"'], "timeout_ms": None}
EXEC = {"type": "exec", "command": ["rm", "x"], "env": {}}
PATCH = {"type": "update_file", "path": "a", "diff": "+1"}


@pytest.mark.parametrize(
    ("item", "want"),
    [
        ({"type": "local_shell_call", "id": "i", "call_id": "c1", "action": EXEC}, ("c1", "local_shell", EXEC)),
        ({**SHELL, "action": ACTION, "environment": None}, ("c1", "shell", ACTION)),
        ({"type": "apply_patch_call", "id": "i", "call_id": "c1", "operation": PATCH}, ("c1", "apply_patch", PATCH)),
        (
            {**COMPUTER, "action": {"type": "click"}},
            ("c1", "computer", {"action": {"type": "click"}}),
        ),
        (
            {**COMPUTER, "actions": [{"type": "wait"}]},
            ("c1", "computer", {"actions": [{"type": "wait"}]}),
        ),
        (
            {**COMPUTER, "action": {"type": "wait"}, "pending_safety_checks": [CHECK]},
            ("c1", "computer", {"action": {"type": "wait"}, "pending_safety_checks": [CHECK]}),
        ),
        (
            {**COMPUTER, "action": {"type": "wait"}, "pending_safety_checks": []},
            ("c1", "computer", {"action": {"type": "wait"}}),
        ),
        (
            {"type": "mcp_call", "id": "m", "name": "send", "arguments": '{"a":1}', "output": "o"},
            ("m", "send", {"a": 1}),
        ),
        ({"type": "mcp_approval_request", "id": "m", "name": "send", "arguments": "{}"}, ("m", "send", {})),
        (
            {"type": "code_interpreter_call", "id": "i", "code": "1+1", "outputs": [{"logs": "2"}]},
            ("i", "code_interpreter", {"code": "1+1"}),
        ),
        (
            {"type": "web_search_call", "id": "i", "action": {"type": "search", "query": "q"}},
            ("i", "web_search", {"type": "search", "query": "q"}),
        ),
        (
            {"type": "file_search_call", "id": "i", "queries": ["q"], "results": [{"text": "t"}]},
            ("i", "file_search", {"queries": ["q"]}),
        ),
        (
            {"type": "image_generation_call", "id": "i", "revised_prompt": "p", "result": "iVBO"},
            ("i", "image_generation", {"revised_prompt": "p"}),
        ),
        (
            {"type": "tool_search_call", "id": "i", "call_id": None, "arguments": {"goal": "g"}},
            ("i", "tool_search", {"goal": "g"}),
        ),
        ({"type": "program", "id": "i", "call_id": "c1", "code": "f()"}, ("c1", "program", {"code": "f()"})),
        ({"type": "deploy_call", "id": "i", "action": {"to": "x"}}, ("i", "deploy", {"to": "x"})),
        (
            {"type": "spawn_request", "id": "i", "goal": "g", "depth": 1},
            ("i", "spawn_request", {"goal": "g", "depth": 1}),
        ),
        ({"type": "gadget", "id": "i", "name": "rm", "input": {"path": "x"}}, ("i", "rm", {"path": "x"})),
    ],
)
def test_whatever_may_be_a_call_is_one(item: Any, want: tuple[str, str, Any]) -> None:
    scripts = [
        [added({"type": item["type"], "id": item["id"], "status": "in_progress"}), done(item), finish(item)],
        [added(item), done(item), finish(item)],
        [done(item)],
        [finish(item)["response"]],
    ]
    for script in scripts:
        [block] = [each for each in take_in(*script).state.blocks if isinstance(each, ToolCallStreamBlock)]
        assert (block.id, block.name, json.loads(block.text), block.label) == (*want, item["type"])


def test_the_fields_of_a_call_that_come_in_pieces_make_its_arguments() -> None:
    aggregator = take_in(
        added({**SHELL, "action": {"commands": []}}),
        say("shell_call_command.added", command="", command_index=0),
        say("shell_call_command.delta", delta="l", command_index=0),
        say("shell_call_command.delta", delta="s", command_index=0),
        say("shell_call_command.done", command="ls", command_index=0),
        say("shell_call_command.delta", delta='rm -r "a"', command_index=1),
        done({**SHELL, "action": ACTION}),
        finish({**SHELL, "action": ACTION}),
    )
    [block] = aggregator.state.blocks
    assert json.loads(block.text) == ACTION
    assert not aggregator.state.contradiction


@pytest.mark.parametrize(
    ("item", "deltas", "want"),
    [
        ({"type": "code_interpreter_call"}, [say("code_interpreter_call_code.delta", delta="1\n")], {"code": "1\n"}),
        ({"type": "code_interpreter_call"}, [say("code_interpreter_call_code.done", code="1")], {"code": "1"}),
        ({"type": "apply_patch_call"}, [say("apply_patch_call_operation_diff.delta", delta="+1")], {"diff": "+1"}),
        ({"type": "mcp_call"}, [say("mcp_call_arguments.delta", delta='{"a":1}')], {"a": 1}),
        ({"type": "deploy_call"}, [say("deploy_call_script.delta", delta="rm")], {"script": "rm"}),
        ({"type": "shell_call"}, [say("shell_call_command.done", command="ls", command_index=0)], {"commands": ["ls"]}),
        ({"type": "function_call", "arguments": '{"a":1}'}, [], {"a": 1}),
    ],
)
def test_arguments_count_though_the_call_is_never_told_as_a_whole(item: Any, deltas: list[Any], want: Any) -> None:
    for script in (deltas, [added({**item, "id": "w"}), *deltas]):
        if script:
            [block] = take_in(*script, finish()).state.blocks
            assert block.kind is BlockKind.TOOL_CALL
            assert json.loads(block.text) == want
            [cut] = take_in(*script).state.blocks
            assert block.text.startswith(cut.text)


# Upstream says something twice, and differently


ARGUED = [added(CALL), say("function_call_arguments.delta", delta='{"a":1}')]
WHOLE = {**CALL, "arguments": '{"a":1}'}
BAD = {**CALL, "arguments": '{"a":2}'}
TALKED = [added(MESSAGE), say("output_text.delta", content_index=0, delta="Hi")]
THOUGHT = [added(REASONING), say("reasoning_summary_text.delta", summary_index=0, delta="hm")]
CODED = [
    added({"type": "code_interpreter_call", "id": "ci"}),
    say("code_interpreter_call_code.delta", delta="1"),
]


@pytest.mark.parametrize(
    "script",
    [
        [*ARGUED, done(BAD)],
        [*ARGUED, finish(BAD)],
        [*ARGUED, done(WHOLE), finish(BAD)],
        [*ARGUED, done(WHOLE), finish(WHOLE), finish(BAD)],
        [*ARGUED, done(WHOLE), {"type": "response.in_progress", "response": {"output": [BAD]}}],
        [*ARGUED, say("function_call_arguments.done", arguments='{"a":2}')],
        [*ARGUED, say("function_call_arguments.done", arguments='{"a":1}', name="rm")],
        [*ARGUED, done({**WHOLE, "name": "rm"})],
        [*ARGUED, done({**WHOLE, "call_id": "c2"})],
        [*ARGUED, done(WHOLE), finish({**WHOLE, "name": "rm"})],
        [*ARGUED, added({**CALL, "name": "rm"})],
        [*ARGUED, done(WHOLE), say("function_call_arguments.delta", delta=" ")],
        [
            *ARGUED,
            say("function_call_arguments.done", arguments='{"a":1}'),
            say("function_call_arguments.delta", delta=" "),
        ],
        [added({**CALL, "arguments": "{}"}), say("function_call_arguments.delta", delta='{"a":1}'), done(WHOLE)],
        [*ARGUED, added({**CALL, "id": "fc_2"}, 1), say("function_call_arguments.delta", 1, item_id="fc_1", delta=" ")],
        [*TALKED, done(message("Ho"))],
        [*TALKED, say("output_text.done", content_index=0, text="Ho")],
        [*TALKED, say("content_part.done", content_index=0, part={"type": "output_text", "text": "Ho"})],
        [*TALKED, done(message("Hi")), finish(message("Ho"))],
        [*TALKED, done(message("Hi")), finish(message("Hi there"))],
        [*TALKED, done(message("Hi")), say("output_text.delta", content_index=0, delta="!")],
        [*TALKED, finish(message("Hi"), output_text="Ho")],
        [*THOUGHT, done({**REASONING, "summary": [{"type": "summary_text", "text": "ha"}]})],
        [*THOUGHT, done(REASONING), say("reasoning_summary_text.delta", summary_index=0, delta="!")],
        [*THOUGHT, done(REASONING), finish({**REASONING, "content": [{"type": "reasoning_text", "text": "!"}]})],
        [*CODED, done({"type": "code_interpreter_call", "id": "ci", "code": "2"})],
        [*CODED, say("code_interpreter_call_code.done", code="2")],
        [added(SHELL), done({**SHELL, "action": ACTION}), finish({**SHELL, "action": {"commands": ["rm"]}})],
        [done({"type": "new_item", "id": "w", "x": 1}), finish({"type": "new_item", "id": "w", "x": 2})],
    ],
)
def test_what_can_be_read_in_two_ways_is_a_contradiction(script: list[Any]) -> None:
    assert take_in(CREATED, *script).state.contradiction


@pytest.mark.parametrize(
    "script",
    [
        [*ARGUED, done({**CALL, "arguments": '{"a": 1}'}), finish(WHOLE)],
        [*ARGUED, done(WHOLE), finish()],
        [added({"type": "function_call", "id": "fc_1"}), *ARGUED[1:], done(WHOLE), finish(WHOLE)],
        [*TALKED, done(message("Hi", id="other")), finish(message("Hi", id="third"), output_text="Hi")],
        [*TALKED, done(MESSAGE), finish(MESSAGE)],
        # LiteLLM's proxy tells a summary again as content.
        [*THOUGHT, done(REASONING), finish({**REASONING, "content": [{"type": "output_text", "text": "hm"}]})],
        [added(SHELL), done({**SHELL, "action": ACTION}), finish({**SHELL, "action": ACTION, "status": "completed"})],
    ],
)
def test_what_comes_to_the_same_is_none(script: list[Any]) -> None:
    assert not take_in(CREATED, *script).state.contradiction


def test_an_event_that_is_named_otherwise_than_it_says_is_a_contradiction() -> None:
    aggregator = OpenAIResponsesAggregator()
    [chunk] = parse(b'event: response.created\ndata: {"type":"response.output_text.delta","delta":"a"}\n\n')
    aggregator.aggregate(chunk)
    assert aggregator.state.contradiction


def test_what_only_the_whole_response_says_is_read() -> None:
    other = {**WHOLE, "id": "fc_2", "call_id": "c2"}
    assert read(*ARGUED, done(WHOLE), finish(WHOLE, other), finish(WHOLE, {**other, "call_id": "c3", "id": "x"})) == [
        ("tool_call", "c1", "look", '{"a":1}'),
        ("tool_call", "c2", "look", '{"a":1}'),
    ]
    begun = {"type": "response.created", "response": {"id": "r", "output": [WHOLE]}}
    assert read(begun, finish(WHOLE)) == [("tool_call", "c1", "look", '{"a":1}')]


def test_text_for_a_part_of_an_unknown_type_is_text() -> None:
    script = [
        added(MESSAGE),
        say("content_part.added", content_index=0, part={"type": "mystery"}),
        say("output_text.delta", content_index=0, delta="Hi"),
        say("refusal.delta", content_index=0, delta="No"),
    ]
    assert read(*script, finish()) == [("other", ""), ("content", "Hi"), ("refusal", "No")]


def test_a_part_of_an_unknown_type_that_is_told_again_is_no_failure() -> None:
    part = {"type": "mystery", "payload": {"a": 1}}
    whole = {**MESSAGE, "content": [part]}
    state = take_in(
        added(MESSAGE), say("content_part.done", content_index=0, part=part), done(whole), finish(whole)
    ).state
    assert told(state) == [("other", '{"payload":{"a":1}}')]
    assert not state.contradiction


def test_a_delta_of_an_unknown_kind_adds_nothing_to_a_known_block() -> None:
    assert read(added(CALL), say("mood.delta", delta="!"), finish()) == [("tool_call", "c1", "look", "")]


def test_a_custom_tool_is_the_clients_tool() -> None:
    item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "run", "input": "ls"}
    assert read(
        added({**item, "input": ""}), say("custom_tool_call_input.delta", delta="l"), done(item), finish(item)
    ) == [("tool_call", "c1", "run", "ls")]


@pytest.mark.parametrize("status", ["completed", "incomplete", "failed", "cancelled"])
def test_the_status_is_the_finish_reason(status: str) -> None:
    state = take_in(CREATED, finish(status=status, usage={"total_tokens": 1})).state
    assert state.finish_reason == status
    assert state.usage == {"total_tokens": 1}
    assert not state.is_truncated


@pytest.mark.parametrize(
    "payload",
    [
        {"type": "error", "error": {"type": "t", "code": "c", "message": "m"}},
        {"type": "error", "code": "c", "message": "m"},
        finish(status="failed", error={"code": "c", "message": "m"}),
    ],
)
def test_it_reports_an_error(payload: Any) -> None:
    failure = take_in(CREATED, payload).state.failure
    assert failure is not None
    assert (failure.message, failure.code) == ("m", "c")


def test_a_background_response_that_only_began_is_not_finished() -> None:
    state = take_in({"type": "response.queued", "response": {"id": "r", "status": "queued"}}).state
    assert state.is_truncated
    assert state.finish_reason is None


def test_a_done_marker_means_nothing() -> None:
    state = take_in(CREATED, finish(message("a")), "[DONE]").state
    assert told(state) == [("content", "a")]
    assert not isinstance(state.failure, StreamFailed)


def test_the_built_response_keeps_what_events_do_not_carry() -> None:
    part = {"type": "output_text", "text": "a", "annotations": [{"url": "u"}]}
    item = {**MESSAGE, "status": "completed", "content": [part]}
    response = finish(item, usage={"total_tokens": 1}, model="m")["response"]
    assert take_in(CREATED, added(MESSAGE), done(item), finish(item, **response)).build() == {
        **response,
        "created_at": 0,
    }


@given(st.lists(st.tuples(st.integers(0, 3), st.text(min_size=1, max_size=5)), max_size=40), st.booleans())
def test_interleaved_calls_are_separate_blocks(pieces: list[tuple[int, str]], has_index: bool) -> None:
    wanted: dict[int, str] = {}
    script: list[Any] = []
    for index, said in pieces:
        if index not in wanted:
            script.append(added({**CALL, "id": f"fc_{index}", "call_id": f"c{index}"}, index))
        wanted[index] = wanted.get(index, "") + said
        place = index if has_index else None
        script.append(say("function_call_arguments.delta", place, item_id=f"fc_{index}", delta=said))
    assert read(*script, finish()) == [("tool_call", f"c{index}", "look", said) for index, said in wanted.items()]


def test_a_search_for_tools_has_the_id_that_it_is_told_as_done_with() -> None:
    search = {"type": "tool_search_call", "id": "tsc_1", "execution": "client", "call_id": "c1", "arguments": {}}
    whole = {**search, "call_id": "c2", "arguments": {"goal": "x"}}
    state = take_in(CREATED, added(search), done(whole), finish(whole)).state
    assert ([block.id for block in state.blocks], state.contradiction) == (["c2"], "")
