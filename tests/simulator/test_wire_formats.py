"""Each scenario in each format, over real HTTP, read by the official SDKs."""

import http.client
import json
from collections.abc import Iterator

import anthropic
import openai
import pytest
from anthropic.types import Message
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from streamviz.simulator.asked import Asked
from streamviz.simulator.scenarios import SCENARIOS, write_script
from streamviz.simulator.steps import Part, fold
from tests.simulator.process import Simulator

BROKEN = {"error-midstream", "garbage", "disconnect", "no-finish"}
WHOLE = [name for name in SCENARIOS if name not in BROKEN and not name.startswith("error-")]
MODES = pytest.mark.parametrize("streaming", [True, False], ids=["stream", "whole"])
PROMPT = [{"role": "user", "content": "Hello"}]
CHAT_FINISH = {"stop": "stop", "length": "length", "tool_calls": "tool_calls", "refusal": "stop"}
MESSAGES_STOP = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "refusal": "refusal"}


@pytest.fixture
def chat(simulator: Simulator) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{simulator.url}/v1", api_key="sk-none", max_retries=0) as client:
        yield client


@pytest.fixture
def claude(simulator: Simulator) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=simulator.url, api_key="sk-ant-none", max_retries=0) as client:
        yield client


def model(scenario: str) -> str:
    return f"{scenario}?seed=11&seconds=0.01"


def said(scenario: str) -> list[Part]:
    """What the scenario says, according to its script."""
    return fold(write_script(Asked(scenario, seed=11), 11, 1, 1.0).steps)


def text_of(parts: list[Part], kind: str) -> str:
    return "".join(part.text for part in parts if part.kind == kind)


def calls_of(parts: list[Part]) -> list[tuple[str, str]]:
    return [(part.name, part.text) for part in parts if part.kind == "tool"]


def finish_of(scenario: str) -> str:
    return str(write_script(Asked(scenario), 11, 1, 1.0).finish_reason)


def complete_chat(client: openai.OpenAI, scenario: str, *, streaming: bool) -> ChatCompletion:
    if not streaming:
        return client.chat.completions.create(model=model(scenario), messages=PROMPT)
    options = {"include_usage": True}
    with client.chat.completions.stream(model=model(scenario), messages=PROMPT, stream_options=options) as stream:
        try:
            return stream.get_final_completion()
        except openai.LengthFinishReasonError as error:
            return error.completion


def complete_message(client: anthropic.Anthropic, scenario: str, *, streaming: bool) -> Message:
    if not streaming:
        return client.messages.create(model=model(scenario), messages=PROMPT, max_tokens=1000)
    with client.messages.stream(model=model(scenario), messages=PROMPT, max_tokens=1000) as stream:
        return stream.get_final_message()


def complete_response(client: openai.OpenAI, scenario: str, *, streaming: bool) -> Response:
    if not streaming:
        return client.responses.create(model=model(scenario), input="Hello")
    events = list(client.responses.create(model=model(scenario), input="Hello", stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    last = events[-1]
    assert last.type in {"response.completed", "response.incomplete"}
    return last.response


@MODES
@pytest.mark.parametrize("scenario", WHOLE)
def test_chat_completions_say_the_script(chat: openai.OpenAI, scenario: str, streaming: bool) -> None:
    completion = complete_chat(chat, scenario, streaming=streaming)
    parts = said(scenario)
    message = completion.choices[0].message
    assert (message.content or "") == text_of(parts, "content")
    assert (message.refusal or "") == text_of(parts, "refusal")
    assert (getattr(message, "reasoning_content", None) or "") == text_of(parts, "thinking")
    calls = [(call.function.name, call.function.arguments) for call in message.tool_calls or []]
    assert calls == calls_of(parts)
    assert completion.choices[0].finish_reason == CHAT_FINISH[finish_of(scenario)]
    assert completion.usage is not None
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens


@MODES
@pytest.mark.parametrize("scenario", WHOLE)
def test_messages_say_the_script(claude: anthropic.Anthropic, scenario: str, streaming: bool) -> None:
    message = complete_message(claude, scenario, streaming=streaming)
    parts = said(scenario)
    assert "".join(block.text for block in message.content if block.type == "text") == (
        text_of(parts, "content") + text_of(parts, "refusal")
    )
    assert "".join(block.thinking for block in message.content if block.type == "thinking") == text_of(
        parts, "thinking"
    )
    assert all(block.signature for block in message.content if block.type == "thinking")
    calls = [(block.name, block.input) for block in message.content if block.type == "tool_use"]
    assert calls == [(name, json.loads(arguments)) for name, arguments in calls_of(parts)]
    assert message.stop_reason == MESSAGES_STOP[finish_of(scenario)]
    assert message.usage.output_tokens > 0


@MODES
@pytest.mark.parametrize("scenario", WHOLE)
def test_responses_say_the_script(chat: openai.OpenAI, scenario: str, streaming: bool) -> None:
    response = complete_response(chat, scenario, streaming=streaming)
    parts = said(scenario)
    spoken = [part for item in response.output if item.type == "message" for part in item.content]
    assert response.output_text == text_of(parts, "content")
    assert "".join(part.refusal for part in spoken if part.type == "refusal") == text_of(parts, "refusal")
    thought = [item.summary[0].text for item in response.output if item.type == "reasoning"]
    assert "".join(thought) == text_of(parts, "thinking")
    calls = [(item.name, item.arguments) for item in response.output if item.type == "function_call"]
    assert calls == calls_of(parts)
    assert response.status == ("incomplete" if scenario == "length" else "completed")
    assert response.usage is not None
    assert response.usage.output_tokens > 0


@pytest.mark.parametrize("scenario", [name for name in WHOLE if name != "length"])
def test_the_responses_stream_helper_reads_it_too(chat: openai.OpenAI, scenario: str) -> None:
    """All but `length`: the helper knows only response.completed as an end."""
    with chat.responses.stream(model=model(scenario), input="Hello") as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert "".join(deltas) == final.output_text == text_of(said(scenario), "content")


def test_ids_are_the_same_whole_and_streamed(chat: openai.OpenAI, claude: anthropic.Anthropic) -> None:
    chats = [complete_chat(chat, "tools", streaming=streaming) for streaming in (True, False)]
    assert [call.id for call in chats[0].choices[0].message.tool_calls or []] == [
        call.id for call in chats[1].choices[0].message.tool_calls or []
    ]
    messages = [complete_message(claude, "tools", streaming=streaming) for streaming in (True, False)]
    assert messages[0].id == messages[1].id
    assert messages[0].content == messages[1].content
    responses = [complete_response(chat, "tools", streaming=streaming) for streaming in (True, False)]
    assert responses[0] == responses[1]


@pytest.mark.parametrize(
    ("scenario", "asks", "expected"),
    [
        ("content", None, False),
        ("content", {"include_usage": False}, False),
        ("content", {"include_usage": True}, True),
        ("usage-after-finish", None, True),
    ],
)
def test_chat_usage_comes_after_the_finish_when_asked_for(
    chat: openai.OpenAI, scenario: str, asks: dict[str, bool] | None, expected: bool
) -> None:
    options = {} if asks is None else {"stream_options": asks}
    chunks = list(chat.chat.completions.create(model=model(scenario), messages=PROMPT, stream=True, **options))
    if expected:
        *chunks, last = chunks
        assert last.choices == []
        assert last.usage is not None
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert all(chunk.usage is None for chunk in chunks)
    assert all("usage" in chunk.model_fields_set for chunk in chunks) is expected


def test_empty_content_stands_beside_tool_calls(chat: openai.OpenAI) -> None:
    chunks = chat.chat.completions.create(model=model("content-tools-empty"), messages=PROMPT, stream=True)
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert {delta.content for delta in deltas if delta.tool_calls} == {""}


def test_two_calls_come_in_one_chunk(chat: openai.OpenAI) -> None:
    chunks = chat.chat.completions.create(model=model("two-calls-one-chunk"), messages=PROMPT, stream=True)
    sizes = [len(chunk.choices[0].delta.tool_calls or []) for chunk in chunks]
    assert [size for size in sizes if size] == [2]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, "BadRequestError"),
        (401, "AuthenticationError"),
        (429, "RateLimitError"),
        (500, "InternalServerError"),
    ],
)
@MODES
def test_errors_before_any_stream_are_raised_by_the_sdks(
    chat: openai.OpenAI, claude: anthropic.Anthropic, status: int, error: str, streaming: bool
) -> None:
    name = f"error-{status}"
    calls = (
        (openai, lambda: chat.chat.completions.create(model=name, messages=PROMPT, stream=streaming)),
        (openai, lambda: chat.responses.create(model=name, input="Hello", stream=streaming)),
        (anthropic, lambda: claude.messages.create(model=name, messages=PROMPT, max_tokens=9, stream=streaming)),
    )
    for sdk, call in calls:
        with pytest.raises(getattr(sdk, error)) as raised:
            call()
        assert raised.value.status_code == status
        assert ("retry-after" in raised.value.response.headers) is (status == 429)
        assert "error" in raised.value.body or "message" in raised.value.body


def test_an_unknown_model_is_not_found(chat: openai.OpenAI, claude: anthropic.Anthropic) -> None:
    with pytest.raises(openai.NotFoundError):
        chat.chat.completions.create(model="gpt-4o", messages=PROMPT)
    with pytest.raises(openai.NotFoundError):
        chat.responses.create(model="gpt-4o", input="Hello")
    with pytest.raises(anthropic.NotFoundError) as raised:
        claude.messages.create(model="gpt-4o", messages=PROMPT, max_tokens=9)
    assert raised.value.body["error"]["type"] == "not_found_error"


@MODES
def test_an_error_in_midstream_is_raised_by_the_sdks(
    chat: openai.OpenAI, claude: anthropic.Anthropic, streaming: bool
) -> None:
    name = model("error-midstream")
    with pytest.raises(openai.APIError):
        list(chat.chat.completions.create(model=name, messages=PROMPT, stream=streaming))
    with pytest.raises(anthropic.APIStatusError):
        list(claude.messages.create(model=name, messages=PROMPT, max_tokens=9, stream=streaming))
    if not streaming:
        with pytest.raises(openai.InternalServerError):
            chat.responses.create(model=name, input="Hello")


def test_a_failed_response_says_so(simulator: Simulator) -> None:
    body = simulator.ask("openai_responses", model("error-midstream")).read()
    names = [line.partition(b" ")[2] for line in body.splitlines() if line.startswith(b"event:")]
    assert names[-2:] == [b"error", b"response.failed"]


def test_the_scenario_no_finish_just_ends(chat: openai.OpenAI, claude: anthropic.Anthropic) -> None:
    name = model("no-finish")
    chunks = list(chat.chat.completions.create(model=name, messages=PROMPT, stream=True))
    assert {chunk.choices[0].finish_reason for chunk in chunks} == {None}
    events = list(claude.messages.create(model=name, messages=PROMPT, max_tokens=9, stream=True))
    assert events[-1].type == "content_block_delta"
    last = list(chat.responses.create(model=name, input="Hello", stream=True))[-1]
    assert last.type == "response.output_text.delta"


def test_the_scenario_garbage_is_not_json(simulator: Simulator, wire_format: str) -> None:
    body = simulator.ask(wire_format, model("garbage")).read()
    data = [line[6:] for line in body.splitlines() if line.startswith(b"data: ")]
    assert sum(piece.startswith(b"<html>") for piece in data) == 1
    assert data[-1] == b"[DONE]" or json.loads(data[-1])["type"] in {"message_stop", "response.completed"}


def test_the_models_list_reads_in_both_sdks(chat: openai.OpenAI, claude: anthropic.Anthropic) -> None:
    assert [listed.id for listed in chat.models.list()] == list(SCENARIOS)
    assert [listed.id for listed in claude.models.list()] == list(SCENARIOS)


def test_count_tokens_grows_with_the_prompt(claude: anthropic.Anthropic) -> None:
    def count(text: str) -> int:
        messages = [{"role": "user", "content": text}]
        return claude.messages.count_tokens(model="content", messages=messages).input_tokens

    assert count("word " * 100) > count("word") > 0


def test_broken_answers_are_broken_when_whole_too(simulator: Simulator, wire_format: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        json.loads(simulator.ask(wire_format, model("garbage"), stream=False).read())
    with pytest.raises(http.client.IncompleteRead):
        simulator.ask(wire_format, model("disconnect"), stream=False).read()
