"""What servers of note send that their format does not have: policies read it, and the stream goes on."""

import json
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamState
from streamviz.core.events import BlockKind
from streamviz.core.wire import AGGREGATORS

SAID = "this is to be read"
PATCH = "+this is to be added\n"


def read(format: str, *payloads: Any) -> tuple[StreamState, list[str]]:
    """What they come to, and the texts that they tell beside the blocks."""
    aggregator = AGGREGATORS[format]()
    told: list[str] = []
    for number, payload in enumerate(payloads):
        data = json.dumps(payload).encode()
        aggregator.aggregate(Chunk(number, 0, data, data))
        told += [each.text for each in aggregator.state.beside]
    aggregator.close()
    return aggregator.state, told


def chat(delta: Any, **choice: Any) -> Any:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, **choice}]}


def specific(**members: Any) -> Any:
    return chat({"content": "", "provider_specific_fields": members})


def event(word: str, **members: Any) -> Any:
    return {"type": f"response.{word}", "output_index": 0, "item_id": "i", **members}


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(chat({}, finish_reason="stop", stop_reason=SAID), id="vLLM: the stop sequence"),
        pytest.param(chat({}, finish_reason="stop", stop_reason="\n\n"), id="vLLM: a blank stop sequence"),
        pytest.param(chat({}, finish_reason="stop", matched_stop=SAID), id="SGLang: the stop sequence"),
        pytest.param(chat({"content": "Hi", "name": "MiniMax AI", "audio_content": ""}), id="MiniMax: who speaks"),
        pytest.param(
            {"object": "chat.completion", "choices": [{"message": {"content": "Hi", "name": "MiniMax AI"}}]},
            id="MiniMax: who spoke",
        ),
        pytest.param(
            chat({"executed_tools": [{"index": 0, "type": "search", "arguments": "{}", "output": SAID}]}),
            id="Groq: its own tools",
        ),
        pytest.param(specific(citation={"cited_text": SAID, "url": "https://x.test"}), id="LiteLLM: a citation"),
        pytest.param(
            specific(web_search_calls={"s": {"id": "ws", "action": {"query": SAID}, "type": "web_search_call"}}),
            id="LiteLLM: a search",
        ),
        pytest.param(
            specific(code_interpreter_results=[{"type": "code_interpreter_call", "code": SAID}]),
            id="LiteLLM: what code came to",
        ),
        pytest.param(
            specific(compaction_delta={"content": SAID}, compaction_blocks=[{"type": "compaction", "content": SAID}]),
            id="LiteLLM: a summary",
        ),
    ],
)
def test_chat(payload: Any) -> None:
    state, told = read("openai_chat", payload)
    assert state.contradiction == ""
    assert {SAID, "\n\n", "MiniMax AI"}.intersection(told)


@pytest.mark.parametrize(
    "payload",
    [
        chat({"content": "Hi", "name": "one two three four five"}),
        chat({"content": "Hi", "name": {"name": SAID}}),
        chat({"content": "Hi", "name": "a\nb"}),
    ],
)
def test_who_speaks_has_a_name_and_says_nothing_by_it(payload: Any) -> None:
    assert read("openai_chat", payload)[0].contradiction


@pytest.mark.parametrize("name", ["stop_reason", "matched_stop"])
@pytest.mark.parametrize("value", [[SAID], {"name": "run_shell", "arguments": "ls"}])
def test_a_stop_sequence_is_a_text_or_a_token(name: str, value: Any) -> None:
    assert read("openai_chat", chat({}, **{name: value}))[0].contradiction
    assert not read("openai_chat", chat({}, **{name: 151_645}))[0].contradiction


def test_copilots_thinking_is_thinking() -> None:
    state, _ = read("openai_chat", chat({"reasoning_text": "Let me "}), chat({"reasoning_text": "see"}))
    assert [(block.kind, block.text) for block in state.blocks] == [(BlockKind.THINKING, "Let me see")]
    assert state.contradiction == ""


@pytest.mark.parametrize(
    "members",
    [
        {"type": "response.metadata", "headers": {"etag": SAID}},
        {"type": "response.rate_limits.updated", "rate_limits": [{"name": "requests", "note": SAID}]},
        {"type": "response.safety_buffering", "use_cases": ["cyber"], "reasons": [SAID]},
    ],
)
def test_events_of_the_connection(members: Any) -> None:
    state, told = read("openai_responses", members)
    assert (state.contradiction, SAID in told) == ("", True)


def patch(diff: str, done: str) -> list[Any]:
    call = {"id": "i", "type": "apply_patch_call", "call_id": "c"}
    operation = {"type": "create_file", "path": "a.txt", "diff": ""}
    return [
        event("output_item.added", item={**call, "status": "in_progress", "operation": operation}),
        event("apply_patch_call_operation_diff.delta", delta=diff),
        event("apply_patch_call_operation_diff.done", diff=done),
        event("output_item.done", item={**call, "status": "completed", "operation": {**operation, "diff": diff}}),
    ]


def test_the_end_of_a_diff() -> None:
    state, _ = read("openai_responses", *patch(PATCH, PATCH))
    assert state.contradiction == ""
    assert json.loads(state.blocks[0].text)["diff"] == PATCH
    assert read("openai_responses", *patch(PATCH, "+something else\n"))[0].contradiction


def thought(text: str, done: str) -> list[Any]:
    item = {"id": "i", "type": "reasoning", "summary": []}
    part = {"type": "reasoning_text", "text": ""}
    return [
        event("output_item.added", item={**item, "content": []}),
        event("reasoning_part.added", content_index=0, part=part),
        event("reasoning_text.delta", content_index=0, delta=text),
        event("reasoning_text.done", content_index=0, text=text),
        event("reasoning_part.done", content_index=0, part={**part, "text": done}),
        event("output_item.done", item={**item, "content": [{**part, "text": text}]}),
    ]


def test_a_part_of_vllms_thinking() -> None:
    state, _ = read("openai_responses", *thought(SAID, SAID))
    assert [(block.kind, block.text) for block in state.blocks] == [(BlockKind.THINKING, SAID)]
    assert state.contradiction == ""
    assert read("openai_responses", *thought(SAID, "something else"))[0].contradiction
