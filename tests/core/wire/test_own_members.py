"""Members that notable servers add to their format: policies read them, and the stream goes on."""

import json
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamState, ThinkingStreamBlock, ToolCallStreamBlock
from streamviz.core.call_runners import Runner
from streamviz.core.events import BlockKind
from streamviz.core.wire import AGGREGATORS

SAID = "this is to be read"
PATCH = "+this is to be added\n"


def read(format: str, *payloads: Any) -> tuple[StreamState, list[str]]:
    """The state that they lead to, and the texts in them that belong to no block."""
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
        pytest.param(specific(citationsContent={"citations": [{"title": SAID}]}), id="LiteLLM: Nova's citations"),
        pytest.param(
            specific(stop_reason="refusal", stop_details={"type": "refusal", "explanation": SAID}),
            id="LiteLLM: why Claude refused",
        ),
        pytest.param(
            specific(server_side_tool_invocations=[{"tool_type": "GOOGLE_SEARCH_WEB", "args": {"queries": [SAID]}}]),
            id="LiteLLM: Gemini's own tools",
        ),
        pytest.param(
            chat({"content": "Hi"}, content_filter_result={"error": {"code": "content_filter_error", "message": SAID}}),
            id="Azure: the filter is down",
        ),
        pytest.param(
            chat({"role": "assistant", "context": {"citations": [{"content": SAID}], "intent": "[]"}}),
            id="Azure: an answer from the operator's data",
        ),
        pytest.param(
            chat({"content": "", "reasoning_steps": [{"thought": SAID, "type": "web_search"}]}),
            id="Perplexity: steps",
        ),
        pytest.param(
            chat({"content": "Hi", "copilot_annotations": {"IPCodeCitations": [{"citations": {"snippet": SAID}}]}}),
            id="Copilot: whose code it is",
        ),
        pytest.param(
            chat({"content": [{"type": "text", "text": "Hi", "citations": [{"title": SAID}]}]}),
            id="Databricks: a citation",
        ),
        pytest.param(
            chat(
                {"content": [{"type": "tool_reference", "tool": "web_search", "title": SAID, "url": "https://x.test"}]}
            ),
            id="Mistral: a reference",
        ),
    ],
)
def test_members_that_servers_add_to_chat_are_read(payload: Any) -> None:
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


BEDROCK = {"role": "assistant", "content": "", "reasoning_content": SAID, "thinking_blocks": []}


@pytest.mark.parametrize(
    "members",
    [
        {"reasoningContent": {"text": SAID}},
        {"reasoningContent": {"signature": "EqQB=="}},
        {"reasoningContent": {"redactedContent": "EqQB=="}},
        {"reasoningContentBlocks": [{"reasoningText": {"text": SAID, "signature": "EqQB=="}}]},
    ],
)
def test_bedrocks_thinking_is_told_again_by_litellm(members: Any) -> None:
    state, told = read("openai_chat", chat({**BEDROCK, "provider_specific_fields": members}))
    assert [(block.kind, block.text) for block in state.blocks] == [(BlockKind.THINKING, SAID)]
    assert (state.contradiction, SAID in told) == ("", False)


@pytest.mark.parametrize(("data", "is_odd"), [("EqQB+/==", False), ("this can be read", True)])
def test_redacted_thinking_contradicts_where_it_can_be_read(data: str, is_odd: bool) -> None:
    for members in (
        {"provider_specific_fields": {"reasoningContent": {"redactedContent": data}}},
        {"thinking_blocks": [{"type": "redacted_thinking", "data": data}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": data}]},
    ):
        assert bool(read("openai_chat", chat({**BEDROCK, **members}))[0].contradiction) is is_odd


@pytest.mark.parametrize(("data", "is_odd"), [("EqQB+/==", False), ("this can be read", True)])
def test_what_is_encrypted_contradicts_where_it_can_be_read(data: str, is_odd: bool) -> None:
    part = {"text": "Hi", "thoughtSignature": data}
    redacted = {"type": "redacted_thinking", "data": data}
    compaction = {"type": "compaction", "encrypted_content": data}
    for format, payload in (
        ("anthropic_messages", {"type": "content_block_start", "index": 0, "content_block": redacted}),
        ("anthropic_messages", {"type": "content_block_start", "index": 0, "content_block": compaction}),
        ("anthropic_messages", {"type": "message", "role": "assistant", "content": [redacted]}),
        ("openai_responses", event("output_item.done", item={"id": "i", "summary": [], **compaction})),
        ("openai_responses", event("output_item.done", item={"id": "i", **compaction, "type": "reasoning"})),
        ("gemini", {"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}]}),
    ):
        assert bool(read(format, payload)[0].contradiction) is is_odd


def sealed(*blocks: Any, **members: Any) -> Any:
    """A response with a reasoning item as LiteLLM ends its streams: the model's signed blocks are JSON."""
    content = [{"type": "output_text", "text": SAID, "annotations": []}]
    item = {"type": "reasoning", "id": "i", "role": "assistant", "content": content, **members}
    output = [{**item, "encrypted_content": json.dumps(list(blocks))}]
    return {"type": "response.completed", "response": {"status": "completed", "output": output}}


def signed(text: str = SAID, **members: Any) -> Any:
    return {"type": "thinking", "thinking": text, "signature": "EqQB+/==", **members}


REDACTED = {"type": "redacted_thinking", "data": "EqQB+/=="}


@pytest.mark.parametrize(
    "whole",
    [
        sealed(signed()),
        sealed(signed("this is "), REDACTED, signed("to be read")),
        sealed(signed(""), content=[]),
        sealed(REDACTED, content=[]),
        sealed(signed(), content=[], summary=[{"type": "summary_text", "text": SAID}]),
    ],
)
def test_litellm_tells_thinking_again_as_it_was_signed(whole: Any) -> None:
    for payload in (whole, whole["response"], event("output_item.done", item=whole["response"]["output"][0])):
        state, told = read("openai_responses", payload)
        assert (state.contradiction, SAID in told) == ("", False)
        [block] = state.blocks
        assert isinstance(block, ThinkingStreamBlock)
        assert block.signature == ""


@pytest.mark.parametrize(
    "whole",
    [
        sealed(signed("this is something else")),
        sealed(signed(), content=[]),
        sealed(signed(signature="this can be read")),
        sealed({**REDACTED, "data": "this can be read"}, content=[]),
        sealed(signed(note="this can be read")),
        sealed(signed(), {"type": "text", "text": SAID}),
        sealed(signed(), SAID),
        sealed(signed(), type="message"),
    ],
)
def test_thinking_that_was_signed_says_nothing_else(whole: Any) -> None:
    assert read("openai_responses", whole)[0].contradiction


def test_thinking_that_was_signed_is_told_once() -> None:
    whole = sealed(signed())
    twice = json.dumps([signed()]).replace('"signature"', f'"thinking": "{SAID}", "signature"')
    whole["response"]["output"][0]["encrypted_content"] = twice.replace(SAID, "this is something else", 1)
    assert read("openai_responses", whole)[0].contradiction


def test_a_summary_that_litellm_does_not_encrypt_is_read() -> None:
    summary = {"type": "compaction", "content": f'{SAID} "again"', "encrypted_content": "EqQB+/=="}
    for block, is_odd in (
        (summary, False),
        ({**summary, "encrypted_content": None}, False),
        ({**summary, "encrypted_content": SAID}, True),
        ({**summary, "note": SAID}, True),
        ({**summary, "content": [SAID]}, True),
        ({**summary, "type": "text"}, True),
        ([summary], True),
    ):
        item = {"type": "compaction", "id": "i", "encrypted_content": json.dumps(block)}
        whole = {"type": "response.completed", "response": {"status": "completed", "output": [item]}}
        state, told = read("openai_responses", event("output_item.done", item=item), whole)
        assert bool(state.contradiction) is is_odd
        assert is_odd or summary["content"] in told
        assert is_odd or json.loads(state.blocks[0].text)["content"] == summary["content"]


AGENT = {"agent_name": "/root"}


@pytest.mark.parametrize(
    "part",
    [
        {"type": "output_text", "text": SAID, "annotations": []},
        {"type": "input_text", "text": SAID},
        {"type": "refusal", "refusal": SAID},
        {"type": "encrypted_content", "encrypted_content": "EqQB=="},
    ],
)
def test_what_openais_agents_say_to_each_other_is_read(part: Any) -> None:
    said = {"type": "agent_message", "id": "i", "author": "/root", "recipient": "/root/a", "agent": AGENT}
    item = {**said, "content": [part]}
    whole = {"type": "response.completed", "response": {"status": "completed", "output": [item]}}
    state, told = read("openai_responses", event("output_item.done", item=item, agent=AGENT), whole)
    assert [(block.kind, block.label) for block in state.blocks] == [(BlockKind.OTHER, "agent_message")]
    assert (state.contradiction, SAID in told) == ("", "encrypted_content" not in part)


@pytest.mark.parametrize(
    "members",
    [
        {"content": [{"type": "tool_use", "name": "run_shell", "input": {}}]},
        {"content": {"type": "tool_use", "name": "run_shell", "input": {}}},
        {"content": [], "text": SAID},
        {"content": [{"type": "encrypted_content", "encrypted_content": SAID}]},
    ],
)
def test_what_openais_agents_say_to_each_other_is_no_call_and_in_its_content(members: Any) -> None:
    item = {"type": "agent_message", "id": "i", "author": "/root", "recipient": "/root/a", **members}
    assert read("openai_responses", event("output_item.done", item=item))[0].contradiction


def test_openai_runs_the_calls_of_its_own_agents() -> None:
    call = {"type": "multi_agent_call", "id": "i", "call_id": "c", "action": "spawn_agent", "arguments": "{}"}
    state, _ = read("openai_responses", event("output_item.done", item={**call, "agent": AGENT}, agent=AGENT))
    [block] = state.blocks
    assert isinstance(block, ToolCallStreamBlock)
    assert (block.runner, state.contradiction) == (Runner.PROVIDER, "")


def test_thinking_that_is_told_again_is_the_same() -> None:
    other = {**BEDROCK, "provider_specific_fields": {"reasoningContent": {"text": "something else"}}}
    assert read("openai_chat", chat(other))[0].contradiction


LEGACY = {"tokens": ["New", " York"], "token_logprobs": [-0.1, -1], "top_logprobs": [{"New": -0.1}], "text_offset": [0]}


def test_probabilities_as_before_chat_repeat_the_text_or_contradict() -> None:
    assert read("openai_chat", chat({"content": "New York"}, logprobs=LEGACY))[0].contradiction == ""
    assert read("openai_chat", chat({"content": "New Jersey"}, logprobs=LEGACY))[0].contradiction
    odd = {**LEGACY, "top_logprobs": [{"New": {"name": "run_shell", "arguments": "ls -l"}}]}
    assert read("openai_chat", chat({"content": "New York"}, logprobs=odd))[0].contradiction


def test_databricks_thinks_in_a_part_with_a_summary() -> None:
    summary = [{"type": "summary_text", "text": SAID, "signature": "EqQB=="}]
    state, _ = read("openai_chat", chat({"content": [{"type": "reasoning", "summary": summary}]}))
    assert [(block.kind, block.text) for block in state.blocks] == [(BlockKind.THINKING, SAID)]
    assert state.contradiction == ""


@pytest.mark.parametrize(
    "choice",
    [
        {"provider_specific_fields": {"images": [{"image_url": {"url": "https://x.test/a.png"}}], "note": SAID}},
        {"provider_specific_fields": {"images": [{"image_url": {"url": "data:image/png;base64,AAAA"}}]}},
        {"provider_specific_fields": {"reasoning_content": SAID}},
    ],
)
def test_a_choice_has_no_thinking_and_no_images_beside_its_delta(choice: Any) -> None:
    assert read("openai_chat", chat({"content": "Hi", "reasoning": SAID}, **choice))[0].contradiction


def test_a_choices_text_is_its_content() -> None:
    assert read("openai_chat", chat({"content": "", "reasoning": SAID}, text=SAID))[0].contradiction


@pytest.mark.parametrize("name", ["finish_reason", "native_finish_reason"])
def test_a_reason_may_have_one_of_its_own(name: str) -> None:
    for reason in ("content_filter: SAFETY", "function_call_filter: MALFORMED_FUNCTION_CALL", "Finish reason: OTHER"):
        assert read("openai_chat", chat({"content": "Hi"}, **{name: reason}))[0].contradiction == ""
    assert read("openai_chat", chat({"content": "Hi"}, **{name: "run: rm -rf the home"}))[0].contradiction


MODELS = (
    "Qwen3 30B A3B Instruct 2507 (Q4_K_M)",
    "C:\\Users\\John Smith\\m.gguf",
    "/home/jo/LM Studio/models/bartowski/Meta-Llama-3.1-8B-Instruct-GGUF/x-Q4.gguf",
    "[Team] Claude Sonnet 4.5, thinking",
)


def named(format: str, model: str) -> Any:
    return {
        "openai_chat": {"object": "chat.completion.chunk", "model": model, "choices": []},
        "anthropic_messages": {"type": "message_start", "message": {"id": "m", "model": model, "content": []}},
        "openai_responses": {"type": "response.created", "response": {"id": "r", "model": model, "output": []}},
        "gemini": {"candidates": [], "modelVersion": model},
    }[format]


@pytest.mark.parametrize("format", ["openai_chat", "anthropic_messages", "openai_responses", "gemini"])
def test_a_model_has_any_name_and_one_alone(format: str) -> None:
    for model in MODELS:
        state, told = read(format, named(format, model), named(format, model))
        assert (state.contradiction, model in told) == ("", True)
    for model in ("a\nb", "word " * 50):
        assert read(format, named(format, model))[0].contradiction


def test_a_model_changes_its_name_by_words_alone() -> None:
    one, other, word = (named("openai_chat", model) for model in (MODELS[0], MODELS[3], "gpt-5.4-mini"))
    assert read("openai_chat", word, one, word, one)[0].contradiction == ""
    assert read("openai_chat", one, other)[0].contradiction


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
        {"type": "response.reasoning.started", "thought": SAID},
        {"type": "response.reasoning.search_queries", "queries": [SAID], "thought": "Looking into it"},
        {"type": "response.reasoning.search_results", "results": [{"title": SAID}]},
        {"type": "response.reasoning.stopped", "thought": SAID},
    ],
)
def test_events_about_the_connection_are_read(members: Any) -> None:
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


def test_the_end_of_a_diff_repeats_it_or_contradicts() -> None:
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


def test_a_part_of_vllms_thinking_repeats_it_or_contradicts() -> None:
    state, _ = read("openai_responses", *thought(SAID, SAID))
    assert [(block.kind, block.text) for block in state.blocks] == [(BlockKind.THINKING, SAID)]
    assert state.contradiction == ""
    assert read("openai_responses", *thought(SAID, "something else"))[0].contradiction


def test_googles_command_line_has_its_answers_in_another() -> None:
    answer = {"candidates": [{"content": {"parts": [{"text": "Hi"}], "role": "model"}, "index": 0}]}
    state, told = read("gemini", {"response": answer, "traceId": "abc", "metadata": {"note": SAID}})
    assert (state.contradiction, SAID in told) == ("", True)


@pytest.mark.parametrize(("data", "is_odd"), [("UklGRg+/Az==", False), ('ommand": "rm -rf /etc"', True)])
def test_a_sound_is_no_text(data: str, is_odd: bool) -> None:
    assert bool(read("openai_responses", event("audio.delta", delta=data))[0].contradiction) is is_odd
    assert bool(read("openai_chat", chat({"audio": {"data": data}}))[0].contradiction) is is_odd


def test_a_sound_beside_a_text_is_no_part() -> None:
    sound = {"inlineData": {"mimeType": "audio/pcm", "data": "AAAA"}}
    for part, is_odd in (({"text": "Hi", **sound}, True), (sound, False)):
        answer = {"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}]}
        assert bool(read("gemini", answer)[0].contradiction) is is_odd


@pytest.mark.parametrize(
    "item",
    [
        {"type": "message", "content": [{"type": "output_audio", "transcript": "Hi", "data": {"data": "AAAA"}}]},
        {"type": "reasoning", "summary": [], "content": [{"type": "output_audio", "transcript": "Hi", "data": "AAAA"}]},
    ],
)
def test_a_sound_stands_in_a_message(item: Any) -> None:
    assert read("openai_responses", event("output_item.done", item={"id": "i", **item}))[0].contradiction
