"""The starter policies on real agents' calls: how many harmful ones they stop, and harmless ones they leave alone.

The calls are in `corpus/`, one JSON object per line: the agent, the tool, its arguments. Keys and tokens are replaced
by their names in braces, for which made-up ones are substituted.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from streamviz.core.blocks import ToolCallStreamBlock
from streamviz.core.verdicts import Decision
from streamviz.policies import build
from streamviz.records.migrations._starters import STARTERS
from tests.policies.support import block, context

CORPUS = Path(__file__).parent / "corpus"
_MIXED = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY"
SECRETS = {
    "openai": f"sk-proj-{_MIXED * 3}",
    "anthropic": f"sk-ant-api03-{_MIXED * 2}",
    "aws": f"AKIA{_MIXED[:16].upper()}",
    "github": f"ghp_{_MIXED}{_MIXED[:4]}",
    "github fine": f"github_pat_{_MIXED}{_MIXED}",
    "gitlab": f"glpat-{_MIXED[:20]}",
    "slack": f"xoxb-123456789012-{_MIXED}",
    "google": f"AIza{_MIXED}{_MIXED[:3]}",
    "stripe": f"sk_live_{_MIXED}",
    "huggingface": f"hf_{_MIXED}{_MIXED[:2]}",
    "npm": f"npm_{_MIXED}{_MIXED[:4]}",
    "sendgrid": f"SG.{_MIXED[:22]}.{_MIXED}{_MIXED[:11]}",
    "groq": f"gsk_{_MIXED}{_MIXED[:20]}",
    "web token": f"eyJ{_MIXED}.eyJ{_MIXED}.{_MIXED}",
    "private key": "-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----",
}
OBJECT = {"type": "object"}
# Tools that are offered with a schema; those that the corpus says were not offered are not.
SCHEMAS: dict[str, Any] = {
    "Read": {"type": "object", "required": ["file_path"], "properties": {"file_path": {"type": "string"}}},
    "mcp__github__create_issue": {"type": "object", "required": ["owner", "repo", "title"]},
}
NOT_OFFERED = {"DeleteEverything", "not_offered"}
LABELLED = {"local_shell_call": "local_shell", "shell_call": "shell", "computer_call": "computer_use_preview"}


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPUS / f"{name}.jsonl").read_text().splitlines()]


@cache
def offered() -> list[dict[str, Any]]:
    """All tools of all agents."""
    calls = [call for name in ("harmless", "harmful") for call in read(name)]
    plain = {call["tool"] for call in calls if "label" not in call} - NOT_OFFERED
    tools = [{"type": "function", "name": name, "parameters": SCHEMAS.get(name, OBJECT)} for name in sorted(plain)]
    tools += [{"type": "custom", "name": "apply_patch"}, *({"type": kind} for kind in LABELLED.values())]
    return [{**tool, "name": tool["name"]} if "name" in tool else tool for tool in tools]


def filled(text: str) -> str:
    for name, secret in SECRETS.items():
        text = text.replace("{" + name + "}", secret)
    return text


def called(call: dict[str, Any]) -> ToolCallStreamBlock:
    made = block(filled(call.get("text") or json.dumps(call["arguments"])), name=call["tool"])
    assert isinstance(made, ToolCallStreamBlock)
    made.label = call.get("label", "")
    return made


POLICIES = {
    "shell-guard": build(STARTERS["shell-guard"]["kind"], STARTERS["shell-guard"]["parameters"]),
    "secret-leak": build(STARTERS["secret-leak"]["kind"], STARTERS["secret-leak"]["parameters"]),
    "schema-check": build("tool_schema", {}),
}


def kept_back(call: dict[str, Any]) -> list[str]:
    """The starters that do not let a call through unchanged."""
    request = context({"tools": offered()}, "openai_responses")
    made = called(call)
    found = []
    for name, policy in POLICIES.items():
        verdict = policy.on_block_complete(made, request)
        assert verdict is None or hasattr(verdict, "decision")
        if verdict is not None and verdict.decision is not Decision.ALLOW:
            found.append(name)
    return found


def test_there_are_300_harmless_and_300_harmful_calls_of_all_agents() -> None:
    for name in ("harmless", "harmful"):
        calls = read(name)
        assert len(calls) == 300
        assert len({json.dumps(call, sort_keys=True) for call in calls}) == 300
        assert len({call["agent"] for call in calls}) == 14


# The figures in docs/policies.md.
HARMLESS_ALLOWED = 300
HARMFUL_DENIED = 300


def test_harmless_calls_are_left_alone() -> None:
    wrong = {json.dumps(call): by for call in read("harmless") if (by := kept_back(call))}
    assert (300 - len(wrong), wrong) == (HARMLESS_ALLOWED, {})


def test_harmful_calls_are_kept_back() -> None:
    missed = [call for call in read("harmful") if not kept_back(call)]
    assert (300 - len(missed), missed) == (HARMFUL_DENIED, [])


@pytest.mark.parametrize(
    "text",
    [
        "Write to dev@example.com or call 192.168.0.1",
        "<div class='sk-fading-circle sk-cube-grid-animation'>",
        "const key = 'sk-your-api-key-goes-here-please'",
        "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "task-9fceb02d0ae598e95dc970b74767f19372d61af8",
        "hf_model_name_that_is_quite_long_indeed_yes",
        "sv-component-with-a-very-long-class-name-that-is-43x",
        "version: 4242 4242 4242 4242",
    ],
)
def test_addresses_and_code_are_no_secrets(text: str) -> None:
    made = block(json.dumps({"content": text}), name="Write")
    verdict = POLICIES["secret-leak"].on_block_complete(made, context())
    assert verdict is not None
    assert verdict.decision is Decision.ALLOW


@pytest.mark.parametrize("name", SECRETS)
def test_real_shapes_are_secrets(name: str) -> None:
    made = block(json.dumps({"content": f"It is {SECRETS[name]}."}), name="Write")
    verdict = POLICIES["secret-leak"].on_block_complete(made, context())
    assert verdict is not None
    assert verdict.decision is Decision.REPLACE
