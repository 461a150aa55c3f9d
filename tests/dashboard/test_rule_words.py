"""Rules described in words."""

from typing import Any

import pytest

from streamviz.dashboard.rule_words import KINDS, rule_of
from streamviz.policies.registry import REGISTRY
from streamviz.records.models import Policy


def policy(kind: str, parameters: dict[str, Any], **fields: Any) -> Policy:
    return Policy(name="p", kind=kind, parameters=parameters, **fields)


def test_every_kind_is_explained_with_an_example() -> None:
    assert KINDS.keys() == REGISTRY.keys()


@pytest.mark.parametrize(
    ("kind", "parameters", "words"),
    [
        ("tool_rule", {"names": ["bash", "sh"]}, "Denies calls to `bash` or `sh`."),
        (
            "tool_rule",
            {"names": ["bash"], "arguments": [{"path": "$.command", "pattern": "rm -rf"}], "action": "allow_only"},
            "Allows only calls to `bash` when `$.command` matches `rm -rf`.",
        ),
        ("cel_rule", {"expression": "true", "decision": "halt"}, "Halts at `tool call` where `true`."),
        ("text_rule", {"patterns": ["a", "b", "c"]}, "Replaces `a`, `b` or `c` in `content` with `[removed]`."),
        ("text_rule", {"patterns": ["a"], "replacement": ""}, "Removes `a` from `content`."),
        ("redact", {"find": ["card"], "in": ["request"]}, "Masks `card` in `request`."),
        ("nobody_knows", {"x": 1}, "A kind `nobody_knows`."),
    ],
)
def test_a_rule_is_a_sentence(kind: str, parameters: dict[str, Any], words: str) -> None:
    assert rule_of(policy(kind, parameters)).sentence == words


def test_what_the_sentence_does_not_say_is_beside_it() -> None:
    rule = rule_of(policy("tool_rule", {"names": ["bash"], "normalise": True, "text": "No."}))
    assert rule.parameters == [("normalise", "`true`")]
    assert ("The client gets", "“No.”") in rule.running


def test_how_it_runs_is_told() -> None:
    fields: dict[str, Any] = {"by_hand": "deny", "by_hand_seconds": 90, "fail_open": True, "models_scope": "gpt-*"}
    running = dict(rule_of(policy("tool_rule", {}, time_limit=5, **fields)).running)
    assert running["A person decides"] == "within 90 s, then deny"
    assert running["If it fails"] == "allows; time limit 5 s"
    assert running["Scope"] == "models gpt-*"


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        ("request_rule", {}, "nobody is asked: requests are denied at once"),
        ("redact", {"parameters": {"in": ["request"]}}, "nobody is asked: requests are denied at once"),
        ("cel_rule", {"parameters": {"on": ["request"]}}, "nobody is asked: requests are denied at once"),
        ("llm_judge", {"parameters": {"on": ["tool_results"]}}, "nobody is asked: requests are denied at once"),
        ("limits", {"parameters": {"key": {"cost": 5}}}, "nobody is asked: requests are denied at once"),
        ("limits", {"parameters": {"stream": {"cost": 5}}}, "within 90 s, then deny"),
        ("llm_judge", {"parameters": {"on": ["request", "content"]}}, "within 90 s, then deny"),
        ("redact", {"fail_open": True}, "nobody is asked: what it finds is replaced at once"),
        ("redact", {}, "if it fails: within 90 s, then deny"),
        ("text_rule", {}, "if it fails: within 90 s, then deny"),
        ("text_rule", {"parameters": {"action": "halt"}}, "within 90 s, then deny"),
    ],
)
def test_a_kind_that_asks_nobody_about_what_it_finds_says_so(kind: str, fields: dict[str, Any], words: str) -> None:
    rule = rule_of(policy(kind, **{"parameters": {}, "by_hand": "deny", "by_hand_seconds": 90} | fields))
    assert dict(rule.running)["A person decides"] == words
