"""Items of a responses request that chat has no equivalent for: turned into calls, listed, or refused."""

import json
from typing import Any

import pytest

from streamviz.core.errors import RequestError
from streamviz.upstream.response_items import sayable
from streamviz.upstream.summaries import asks_for_summary, in_words
from streamviz.upstream.targets import Lane, Target

CLAUDE = Target("claude-sonnet-4-5", "anthropic", "openai_responses", Lane.TRANSLATED)
GEMINI = Target("gemini-2.5-pro", "gemini", "openai_responses", Lane.TRANSLATED)
SOUND = {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}


def user(*parts: Any) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": list(parts)}


def test_what_is_said_between_calls_and_their_results_comes_behind_them() -> None:
    a, b, lost = ({"type": "function_call", "call_id": each, "name": "f", "arguments": "{}"} for each in "abc")
    of_a, of_b = ({"type": "function_call_output", "call_id": each, "output": "ok"} for each in "ab")
    said = [{"role": "user", "content": word} for word in ("first", "wait", "and", "last")]
    asked = [said[0], a, b, said[1], of_b, said[2], of_a, said[3]]
    assert sayable(CLAUDE, asked, []) == [said[0], a, b, of_b, of_a, *said[1:]]
    in_order = [said[0], a, of_a, said[1], lost, said[2]]
    assert sayable(CLAUDE, in_order, []) == in_order
    odd: list[object] = [{"type": ["a"], "role": 7}, {"type": {}}, "text", None]
    assert sayable(CLAUDE, odd, []) == odd
    answer = {"role": "assistant", "content": "ok"}
    for asked in ([of_a, a, said[0], answer, said[1]], [a, of_a, said[0], a, said[1], answer, said[2]]):
        assert sayable(CLAUDE, asked, []) == asked  # the last call has no result


@pytest.mark.parametrize(
    ("kind", "given", "arguments", "answered", "output"),
    [
        ("local_shell", {"action": {"command": ["ls"]}}, '{"command":["ls"]}', {"output": "files"}, "files"),
        ("shell", {"action": {"env": {}}}, '{"env":{}}', {"output": [{"stdout": "a"}]}, '[{"stdout":"a"}]'),
        ("apply_patch", {"operation": {"path": "a"}}, '{"path":"a"}', {"status": "completed"}, "completed"),
        ("apply_patch", {"operation": {"path": "a"}}, '{"path":"a"}', {"status": "failed", "output": "no file"},
         "failed: no file"),
    ],
)  # fmt: skip
def test_calls_of_openais_own_tools_are_calls_of_functions(
    kind: str, given: Any, arguments: str, answered: Any, output: str
) -> None:
    call = {"type": f"{kind}_call", "call_id": "c", **given}
    result = {"type": f"{kind}_call_output", "call_id": "c", **answered}
    assert sayable(CLAUDE, [call, result], []) == [
        {"type": "function_call", "call_id": "c", "name": kind, "arguments": arguments},
        {"type": "function_call_output", "call_id": "c", "output": output},
    ]


def test_a_call_of_a_tool_in_a_namespace_is_one_by_both_names() -> None:
    call = {"type": "function_call", "call_id": "c", "namespace": "fs", "name": "read", "arguments": "{}"}
    [said] = sayable(CLAUDE, [call], [])
    assert said == {"type": "function_call", "call_id": "c", "name": "fs__read", "arguments": "{}"}


def test_what_openai_ran_itself_is_left_out_and_named() -> None:
    # Codex sends searches without their ids, which makes LiteLLM fail.
    searched = {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "x"}}
    left_out: list[str] = []
    assert sayable(CLAUDE, [user(), {"type": "file_search_call"}, {"type": "mcp_call"}, searched], left_out) == [user()]
    assert left_out == ["file_search_call", "mcp_call", "web_search_call"]


def test_all_else_that_codex_sends_goes_on_as_it_is() -> None:
    picture = {"type": "input_image", "image_url": "data:image/png;base64,AA=="}
    items = [
        {"role": "developer", "content": "Be brief"},
        user({"type": "input_text", "text": "Look"}, picture, {"type": "input_file", "file_data": "data:,a"}),
        {"type": "reasoning", "summary": [], "encrypted_content": "sealed"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look"}]},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": [picture]},
        {"type": "custom_tool_call", "call_id": "d", "name": "apply_patch", "input": "***"},
        {"type": "custom_tool_call_output", "call_id": "d", "output": "done"},
    ]
    assert sayable(CLAUDE, [*items, "odd"], []) == [*items, "odd"]


def test_reasoning_that_led_to_nothing_is_left_out() -> None:
    """For example if a person stopped Codex while the model was thinking: OpenAI refuses an answer with neither text
    nor calls."""
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "I look."}]}
    call = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
    searched = {"type": "web_search_call", "status": "completed"}
    items = [user(), thought, thought, user(), thought, searched, thought, call, thought]
    assert sayable(CLAUDE, items, []) == [user(), user(), thought, thought, call]


def test_what_codexs_agents_say_to_each_other_is_said_by_the_user() -> None:
    """For models of other vendors, the text of a task is where OpenAI's own models have it encrypted."""
    head = {"type": "input_text", "text": "Message Type: NEW_TASK\nTask name: /root/look\nSender: /root\nPayload:\n"}
    task = {"type": "encrypted_content", "encrypted_content": "Look at the folder"}
    between = {"type": "agent_message", "id": "amsg_1", "author": "/root", "recipient": "/root/look"}
    [said] = sayable(CLAUDE, [{**between, "content": [head, task]}], [])
    assert said == user(head, {"type": "input_text", "text": "Look at the folder"})
    assert sayable(CLAUDE, [{**between, "content": "Done"}], []) == [user({"type": "input_text", "text": "Done"})]


def test_a_conversation_that_was_shortened_goes_on_from_its_summary() -> None:
    """Only a summary that can be read, which is not OpenAI's."""
    sealed = json.dumps({"type": "compaction", "content": "Two files were written."})
    [said] = sayable(CLAUDE, [{"type": "compaction", "id": "cmp_1", "encrypted_content": sealed}], [])
    assert isinstance(said, dict)
    assert (said["type"], said["role"]) == ("message", "user")
    assert said["content"][0]["text"].endswith("\n\nTwo files were written.")


def test_a_model_is_asked_for_a_summary_in_words() -> None:
    trigger = {"type": "compaction_trigger"}
    *before, asked = in_words(sayable(CLAUDE, [user(), trigger], []))
    assert before == [user()]
    assert (asked["role"], "summary" in asked["content"][0]["text"]) == ("user", True)
    assert asks_for_summary([user(), trigger])
    assert not asks_for_summary([trigger, user()])
    assert not asks_for_summary("text")


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ({"type": "agent_message", "content": [{"type": "encrypted_content", "encrypted_content": "gAAAAABo"}]},
         "encrypted_content"),
        *(({"type": kind}, kind) for kind in ("item_reference", "compaction", "mcp_approval_response")),
        ({"id": "msg_1"}, "item_reference"),
        ({"type": "computer_call", "action": {"type": "click"}}, "computer_call"),
        ({"type": "x" * 1_000_000}, "x" * 50),
        (user(SOUND), "input_audio"),
        (user({"type": "input_file", "file_id": "f"}), "input_file.file_id"),
        (user({"type": "input_image", "file_id": "f"}), "input_image.file_id"),
        (user({"type": "computer_screenshot"}), "computer_screenshot"),
        ({"type": "function_call_output", "call_id": "c", "output": [{"type": "input_file", "file_id": "f"}]},
         "input_file.file_id"),
    ],
)  # fmt: skip
def test_what_a_model_would_not_see_is_refused_by_name(item: Any, name: str) -> None:
    with pytest.raises(RequestError) as raised:
        sayable(CLAUDE, [item], [])
    assert (raised.value.status, raised.value.param) == (400, name)


def test_models_that_hear_get_the_sound() -> None:
    assert sayable(GEMINI, [user(SOUND)], []) == [user(SOUND)]
