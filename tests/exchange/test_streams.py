"""A streamed answer, event by event, and the commands for each."""

import json
from dataclasses import replace
from typing import Any

import pytest

from streamviz.core.bounds import Bounds
from streamviz.core.errors import InternalError, RequestError, UpstreamError
from streamviz.core.json_value import encode
from streamviz.core.policy import ActivePolicy
from streamviz.core.sse import events_in
from streamviz.exchange.recording import opened
from streamviz.policies import build
from tests.core.support import active, call, calls, delta, deny_names
from tests.exchange.policies import deny_requests, halt_calls
from tests.exchange.support import BOUNDS, EVENTS, JSON, Play, event

HI, STOP, DONE = event(delta(content="hi")), event(delta(finish="stop")), event("[DONE]")
GEMINI_STOP = event({"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}]})
FAULTS = {
    "openai_chat": event({"error": {"message": "overloaded", "type": "server_error"}}),
    "anthropic_messages": event({"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}}),
    "openai_responses": event({"type": "error", "code": "server_error", "message": "overloaded"}),
    "gemini": event({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}),
}
CALL, CALLED = event(calls(call(0, "c0", "rm", "{}"))), event(delta(finish="tool_calls"))


@pytest.mark.parametrize(
    ("requested", "provider", "told"),
    [
        ("replay/019a", "replay", ("fast", "m")),
        ("m", "openai", ()),
        ("dear", "openai", ("fast", "m")),
    ],
    ids=["a replay", "the client's own", "a policy's"],
)
def test_the_record_is_told_the_names_that_a_recording_or_a_policy_gave_the_model(
    requested: str, provider: str, told: tuple[str, ...]
) -> None:
    play = Play(provider=provider, requested_model=requested, upstream_model="o")
    play.context.request = play.context.request.called(("o", f"{provider}/o", "fast", "m", requested))
    assert opened(play.stream).other_names == told


def test_where_no_policy_acts_it_goes_through_read_by_read() -> None:
    play = Play().opened()
    assert play.take() == ["begin 200"]
    play.received(HI[:5])
    assert play.take() == []
    play.received(HI[5:])
    assert play.take() == ["record chunks, frames", f"send {HI.decode()}".rstrip()]
    play.received(STOP + DONE)
    assert play.take() == ["record chunks, frames", f"send {(STOP + DONE).decode()}".rstrip()]
    play.ended()
    assert play.take() == ["close upstream", "end", "finish completed"]


def test_a_denied_call_is_held_judged_and_replaced_before_anything_of_it_goes_out() -> None:
    play = Play(policies=[active(deny_names("rm"))]).opened()
    play.received(HI)
    play.take()
    play.received(CALL)
    assert play.take() == ["record chunks"]
    play.received(CALLED)
    [record, send] = play.take()
    assert record == "record chunks, verdicts, frames"
    assert "[not allowed]" in send
    assert b"rm" not in play.received(DONE).ended().sent
    assert play.stream.outcome == "completed"


def test_a_policy_that_halts_closes_upstream_before_the_client_is_told() -> None:
    play = Play(policies=[active(halt_calls())]).opened().received(HI, CALL)
    play.take()
    play.received(CALLED)
    [close, record, send] = play.take()
    assert (close, record) == ("close upstream", "record chunks, verdicts, frames")
    assert "[halted]" in send
    assert not play.exchange.is_reading
    assert play.ended().take() == ["end", "finish halted"]


def test_an_upstream_that_breaks_off_is_told_as_the_last_word() -> None:
    play = Play().opened().received(HI)
    play.take()
    play.ended(UpstreamError(502, "it broke off"))
    [close, record, send, finish] = play.take()
    assert (close, record, finish) == ("close upstream", "record frames", "finish upstream_error")
    assert send.startswith("send the last")
    assert "it broke off" in send
    assert play.stream.error == "it broke off"


@pytest.mark.parametrize("kind", ["redact", "text_rule"])
def test_what_policies_keep_from_clients_no_error_amid_a_stream_tells(kind: str) -> None:
    """On the translated lane an error has the provider's own words."""
    key = "AKIAQ3EGRJ2KZ7NVXW5P"
    policy = build(kind, {"patterns": [key]} if kind == "text_rule" else {})
    play = Play(policies=[active(policy)]).opened().received(HI)
    play.ended(UpstreamError(502, f"{key} may not do that"))
    assert key.encode() not in play.sent
    assert key not in play.stream.error
    assert b'"error"' in play.sent


@pytest.mark.parametrize("kind", ["text/event-stream", "Text/Event-Stream; Charset=UTF-8"])
def test_events_are_events_however_their_content_type_is_written(kind: str) -> None:
    play = Play().opened({"content-type": kind}).received(b"odd: line\n\n", HI, STOP, DONE).ended()
    assert (play.stream.outcome, [block.text for block in play.stream.state.blocks]) == ("completed", ["hi"])


@pytest.mark.parametrize(("format", "reads"), [("openai_chat", (HI, STOP, DONE)), ("gemini", (GEMINI_STOP,))])
def test_what_breaks_off_behind_the_last_word_is_no_error(format: str, reads: tuple[bytes, ...]) -> None:
    play = Play(format).opened().received(*reads).ended(UpstreamError(502, "it broke off"))
    assert play.take()[-2:] == ["end", "finish completed"]


@pytest.mark.parametrize("last_word", [FAULTS["openai_chat"], DONE], ids=["error", "end"])
def test_behind_a_last_word_nothing_goes_out_that_could_not_be_judged(last_word: bytes) -> None:
    """The event with too many blocks begins a call that no policy is told about."""
    begun = {"index": 0, "id": "c", "type": "function", "function": {"arguments": ""}}
    too_many = event(calls(begun, *({"index": number} for number in range(1, 4))))
    named = event(calls({"index": 0, "id": "c", "function": {"name": "rm", "arguments": "{}"}}))
    play = Play(policies=[active(deny_names("rm"))], bounds=replace(BOUNDS, blocks=5)).opened()
    for each in (HI, event(delta(refusal="no")), last_word, too_many, named, CALLED):
        if play.exchange.is_reading:
            play.received(each)
    play.ended()
    assert last_word in play.sent
    assert named not in play.sent


def test_an_event_without_end_has_its_limit_behind_an_error_too() -> None:
    play = Play(bounds=replace(BOUNDS, event_bytes=1_000)).opened().received(FAULTS["openai_chat"])
    play.received(b"data: " + b"x" * 1_000)
    assert not play.exchange.is_reading


@pytest.mark.parametrize("format", FAULTS)
def test_half_an_event_behind_an_error_is_no_second_one(format: str) -> None:
    play = Play(format).opened().received(FAULTS[format] + b'data: {"half').ended()
    assert play.sent == FAULTS[format]
    assert (play.stream.outcome, play.stream.error) == ("upstream_error", "overloaded")


def test_a_stream_that_goes_on_behind_an_error_is_told_why_it_is_cut() -> None:
    play = Play().opened().received(FAULTS["openai_chat"], HI)
    assert not play.exchange.has_sent_all
    assert b"revoked" in play.happened("revoked").sent


def test_what_is_no_json_is_nobodys_last_word() -> None:
    assert not Play().opened().received(event("5")).exchange.has_sent_all


@pytest.mark.parametrize("format", FAULTS)
def test_upstreams_own_error_is_its_last_word(format: str) -> None:
    play = Play(format).opened().received(FAULTS[format])
    assert play.exchange.has_sent_all
    play.take()
    play.ended(UpstreamError(502, "it broke off"))
    assert play.take() == ["close upstream", "end", "finish upstream_error"]
    assert play.stream.error == "overloaded"


SECOND = event({"id": "c", "choices": [{"index": 1, "delta": {}, "finish_reason": "stop"}]})
USED = event({"id": "c", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 5_000}})


def test_what_an_answer_took_may_come_once_its_client_is_gone_with_it() -> None:
    play = Play().opened().received(HI)
    assert not play.exchange.has_sent_answer
    play.received(STOP)
    assert play.exchange.has_sent_answer
    assert not play.exchange.has_sent_all
    play.exchange.away()
    play.received(USED, DONE).ended()
    assert play.sent == HI + STOP
    assert play.stream.times.frame_count == 2
    assert (play.stream.outcome, play.stream.state.tokens.output) == ("completed", 5_000)


def test_nobody_has_an_answer_that_broke_though_it_said_how_it_ended() -> None:
    piece = {"partialArgs": [{"jsonPath": "$.path", "stringValue": "/"}], "willContinue": False}
    pieces = [{"functionCall": {"name": "rm", "willContinue": True}}, {"functionCall": piece}]
    broken = event({"candidates": [{"content": {"role": "model", "parts": pieces}, "finishReason": "STOP"}]})
    play = Play("gemini", policies=[active(deny_names("ls"))]).opened().received(broken)
    assert play.stream.state.finish_reasons
    assert not play.exchange.has_sent_answer


def test_an_answer_has_ended_once_all_that_were_asked_for_have() -> None:
    play = Play(fields={"model": "m", "n": 2}).opened().received(HI, STOP)
    assert not play.exchange.has_sent_answer
    assert play.received(SECOND).exchange.has_sent_answer


def test_a_whole_answer_is_sent_with_its_end() -> None:
    assert not Play(is_streaming=False).opened().received(STOP).exchange.has_sent_answer


def test_the_end_that_is_known_goes_out_with_the_last_of_the_answer() -> None:
    play = Play().opened()
    play.take()
    play.exchange.received(HI + STOP + DONE)
    [close, record, send, finish] = play.ended().take()
    assert (close, record, finish) == ("close upstream", "record chunks, frames", "finish completed")
    assert send.startswith("send the last")


@pytest.mark.parametrize("policies", [[], [active(deny_names("rm"))]])
def test_an_answer_that_cannot_be_kept_is_no_empty_one(policies: list[ActivePolicy]) -> None:
    play = Play(policies=policies, loses_after=0).opened().received(HI + STOP + DONE).ended()
    assert b"error" in play.sent
    assert HI not in play.sent
    assert play.stream.outcome == "interrupted"


def test_a_stream_that_upstream_did_not_finish_says_so() -> None:
    play = Play().opened().received(HI).ended()
    assert b"before it was finished" in play.sent
    assert play.stream.outcome == "upstream_error"


MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": {}}
MESSAGE_START = b"event: message_start\ndata: %b\n\n" % encode({"type": "message_start", "message": MESSAGE})
RESPONSE = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "in_progress", "output": []}
RESPONSE_CREATED = b"event: response.created\ndata: %b\n\n" % encode(
    {"type": "response.created", "sequence_number": 0, "response": RESPONSE}
)


@pytest.mark.parametrize(
    ("format", "begun", "told"),
    [
        ("openai_chat", HI, b'"code":"ECONNRESET"'),
        ("anthropic_messages", MESSAGE_START, b'"request_id":"req_'),
        ("anthropic_messages", b": nothing yet\n\n", b'"request_id":"req_'),
    ],
)
def test_after_a_stream_that_breaks_off_qwen_code_asks_again(format: str, begun: bytes, told: bytes) -> None:
    """It does so after an error with Node's code for that or, in Anthropic's format, with the id of a request."""
    play = Play(format).opened().received(begun).ended()
    assert told in play.sent.rpartition(b"data: {")[2]
    cancelled = Play(format).opened().received(begun)
    cancelled.happened("cancelled", "alice")
    assert told not in cancelled.sent.rpartition(b"data: {")[2]


@pytest.mark.parametrize("begun", [RESPONSE_CREATED, b": nothing yet\n\n"])
def test_a_response_that_breaks_off_ends_with_a_code_of_openais(begun: bytes) -> None:
    """opencode asks again after this one."""
    play = Play("openai_responses").opened().received(begun).ended()
    assert b'"code":"server_error"' in play.sent.partition(b"event: response.failed")[2]
    assert b"ECONNRESET" not in play.sent


@pytest.mark.parametrize(("asked", "is_sent"), [({}, False), ({"n": 2}, True)])
def test_a_second_answer_reaches_who_asked_for_two(asked: dict[str, int], is_sent: bool) -> None:
    """Clients that take the first choice of each chunk would assemble a text that no policy has read."""
    policy = build("text_rule", {"patterns": ["my key"], "in": ["content"]})
    second = b'data: {"choices":[{"index":1,"delta":{"content":"key"}}]}\n\n'
    first = b'data: {"choices":[{"index":0,"delta":{"content":"my "}}]}\n\n'
    play = Play(policies=[active(policy)], fields={"model": "m", **asked}).opened().received(first, second)
    assert (second in play.ended().sent) is is_sent


def test_what_upstream_refuses_is_told_as_it_said_it() -> None:
    play = Play().asked().forwarded()
    play.happened("refused", UpstreamError(429, "slow down", body=b'{"error": "slow"}'))
    assert play.take() == ["record chunks, frames", "respond 429", "finish upstream_error"]


def test_a_denied_request_never_goes_upstream() -> None:
    play = Play(policies=[active(deny_requests())]).asked().forwarded()
    assert play.take() == ["record verdicts", "record frames", "respond 403", "finish halted"]


@pytest.mark.parametrize(
    ("happens", "details", "outcome", "status"),
    [
        ("cancelled", ("alice",), "halted", 403),
        ("revoked", (), "halted", 401),
        ("stopped", (), "interrupted", 503),
        ("broke", (InternalError(),), "interrupted", 500),
        ("refused", (RequestError(404, "there is none"),), "upstream_error", 404),
    ],
)
def test_who_cuts_it_short_is_told_in_an_answer_or_as_the_last_word(
    happens: str, details: tuple[object, ...], outcome: str, status: int
) -> None:
    before = Play().asked().forwarded().happened(happens, *details)
    assert before.take() == ["record frames", f"respond {status}", f"finish {outcome}"]
    assert before.stream.status == status
    amid = Play().opened().received(HI)
    amid.take()
    words = amid.happened(happens, *details).take()
    assert [word.split()[0] for word in words] == ["close", "record", "send", "finish"]
    assert words[2].startswith("send the last")
    assert words[-1] == f"finish {outcome}"
    assert amid.stream.status == 200  # which its client has


def test_a_client_that_leaves_closes_upstream_and_gets_nothing_more() -> None:
    play = Play().opened().received(HI)
    play.take()
    play.happened("left", "")
    assert play.take() == ["close upstream"]
    assert (play.stream.outcome, play.stream.error) == ("client_disconnected", "the client left after chunk 0")
    assert play.received(STOP).ended().take() == []


def test_what_cannot_be_recorded_does_not_go_out() -> None:
    play = Play(loses_after=1).opened().received(HI)
    play.take()
    play.received(event(delta(content="lost")))
    words = play.take()
    assert "lost" not in "".join(words)
    assert words[-1] == "finish interrupted"
    assert "can no longer be recorded" in play.stream.error


def test_before_the_head_that_is_an_answer_of_its_own() -> None:
    play = Play(loses_after=0, policies=[active(deny_names("rm"))]).opened(JSON)
    play.received(b'{"choices": []}').ended()
    assert "respond 503" in play.take()


def test_while_a_call_is_held_the_client_hears_that_the_connection_lives() -> None:
    play = Play(policies=[active(deny_names("rm"))]).opened().received(HI, CALL)
    play.take()
    assert play.waited(4.9).take() == []
    assert play.waited(0.2).take() == ["record frames", "send : keep-alive"]
    assert play.waited(4.9).take() == []
    assert play.waited(0.2).take() == ["record frames", "send : keep-alive"]


def test_codex_hears_that_too_as_it_counts_events_alone() -> None:
    play = Play(format="openai_responses", policies=[active(deny_names("rm"))]).opened()
    created = {"type": "response.created", "sequence_number": 4, "response": {"id": "r", "object": "response"}}
    item = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "rm", "arguments": ""}
    added = {"type": "response.output_item.added", "sequence_number": 5, "output_index": 0, "item": item}
    play.received(event(created), event(added))
    play.take()
    play.waited(5)
    assert play.sent.endswith(b'event: keepalive\ndata: {"type":"keepalive","sequence_number":4}\n\n')


def test_nobody_is_kept_alive_where_no_policy_holds_anything() -> None:
    play = Play().opened().received(HI)
    play.take()
    assert play.exchange.keep_alive_at is None
    assert play.waited(60).take() == []


def test_verdicts_are_on_the_record_before_the_frames_that_they_let_out() -> None:
    play = Play(policies=[active(deny_names("other"))]).opened().received(CALL)
    play.take()
    assert play.received(CALLED).take()[0] == "record chunks, verdicts, frames"


def test_an_answer_says_by_its_beginning_what_it_is_however_it_comes() -> None:
    body = b'\xef\xbb\xbf \n{"id": "1", "choices": []}'
    play = Play().opened(JSON)
    play.received(*(body[at : at + 1] for at in range(3, len(body)))).ended()
    assert play.sent == body[3:]
    play = Play().opened(EVENTS).received(b"\xef\xbb\xbf", HI, STOP + DONE).ended()
    assert play.sent == b"\xef\xbb\xbf" + HI + STOP + DONE


def test_an_event_that_never_ends_is_cut_off_at_its_limit() -> None:
    play = Play(bounds=Bounds(2**20, 100, 100, 100, 10_000)).opened().received(HI)
    play.take()
    play.received(b'data: {"choices": [{"delta": {"content": "' + b"x" * 100)
    assert not play.exchange.is_reading
    play.ended()
    assert "MAX_EVENT_MB" in " ".join(play.take())
    assert play.stream.outcome == "upstream_error"


@pytest.mark.parametrize("event", [b":\n\n", b"data: {}\n\n"])
def test_an_answer_has_so_many_events_and_no_more_whatever_is_in_them(event: bytes) -> None:
    play = Play(bounds=Bounds(2**20, 2**20, 100, 100, 10_000)).opened().received(HI, event * 99)
    assert play.exchange.is_reading
    play.received(event)
    assert not play.exchange.is_reading
    play.ended()
    assert "MAX_EVENTS" in " ".join(play.take())
    assert play.stream.outcome == "upstream_error"


@pytest.mark.parametrize("rest", [b": cut", HI.rstrip(), HI[:-1]])
@pytest.mark.parametrize("policies", [[], [active(deny_names("rm"))]])
def test_an_error_behind_an_event_that_was_cut_off_is_an_event_of_its_own(rest: bytes, policies: list[Any]) -> None:
    sent = Play(policies=policies).opened().received(HI, rest).ended().sent
    [*_, error, end] = events_in(sent)
    assert "closed the stream" in json.loads(error.data or b"")["error"]["message"]
    assert end.data == b"[DONE]"


@pytest.mark.parametrize("headers", [JSON, {}])
def test_events_are_said_to_be_events_whatever_upstream_says_they_are(headers: dict[str, str]) -> None:
    play = Play().opened(headers).received(HI, STOP, DONE)
    assert play.head == EVENTS


def test_much_white_space_ahead_is_not_kept_back() -> None:
    play = Play().opened().received(b"\n" * 2_000)
    assert play.sent == b"\n" * 2_000
    assert play.received(HI, STOP, DONE).ended().stream.outcome == "completed"
