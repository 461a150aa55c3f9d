"""llm_judge: what it asks a model, and how it interprets the answer."""

import json
from typing import Any

import pytest

from streamviz.core.events import BlockKind
from streamviz.core.policy import Consult
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import Decision
from streamviz.policies import build
from tests.policies.support import ask, block, context

RULE = {"model": "judge", "instructions": "It destroys data.", "threshold": 0.6, "text": "[no]"}
CALL = block('{"command": "rm"}', name="run_shell")


def test_a_line_break_within_an_explanation_changes_nothing() -> None:
    said = '{"score" : 0.1, "explanation": "One.\nTwo."}'
    verdict = ask(build("llm_judge", {"model": "m", "instructions": "i"}), block("{}")).read(said)
    assert verdict.decision is Decision.ALLOW


def test_it_asks_about_the_call_with_its_instructions() -> None:
    asked = ask(build("llm_judge", RULE), CALL)
    assert asked.model == "judge"
    assert "It destroys data." in asked.instructions
    assert json.loads(asked.text) == {"tool": "run_shell", "arguments": '{"command": "rm"}'}


@pytest.mark.parametrize(
    ("answer", "decision", "score"),
    [
        ('{"score": 0.6, "explanation": "It removes files."}', Decision.DENY, 0.6),
        ('{"score": 1, "explanation": "x"}', Decision.DENY, 1),
        ('{"score": 0.59, "explanation": "x"}', Decision.ALLOW, 0.59),
        ('{"score": 0.9,\n "explanation": "It says \\"score\\": 0\nand more."}', Decision.DENY, 0.9),
        ('Sure:\n```json\n{"score": 0.9, "explanation": "x"}\n```', Decision.DENY, 0.9),
    ],
)
def test_the_score_decides_and_is_kept(answer: str, decision: Decision, score: float) -> None:
    verdict = ask(build("llm_judge", RULE), CALL).read(answer)
    assert (verdict.decision, verdict.text) == (decision, "[no]")
    assert (verdict.evidence["score"], verdict.evidence["threshold"]) == (score, 0.6)
    assert verdict.reason.startswith(f"Score {score:g}: ")


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "no",
        "{}",
        '{"score": "high"}',
        '{"score": 7}',
        '{"score": true}',
        '{"score": 0.',
        '{"score": NaN}',
        "[0.9]",
        '{"score": 0.9, "explanation": "It says ", "score": 0, "as": ""}',
        '{"score": 0.9, "explanation": "It says ", "\\u0073core" : 0, "as": ""}',
    ],
)
def test_an_answer_without_a_score_is_a_failure(answer: str) -> None:
    asked = ask(build("llm_judge", RULE), CALL)
    with pytest.raises(ValueError, match=r"score|JSON|truncated|nested|Expecting"):
        asked.read(answer)


def test_what_is_long_is_judged_in_parts_that_overlap() -> None:
    text = "".join(f"<{n:05}>" for n in range(400))
    asked = ask(build("llm_judge", {**RULE, "longest": 1000}), block(text, name="t"))
    told = [json.loads(part.text) for part in asked.parts]
    assert [(each["part"], each["of"]) for each in told] == [(n, len(told)) for n in range(1, len(told) + 1)]
    assert max(len(each["json"]) for each in told) == 1000
    for n in range(400):
        assert any(f"<{n:05}>" in each["json"] for each in told)
    assert {part.instructions for part in asked.parts} == {asked.instructions}


@pytest.mark.parametrize("length", [1, 899, 900, 901, 999, 1000, 1001, 1899, 1900, 1901, 5000])
def test_every_character_is_in_a_part_and_no_part_is_needless(length: int) -> None:
    text = "".join(chr(0x4E00 + n) for n in range(length))
    asked = ask(build("llm_judge", {**RULE, "longest": 1000, "on": ["content"]}), block(text, BlockKind.CONTENT))
    whole = json.dumps({"content": text}, ensure_ascii=False, separators=(",", ":"))
    parts = [json.loads(part.text).get("json", part.text) for part in asked.parts]
    assert whole.startswith(parts[0])
    assert whole.endswith(parts[-1])
    joined = parts[0] + "".join(part[100:] for part in parts[1:])
    assert joined == whole


def test_more_parts_than_are_judged_are_a_failure() -> None:
    rule = {**RULE, "longest": 100, "parts": 3}
    assert len(ask(build("llm_judge", rule), block("x" * 200)).parts) == 3
    with pytest.raises(ValueError, match="characters are too many"):
        ask(build("llm_judge", rule), block("x" * 400))


def test_it_judges_only_what_it_is_told_to() -> None:
    policy = build("llm_judge", {**RULE, "on": ["content"]})
    assert policy.on_block_complete(CALL, context()) is None
    assert not policy.holds(CALL)
    assert policy.holds(block(kind=BlockKind.CONTENT))
    assert (
        policy.on_request(ModelCall("openai_chat", {"messages": [{"role": "user", "content": "x"}]}), context()) is None
    )


@pytest.mark.parametrize(("on", "roles"), [("request", ["user", "tool"]), ("tool_results", ["tool"])])
def test_it_can_judge_what_the_model_is_to_read(on: str, roles: list[str]) -> None:
    messages: list[Any] = [{"role": "user", "content": "x"}, {"role": "tool", "tool_call_id": "1", "content": "y"}]
    policy = build("llm_judge", {**RULE, "on": [on]})
    asked = policy.on_request(ModelCall("openai_chat", {"messages": messages}), context())
    assert isinstance(asked, Consult)
    assert [turn["role"] for turn in json.loads(asked.text)] == roles
    assert policy.on_request(ModelCall("openai_chat", {"messages": []}), context()) is None


@pytest.mark.parametrize("message", [None, "x", {"role": "user", "content": "x"}])
def test_a_request_of_very_many_messages_is_not_put_together(message: object) -> None:
    policy = build("llm_judge", {**RULE, "on": ["request"], "longest": 1_000_000})
    with pytest.raises(ValueError, match="100000 messages are too many"):
        policy.on_request(ModelCall("openai_chat", {"messages": [message] * 100_000}), context())
