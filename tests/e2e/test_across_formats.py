"""Agents on another vendor's model: five tool calls and an answer, for each pair of formats."""

import json
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import openai
import pytest

from tests.clients.provider import ANSWER, STEPS, THOUGHT
from tests.e2e.proxied import Proxied, until
from tests.services import Program, Streamviz, clean_environment, free_port

ROUTE = "INSERT INTO records_route (name, target, base_url, credential) VALUES (%s, %s, %s, '')"
QUESTION = "Do five steps"
PARAMETERS: Any = {"type": "object", "properties": {"command": {"type": "string"}}}
STREAMS = """
SELECT outcome, input_tokens, cache_read_tokens, left_out, session_id
FROM records_stream WHERE requested_model = %s AND wire_format = %s AND outcome <> '' ORDER BY requested_at
"""


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def provider() -> Iterator[tuple[Program, int]]:
    """The provider of both vendors' models, and its port."""
    port = free_port()
    started = Program([sys.executable, "-m", "tests.clients.provider", str(port)], clean_environment())
    until(lambda: _listens(port))
    yield started, port
    started.process.terminate()
    started.wait()


@pytest.fixture(scope="module")
def proxied(shared_server: Streamviz, provider: tuple[Program, int]) -> Iterator[Proxied]:
    _, port = provider
    with Proxied(shared_server) as found:
        found.query(ROUTE, "gpt", "openai/scripted-1", f"http://127.0.0.1:{port}/v1")
        found.query(ROUTE, "claude", "anthropic/scripted-1", f"http://127.0.0.1:{port}")
        found.query(ROUTE, "thinker", "anthropic/claude-sonnet-4-5", f"http://127.0.0.1:{port}")
        known = found.sdk.models.list
        until(lambda: {"gpt", "claude", "thinker"} <= {model.id for model in known()})
        yield found


def chat(proxied: Proxied, model: str) -> tuple[list[str], str, str]:
    """The commands that a chat client is asked to run, the thinking it sees, and the answer it gets."""
    tools: Any = [{"type": "function", "function": {"name": "look", "parameters": PARAMETERS}}]
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    commands, thought = list[str](), ""
    while True:
        habits: Any = {"seed": 1, "presence_penalty": 0, "store": False, "user": "somebody"}
        with proxied.sdk.chat.completions.stream(model=model, messages=messages, tools=tools, **habits) as stream:
            for event in stream:
                if event.type == "chunk":
                    thought += "".join(getattr(c.delta, "reasoning_content", "") or "" for c in event.chunk.choices)
            answer = stream.get_final_completion().choices[0].message
        messages.append(answer.model_dump(exclude_none=True))
        if not answer.tool_calls:
            return commands, thought, answer.content or ""
        for call in answer.tool_calls:
            commands.append(json.loads(call.function.arguments)["command"])
            messages.append({"role": "tool", "tool_call_id": call.id, "content": "done"})


def messages(proxied: Proxied, model: str) -> tuple[list[str], str, str]:
    """The same for a client of Anthropic's messages, with the extra fields that Claude Code sends."""
    server = proxied.server
    sdk = anthropic.Anthropic(api_key=server.api_key, base_url=server.base_url, max_retries=0)
    given: list[Any] = [{"role": "user", "content": [{"type": "text", "text": QUESTION, "cache_control": CACHED}]}]
    habits: Any = {"thinking": {"type": "adaptive"}, "extra_body": {"context_management": {"edits": []}}}
    tools: Any = [{"name": "look", "input_schema": PARAMETERS}]
    commands, thought = list[str](), ""
    while True:
        with sdk.messages.stream(model=model, max_tokens=2_000, messages=given, tools=tools, **habits) as stream:
            answer = stream.get_final_message()
        thought += "".join(part.thinking for part in answer.content if part.type == "thinking")
        calls = [part for part in answer.content if part.type == "tool_use"]
        given.append({"role": "assistant", "content": [part.model_dump(exclude_none=True) for part in answer.content]})
        if not calls:
            return commands, thought, "".join(part.text for part in answer.content if part.type == "text")
        commands += [str(call.input["command"]) for call in calls]
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": "done"} for call in calls]
        given.append({"role": "user", "content": results})


def responses(proxied: Proxied, model: str, reasoning: Any = None) -> tuple[list[str], str, str]:
    """The same for a client of OpenAI's responses, with the extra fields that Codex sends."""
    given: list[Any] = [{"role": "user", "content": QUESTION}]
    tools: Any = [
        {"type": "function", "name": "look", "parameters": PARAMETERS, "strict": False},
        {"type": "web_search"},
    ]
    habits: Any = {
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": f"run-{model}",
        "reasoning": reasoning or {"summary": "auto"},
        "extra_body": {"client_metadata": {"turn": "1"}},
    }
    commands, thought = list[str](), ""
    while True:
        with proxied.sdk.responses.stream(model=model, input=given, tools=tools, **habits) as stream:
            for event in stream:
                thought += event.delta if event.type == "response.reasoning_summary_text.delta" else ""
            answer = stream.get_final_response()
        given += [item.model_dump(exclude_none=True) for item in answer.output]
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            return commands, thought, answer.output_text
        commands += [json.loads(call.arguments)["command"] for call in calls]
        given += [{"type": "function_call_output", "call_id": call.call_id, "output": "done"} for call in calls]


CACHED: Any = {"type": "ephemeral"}
AGENTS: dict[str, Callable[[Proxied, str], tuple[list[str], str, str]]] = {
    "openai_chat": chat,
    "anthropic_messages": messages,
    "openai_responses": responses,
}


@pytest.mark.parametrize("model", ["gpt", "claude"])
@pytest.mark.parametrize("wire_format", AGENTS)
def test_a_task_of_five_steps(proxied: Proxied, wire_format: str, model: str) -> None:
    commands, thought, answer = AGENTS[wire_format](proxied, model)
    assert commands == [f"echo step {number}" for number in range(1, STEPS + 1)]
    assert (thought, answer) == (THOUGHT * (STEPS + 1), ANSWER)
    streams = until(lambda: len(found := proxied.query(STREAMS, model, wire_format)) == STEPS + 1 and found)
    assert {stream[:3] for stream in streams} == {("completed", 1000, 800)}
    # If a turn arrives before its parent is known, it is linked once it is stored.
    until(lambda: len({stream[4] for stream in proxied.query(STREAMS, model, wire_format)}) == 1)


def test_a_responses_client_gives_claude_its_thinking_back_as_it_was_signed(
    proxied: Proxied, provider: tuple[Program, int]
) -> None:
    commands, *_ = responses(proxied, "thinker", {"effort": "low", "summary": "auto"})
    assert len(commands) == STEPS
    asked = [json.loads(line)["body"] for line in provider[0].output().splitlines() if line.startswith("{")]
    turns = [body for body in asked if body["model"] == "claude-sonnet-4-5"]
    assert [body["thinking"]["type"] for body in turns] == ["enabled"] * (STEPS + 1)
    said = [message["content"] for message in turns[-1]["messages"] if message["role"] == "assistant"]
    thought = {"type": "thinking", "thinking": THOUGHT, "signature": "c2lnbmVk"}
    assert [parts[0] for parts in said] == [thought] * STEPS


def test_what_was_left_out_is_on_the_record(proxied: Proxied) -> None:
    responses(proxied, "claude")
    [*_, (*_, left_out, _)] = proxied.query(STREAMS, "claude", "openai_responses")
    assert {"client_metadata", "prompt_cache_key", "store", "tool web_search"} <= set(left_out.split(", "))


def test_what_would_change_the_answer_is_refused_in_the_clients_words(proxied: Proxied) -> None:
    with pytest.raises(openai.BadRequestError, match="`presence_penalty` changes the answer"):
        proxied.sdk.chat.completions.create(
            model="claude", messages=[{"role": "user", "content": QUESTION}], presence_penalty=1.5
        )
