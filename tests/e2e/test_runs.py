"""Runs as clients see them: with the vendors' SDKs and with tools."""

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from tests.e2e.proxied import MESSAGES, Proxied, until
from tests.services import Streamviz

HEADERS = {"x-streamviz-executor": "reasoning"}
SAID = "I counted the words twice, once by sentence and once as a whole, and both counts agree."
CALLS = """
SELECT part, relation, outcome, usage->>'total_tokens' FROM records_stream
WHERE parent = (SELECT id FROM records_stream WHERE executor = 'reasoning' AND session_id =
    (SELECT id FROM records_session WHERE name = %s)) ORDER BY requested_at
"""


@pytest.fixture(scope="module")
def proxied(shared_server: Streamviz) -> Iterator[Proxied]:
    with Proxied(shared_server) as found:
        yield found


def calls_of(proxied: Proxied, session: str, most: int) -> list[tuple[Any, ...]]:
    """The calls of a session's only run, once `most` of them are over."""

    def look() -> list[tuple[Any, ...]]:
        rows = proxied.query(CALLS, session)
        return rows if len(rows) == most and all(row[2] for row in rows) else []

    found: list[tuple[Any, ...]] = until(look)
    return found


@pytest.mark.parametrize("steps", [1, 3, 10])
def test_the_openai_sdk_reads_a_run(proxied: Proxied, steps: int) -> None:
    session = f"run of {steps}"
    chunks = list(
        proxied.sdk.chat.completions.create(
            model=f"sim/reasoner?speed=inf&steps={steps}&seconds=0",
            messages=MESSAGES,
            stream=True,
            stream_options={"include_usage": True},
            extra_headers={**HEADERS, "x-session-id": session},
        )
    )
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == SAID
    assert len({chunk.id for chunk in chunks}) == 1
    calls = calls_of(proxied, session, 2 * steps)
    tools = [f"{part} {step}" for step in range(1, steps) for part in ("plan", "tools")]
    assert [call[0] for call in calls] == [*tools, f"plan {steps}", "answer"]
    assert {call[1:3] for call in calls} == {("step", "completed")}
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == sum(int(call[3]) for call in calls)


def test_both_sdks_read_runs_in_their_formats(proxied: Proxied) -> None:
    model = "sim/reasoner?speed=inf&steps=2&seconds=0"
    whole = proxied.sdk.chat.completions.create(model=model, messages=MESSAGES, extra_headers=HEADERS)
    assert whole.choices[0].message.content == SAID
    response = proxied.sdk.responses.create(model=model, input="Hello", extra_headers=HEADERS)
    assert ([item.type for item in response.output], response.output_text) == (["reasoning", "message"], SAID)
    with proxied.sdk.responses.stream(model=model, input="Hello", extra_headers=HEADERS) as events:
        assert events.get_final_response().output_text == SAID
    with anthropic.Anthropic(
        base_url=proxied.server.base_url, api_key=proxied.server.api_key, default_headers=HEADERS
    ) as sdk:
        message = sdk.messages.create(model=model, max_tokens=900, messages=MESSAGES)
        assert [block.type for block in message.content] == ["thinking", "text"]
        with sdk.messages.stream(model=model, max_tokens=900, messages=MESSAGES) as stream:
            assert stream.get_final_text() == SAID


def test_a_key_that_may_not_choose_is_refused(proxied: Proxied) -> None:
    def status(executor: str) -> int:
        body = {"model": "sim/content?speed=inf", "messages": MESSAGES}
        return proxied.post(body, x_streamviz_executor=executor).status

    proxied.query("UPDATE records_apikey SET may_choose_executor = false")
    try:
        until(lambda: status("reasoning") == 403)
    finally:
        proxied.query("UPDATE records_apikey SET may_choose_executor = true")
    until(lambda: status("x") == 400)


def test_a_route_names_its_executor(proxied: Proxied) -> None:
    proxied.query(
        "INSERT INTO records_route (name, target, base_url, credential, executor, parameters)"
        " VALUES ('thoughtful', 'custom_openai/reasoner?speed=inf&steps=5', %s, 'SIMULATED_KEY', 'reasoning', %s)",
        f"{proxied.simulator.url}/v1",
        json.dumps({"steps": 1}),
    )
    until(lambda: "thoughtful" in {model.id for model in proxied.sdk.models.list()})
    message = proxied.sdk.chat.completions.create(model="thoughtful", messages=MESSAGES).choices[0].message
    assert message.content == SAID
    assert message.model_extra["reasoning_content"].startswith("The question asks")
