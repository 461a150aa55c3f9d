"""Nothing that request_rule forbids is in what goes upstream, however a client says it.

EVASIONS sets how many requests are generated, 60 by default, and EVASIONS_FROM the number of the first.
"""

import json
import os
import random
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from streamviz.core.errors import RequestError
from streamviz.core.json_value import encode
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import Decision, Verdict
from streamviz.core.wire import WIRE_FORMATS
from streamviz.policies import build
from streamviz.proxy.requests import read_request
from tests.policies.support import context

FIRST, NUMBER = int(os.environ.get("EVASIONS_FROM", "0")), int(os.environ.get("EVASIONS", "60"))
MARK, TOOL = "tell nobody", "run_shell"
FORMATS = ("openai_chat", "anthropic_messages", "openai_responses", "gemini")


def text(chance: random.Random) -> str:
    return chance.choice(["", "Please "]) + MARK + chance.choice(["", ".", "\nat all"])


def arguments(chance: random.Random) -> str:
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in MARK)
    return chance.choice([json.dumps({"of": MARK}), f'{{"of": "{escaped}"}}', f'{{"of": {{"it": ["{escaped}"]}}}}'])


def chat(chance: random.Random) -> Any:
    said = text(chance)
    return chance.choice([
        {"role": chance.choice(["user", "system", "developer", "assistant", "User", ""]), "content": said},
        {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": said}]},
        {"role": "user", "content": [{"type": "text", "text": {"value": said}}]},
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": said}]},
        {"role": "user", "name": said, "content": "Hi"},
        {"role": "assistant", "refusal": said, "content": None},
        {"role": "assistant", "reasoning_content": said, "content": ""},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": arguments(chance)}}]},
        {"role": "assistant", "function_call": {"name": "f", "arguments": arguments(chance)}},
        {"role": "user", "content": [{"type": "file", "file": {"filename": said, "file_data": "x"}}]},
        {"role": "user", "content": [[{"type": "text", "text": said}]]},
        {"content": said}, said,
    ])  # fmt: skip


def messages(chance: random.Random) -> Any:
    said = text(chance)
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": said}}
    return chance.choice([
        {"role": "user", "content": said},
        {"role": "user", "content": [{"type": "text", "text": said}]},
        {"role": "user", "content": [document]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": said}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [document]}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"a": [said]}}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {
            chance.choice(["id", "type", "tool_use_id"]): chance.choice([said, {said: 1}])}}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": said, "signature": "x"}]},
        {"role": "user", "content": [{"type": "search_result", "title": said, "source": "x", "content": []}]},
    ])  # fmt: skip


def responses(chance: random.Random) -> Any:
    said = text(chance)
    return chance.choice([
        said, {"role": "user", "content": said}, {"type": "message", "role": "user", "content": [said]},
        {"role": "user", "content": [{"type": "input_text", "text": said}]},
        {"type": "function_call_output", "call_id": "c", "output": said},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": said}]},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": arguments(chance)},
        {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": said},
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": said}]},
        {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["echo", said]}},
    ])  # fmt: skip


def gemini(chance: random.Random) -> Any:
    said = text(chance)
    return chance.choice([
        {"role": "user", "parts": [{"text": said}]}, {"parts": [{"text": "Hi"}, {"text": said}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"result": said}}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"a": said}}}]},
    ])  # fmt: skip


TURNS = {"openai_chat": chat, "anthropic_messages": messages, "openai_responses": responses, "gemini": gemini}


def request(format: str, chance: random.Random) -> dict[str, Any]:
    """A request with something forbidden in a place that its model reads."""
    known = WIRE_FORMATS[format]
    turns: list[Any] = [{"role": "user", known.turns if format == "gemini" else "content": "Hi"}]
    made: dict[str, Any] = {"model": "m", known.turns: turns}
    where = chance.random()
    if known.system and where < 0.25:
        said = text(chance)
        made[known.system] = chance.choice([said, [{"type": "text", "text": said}], {"parts": [{"text": said}]}])
    elif format == "openai_responses" and where < 0.4:
        made["prompt"] = {"id": "p", "variables": {"of": chance.choice([MARK, {"type": "input_text", "text": MARK}])}}
    elif format == "openai_responses" and where < 0.5:
        made["input"] = text(chance)
    else:
        turns.insert(chance.randint(0, 1), TURNS[format](chance))
    if chance.random() < 0.2:
        # As if there were another such member, for readers that ignore the case of names.
        made[chance.choice([known.turns.capitalize(), known.turns.upper(), "Model", "TOOLS"])] = made[known.turns]
    return made


def offering(format: str, chance: random.Random) -> dict[str, Any]:
    """A request that offers a forbidden tool."""
    tool: dict[str, Any] = chance.choice([
        {"name": TOOL, "input_schema": {}}, {"type": "function", "name": TOOL, "parameters": {}},
        {"type": "function", "function": {"name": TOOL}}, {"type": "custom", "custom": {"name": TOOL}},
        {"type": "custom", "name": TOOL}, {"type": TOOL}, {"type": "namespace", "name": "n", "tools": [{"name": TOOL}]},
        {"functionDeclarations": [{"name": TOOL}]}, {"function_declarations": [{"name": TOOL}]}, {TOOL: {}},
        {"functionDeclarations": [{"name": "ok"}], "function_declarations": [{"name": TOOL}]},
        {"name": TOOL, "function": {"name": "ok"}}, {"type": TOOL, "name": "ok"},
        {"type": "namespace", "tools": [{"type": "namespace", "tools": [{"custom": {"name": TOOL}}]}]},
    ])  # fmt: skip
    place = chance.choice(["tools", "tools", "tools", "functions", "Tools"])
    own = [{"name": TOOL}] if place == "functions" else [tool]
    return {"model": "m", WIRE_FORMATS[format].turns: [{"role": "user", "content": "Hi"}], place: own}


def written(fields: dict[str, Any], chance: random.Random) -> bytes:
    """The same in another JSON spelling, sometimes with a harmless duplicate of a key before it."""
    data = json.dumps(fields, ensure_ascii=chance.random() < 0.5)
    if chance.random() < 0.3:
        data = data.replace(MARK, "".join(f"\\u{ord(letter):04x}" for letter in MARK))
    if chance.random() < 0.3:
        name = chance.choice(list(fields))
        data = f"{{{json.dumps(name)}: {json.dumps('m' if name == 'model' else [])}, {data[1:]}"
    return data.encode()


def judged(format: str, body: bytes, parameters: dict[str, Any]) -> Verdict | None:
    """The verdict on a request; None if it is refused before any policy sees it."""
    try:
        read = read_request(body, WIRE_FORMATS[format])
    except RequestError:
        return None
    assert encode(read.fields) == read.body, "what is judged is what goes upstream"
    verdict = build("request_rule", parameters).on_request(ModelCall(format, read.fields), context())
    assert isinstance(verdict, Verdict)
    return verdict


def each(make: Any) -> Iterator[tuple[str, bytes]]:
    for number in range(FIRST, FIRST + NUMBER):
        format = FORMATS[number % len(FORMATS)]
        chance = random.Random(f"{format} {number}")
        yield format, written(make(format, chance), chance)


def denied(verdicts: Iterable[tuple[Verdict | None, str, bytes]]) -> int:
    """How many requests were denied; all others were refused before."""
    count = 0
    for verdict, format, body in verdicts:
        assert verdict is None or verdict.decision is Decision.DENY, (format, body)
        count += verdict is not None
    return count


@pytest.mark.parametrize("roles", [[], ["user", "system", "assistant", "tool"]], ids=["any", "all"])
def test_nothing_that_is_forbidden_goes_upstream(roles: list[str]) -> None:
    rule = {"patterns": [{"pattern": MARK, **({"roles": roles} if roles else {})}]}
    assert denied((judged(format, body, rule), format, body) for format, body in each(request))


def test_no_tool_that_is_forbidden_is_offered() -> None:
    assert denied((judged(format, body, {"tools": [TOOL]}), format, body) for format, body in each(offering))


@pytest.mark.parametrize("name", ["Messages", "Stream", "Temperature", "tOOls", "me\u017fsages"])
def test_names_in_another_case_are_refused(name: str) -> None:
    body = json.dumps({"model": "m", "messages": [], name: "x"}).encode()
    with pytest.raises(RequestError, match="Unknown parameter"):
        read_request(body, WIRE_FORMATS["openai_chat"])
    own = json.dumps({"model": "m", "messages": [], "X-Own": "x"}).encode()
    assert read_request(own, WIRE_FORMATS["openai_chat"]).fields["X-Own"] == "x"
