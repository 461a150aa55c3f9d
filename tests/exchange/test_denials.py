"""Requests that are denied or cancelled for good: the error tells clients of each format not to retry."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import JsonObject
from streamviz.core.policy import ActivePolicy
from streamviz.core.wire.translator import Translator
from tests.core.support import active, chunks, delta
from tests.exchange.policies import AskAboutRequests, deny_requests, halt_calls
from tests.exchange.support import EVENTS, Play, event
from tests.exchange.test_questions import ALLOWED, DENIED

CREATED = event({"type": "response.created", "sequence_number": 0, "response": {"id": "r", "object": "response"}})
ITEM = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "rm", "arguments": "{}"}
CALL = (
    event({"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": ITEM}),
    event({"type": "response.output_item.done", "sequence_number": 2, "output_index": 0, "item": ITEM}),
)
# The beginning of an answer in Anthropic's format.
MESSAGE = event(
    {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": []}}
)
TEXT = event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
SAID = event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I'll"}})


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


KIMI: dict[str, Any] = {"user_agent": "kimi-code-cli/2.1.0"}
AFFINITY: dict[str, Any] = {"request_headers": {"x-affinity": "8b657757-5519-fcbd-4a31-2a120c7aefcf"}}
VIBE: dict[str, Any] = {**AFFINITY, "user_agent": "python-httpx/0.28.1"}
OLDER_VIBE: dict[str, Any] = {**AFFINITY, "user_agent": "Mistral-Vibe/2.18.4"}
# With `backend = "mistral"`.
MISTRALS_VIBE: dict[str, Any] = {**AFFINITY, "user_agent": "mistral-client-python/Mistral-Vibe/2.18.4"}
# Another client that sends the header, as Mistral's API reads it.
OTHER: dict[str, Any] = {**AFFINITY, "user_agent": "OpenAI/JS 6.1.0"}


@pytest.mark.parametrize(
    ("who", "end"),
    [
        ({"user_agent": "codex_exec/0.169.0 (Debian 12)"}, "failed"),
        ({"user_agent": "factory-cli/0.215.0"}, "failed"),
        (VIBE, "failed"),
        (OLDER_VIBE, "failed"),
        (MISTRALS_VIBE, "failed"),
        (OTHER, "incomplete"),
        ({"user_agent": "OpenAI/Python 3.54.0"}, "incomplete"),
    ],
)
def test_who_asks_again_for_an_incomplete_answer_is_told_that_a_halted_one_failed(
    who: dict[str, Any], end: str
) -> None:
    play = Play("openai_responses", policies=[active(halt_calls())], **who).opened()
    play.received(CREATED, *CALL).ended()
    *_, last = [json.loads(line[6:]) for line in play.sent.decode().splitlines() if line.startswith("data: {")]
    assert last["type"] == f"response.{end}"
    assert last["response"]["status"] == end
    error = {"code": "invalid_prompt", "message": "[halted]"}
    assert last["response"]["error"] == (error if end == "failed" else None)
    assert play.stream.outcome == "halted"


def filtered(user_agent: str, *, is_translated: bool, policies: Sequence[ActivePolicy] = ()) -> tuple[Play, Any]:
    """A play of an answer that its provider's filter ended, and the last event that the client gets."""
    translator = Translator("openai_chat", "openai_responses")
    answer = [*map(translator.take, chunks(delta(content="Well"), delta(finish="content_filter"))), translator.end()]
    play = Play("openai_responses", policies, user_agent=user_agent).asked().forwarded(is_translated=is_translated)
    play.happened("answered", 200, EVENTS).received(*answer).ended()
    return play, [json.loads(line[6:]) for line in play.sent.decode().splitlines() if line.startswith("data: {")][-1]


@pytest.mark.parametrize("policies", [[], [active(halt_calls())]])
@pytest.mark.parametrize("user_agent", ["codex_exec/0.169.0 (Debian 12)", "factory-cli/0.215.0"])
def test_who_asks_again_for_an_incomplete_answer_is_told_that_one_failed_which_another_vendors_filter_ended(
    user_agent: str, policies: list[ActivePolicy]
) -> None:
    play, last = filtered(user_agent, is_translated=True, policies=policies)
    assert (last["type"], last["response"]["status"]) == ("response.failed", "failed")
    assert last["response"]["error"]["code"] == "invalid_prompt"
    assert last["response"]["output"][0]["content"][0]["text"] == "Well"
    assert (play.stream.outcome, play.stream.state.finish_reason) == ("completed", "incomplete")


@pytest.mark.parametrize(("user_agent", "is_translated"), [("codex_exec/0.169.0", False), ("OpenAI/Python 3.5", True)])
def test_other_clients_and_whoever_calls_openai_itself_get_a_filtered_end_as_it_is(
    user_agent: str, is_translated: bool
) -> None:
    _, last = filtered(user_agent, is_translated=is_translated)
    assert last["type"] == "response.incomplete"
    assert last["response"]["incomplete_details"] == {"reason": "content_filter"}


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


@pytest.mark.parametrize("who", [KIMI, VIBE, MISTRALS_VIBE], ids=["kimi", "vibe", "mistral's vibe"])
def test_who_asks_again_after_any_error_of_chat_gets_a_final_one_as_an_answer(who: dict[str, Any]) -> None:
    play = Play(policies=[active(AskAboutRequests({}))], **who).asked().waited(5)
    play.answered(play.asks[0], DENIED).forwarded()
    said, ended = [json.loads(line[6:])["choices"][0] for line in play.sent.decode().splitlines() if "{" in line]
    assert "as said" in said["delta"]["content"]
    assert ended["finish_reason"] == "content_filter"
    assert play.sent.endswith(b"data: [DONE]\n\n")
    assert play.stream.status == 200


def test_kimi_gets_a_final_error_as_an_answer_of_messages_too() -> None:
    play = Play("anthropic_messages", **KIMI).opened()
    play.received(MESSAGE, TEXT, SAID).happened("cancelled", "alice")
    *_, stopped, begun, said, ended, reason, last = [
        json.loads(line[6:]) for line in play.sent.decode().splitlines() if line.startswith("data: ")
    ]
    assert [stopped["index"], begun["index"], said["index"], ended["index"]] == [0, 1, 1, 1]
    assert said["delta"]["text"].startswith("[")
    assert (reason["delta"]["stop_reason"], last["type"]) == ("refusal", "message_stop")


@pytest.mark.parametrize("happens", ["denied late", "cancelled"])
def test_kimi_gets_a_final_error_as_an_answer_of_responses_too(happens: str) -> None:
    if happens == "cancelled":
        play = Play("openai_responses", **KIMI).opened().received(CREATED).happened("cancelled", "alice")
    else:
        play = Play("openai_responses", policies=[active(AskAboutRequests({}))], **KIMI).asked().waited(5)
        play.answered(play.asks[0], DENIED).forwarded()
    told = [json.loads(line[6:]) for line in play.sent.decode().splitlines() if line.startswith("data: {")]
    assert not {"error", "response.failed"} & {each["type"] for each in told}
    assert told[-1]["type"] == "response.incomplete"
    assert told[-1]["response"]["incomplete_details"] == {"reason": "content_filter"}
    [item] = told[-1]["response"]["output"]
    assert item["content"][0]["text"].startswith("[")


@pytest.mark.parametrize(
    ("client", "kept"),
    [
        ("genai-js/0.24.1", b"data: {}\n\n"),
        ("genkit-node/1.0.0 gl-node/24.1.0 genai-js/0.24.1", b"data: {}\n\n"),
        ("google-genai-sdk/3.4.0", b"\n\n"),
    ],
)
def test_googles_first_sdk_for_node_gets_nothing_but_events_and_a_final_error_as_an_answer(
    client: str, kept: bytes
) -> None:
    policies = [active(AskAboutRequests({}))]
    play = Play("gemini", policies=policies, request_headers={"x-goog-api-client": client}).asked().waited(5)
    assert play.sent == kept
    play.answered(play.asks[0], DENIED).forwarded()
    told = json.loads(play.sent.removeprefix(kept).removeprefix(b"data: "))
    if "genai-js" in client:
        [candidate] = told["candidates"]
        assert candidate["finishReason"] == "SAFETY"
        assert "as said" in candidate["content"]["parts"][0]["text"]
    else:
        assert told["error"]["code"] == 403


def test_the_words_come_after_what_kimi_has_of_an_answer_of_responses() -> None:
    message: JsonObject = {"type": "message", "id": "m", "role": "assistant", "content": []}
    part: JsonObject = {"type": "output_text", "text": "", "annotations": []}
    play = Play("openai_responses", **KIMI).opened()
    play.received(
        CREATED,
        event({"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": message}),
        event({"type": "response.content_part.added", "output_index": 0, "content_index": 0, "part": part}),
        event({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Well"}),
    )
    play.happened("cancelled", "alice")
    told = [json.loads(line[6:]) for line in play.sent.decode().splitlines() if line.startswith("data: {")]
    ended = [each["item"] for each in told if each["type"] == "response.output_item.done"]
    assert [(item["status"], item["content"][0]["text"][:4]) for item in ended] == [
        ("incomplete", "Well"),
        ("completed", "[The"),
    ]


def test_vibe_reads_errors_of_messages() -> None:
    play = Play("anthropic_messages", **VIBE).opened()
    play.received(MESSAGE, TEXT, SAID).happened("cancelled", "alice")
    assert "event: error" in play.sent.decode()


def test_another_client_that_sends_vibes_header_gets_an_error_of_chat() -> None:
    play = Play(policies=[active(AskAboutRequests({}))], **OTHER).asked().waited(5)
    play.answered(play.asks[0], DENIED).forwarded()
    assert b'"error"' in play.sent


def test_who_asks_again_gets_an_error_that_is_not_final_as_everybody_does() -> None:
    play = Play(**KIMI, policies=[active(AskAboutRequests({}))]).asked().waited(5)
    play.answered(play.asks[0], ALLOWED).forwarded()
    play.happened("refused", UpstreamError(529, "overloaded", kind="overloaded_error"))
    assert b'"error"' in play.sent


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
