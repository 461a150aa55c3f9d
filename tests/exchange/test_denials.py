"""Requests that are denied or cancelled for good: the error tells clients of each format not to retry."""

import json

import pytest

from streamviz.core.errors import UpstreamError
from tests.core.support import active
from tests.exchange.policies import AskAboutRequests, deny_requests, halt_calls
from tests.exchange.support import Play, event
from tests.exchange.test_questions import ALLOWED, DENIED

CREATED = event({"type": "response.created", "sequence_number": 0, "response": {"id": "r", "object": "response"}})
ITEM = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "rm", "arguments": "{}"}
CALL = (
    event({"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": ITEM}),
    event({"type": "response.output_item.done", "sequence_number": 2, "output_index": 0, "item": ITEM}),
)


@pytest.mark.parametrize(
    ("user_agent", "status"), [("codex_exec/0.169.0 (Debian 12)", 400), ("OpenAI/Python 3.54.0", 403)]
)
def test_codex_alone_gets_a_400_after_which_it_does_not_try_again(user_agent: str, status: int) -> None:
    play = Play("openai_responses", policies=[active(deny_requests())], user_agent=user_agent).asked().forwarded()
    assert f"respond {status}" in play.take()
    assert play.stream.status == status


@pytest.mark.parametrize("happens", ["denied late", "cancelled"])
def test_codex_is_told_in_a_stream_too_that_there_is_no_use_in_asking_again(happens: str) -> None:
    if happens == "cancelled":
        play = Play("openai_responses").opened().received(CREATED).happened("cancelled", "alice")
        code = "cancelled"
    else:
        play = Play("openai_responses", policies=[active(AskAboutRequests({}))]).asked().waited(5)
        play.answered(play.asks[0], DENIED).forwarded()
        code = "denied_by_policy"
    told = [json.loads(line[6:]) for line in play.sent.decode().splitlines() if line.startswith("data: ")]
    failed = told[-1]
    assert failed["type"] == "response.failed"
    assert failed["response"]["error"]["code"] == "invalid_prompt"
    assert [each["code"] for each in told if each["type"] == "error"] == [code]


@pytest.mark.parametrize(
    ("user_agent", "end"),
    [
        ("codex_exec/0.169.0 (Debian 12)", "failed"),
        ("factory-cli/0.215.0", "failed"),
        ("OpenAI/Python 3.54.0", "incomplete"),
    ],
)
def test_who_asks_again_for_an_incomplete_answer_is_told_that_a_halted_one_failed(user_agent: str, end: str) -> None:
    play = Play("openai_responses", policies=[active(halt_calls())], user_agent=user_agent).opened()
    play.received(CREATED, *CALL).ended()
    *_, last = [json.loads(line[6:]) for line in play.sent.decode().splitlines() if line.startswith("data: {")]
    assert last["type"] == f"response.{end}"
    assert last["response"]["status"] == end
    error = {"code": "invalid_prompt", "message": "[halted]"}
    assert last["response"]["error"] == (error if end == "failed" else None)
    assert play.stream.outcome == "halted"


@pytest.mark.parametrize(
    ("headers", "code"), [({"x-interaction-type": "conversation-user"}, "invalid_prompt"), ({}, "denied_by_policy")]
)
def test_copilot_alone_is_told_in_openais_words_what_is_final_as_it_asks_again_after_others(
    headers: dict[str, str], code: str
) -> None:
    play = Play(policies=[active(AskAboutRequests({}))], request_headers=headers).asked().waited(5)
    play.answered(play.asks[0], DENIED).forwarded()
    [told] = [json.loads(line[6:]) for line in play.sent.decode().splitlines() if line.startswith("data: {")]
    assert told["error"]["code"] == code
    assert told["error"]["type"] == "permission_error"


def test_what_is_final_comes_behind_the_beginning_of_a_message_as_vercels_sdk_asks_again_after_a_first_error() -> None:
    play = Play("anthropic_messages", policies=[active(AskAboutRequests({}))]).asked().waited(5)
    play.answered(play.asks[0], DENIED).forwarded()
    told = [line[7:] for line in play.sent.decode().splitlines() if line.startswith("event: ")]
    assert told == ["ping", "message_start", "error"]


def test_what_may_be_asked_again_is_the_first_that_is_told() -> None:
    play = Play("anthropic_messages", policies=[active(AskAboutRequests({}))]).asked().waited(5)
    play.answered(play.asks[0], ALLOWED).forwarded()
    play.happened("refused", UpstreamError(529, "overloaded", kind="overloaded_error"))
    told = [line[7:] for line in play.sent.decode().splitlines() if line.startswith("event: ")]
    assert told == ["ping", "error"]
