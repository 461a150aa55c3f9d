"""What agents ask for themselves, in each format, and what a person may say that looks like it."""

from typing import Any

import pytest

from streamviz.proxy.asides import is_aside

SUGGEST = "[SUGGESTION MODE: Suggest what the user might naturally type next.]"


def _said(turns: str, *texts: str) -> list[dict[str, Any]]:
    content = "parts" if turns == "contents" else "content"
    return [{"role": "user", content: [{"type": "text", "text": text}]} for text in texts]


@pytest.mark.parametrize("turns", ["messages", "input", "contents"])
@pytest.mark.parametrize("texts", [("Mend it", SUGGEST), ("<session>\nMend it\n</session>",), ("quota",)])
def test_an_agent_asks_for_itself(turns: str, texts: tuple[str, ...]) -> None:
    assert is_aside({turns: _said(turns, *texts)}, turns)


def test_claude_code_asks_for_a_summary_beside_a_result() -> None:
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "two"}
    asks = {"type": "text", "text": "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\n- Do NOT use Read"}
    request_of = {"messages": [*_said("messages", "Mend it"), {"role": "user", "content": [result, asks]}]}
    assert is_aside({**request_of, "tools": [{"name": "Read"}]}, "messages")


@pytest.mark.parametrize(
    "request_of",
    [
        {"messages": [{"role": "user", "content": "quota"}], "tools": [{"name": "Bash"}]},
        {"messages": [{"role": "user", "content": "quota of the disk"}]},
        {"messages": _said("messages", SUGGEST, "Why do you say that?")},
        {"messages": [{"role": "user", "content": f"What is {SUGGEST}"}]},
        {"messages": [{"role": "system", "content": "quota"}, {"role": "user", "content": "Hi"}]},
        {"messages": "quota"},
        {"messages": [None, 7, {"role": 7, "content": {}}, {"content": [None]}]},
        {},
    ],
)
def test_a_person_asks(request_of: dict[str, Any]) -> None:
    assert not is_aside(request_of, "messages")
