"""The place of a request that continues what OpenAI stores, by the answer's id or the conversation's."""

import pytest

from streamviz.core.calls import made_id
from streamviz.core.wire.openai_responses_output import MADE_MESSAGE
from tests.conversations.agents import FIX, Call
from tests.conversations.providers import Ids, Json, Said
from tests.conversations.worker import Host, Streamed


def ask(host: Host, port: int, words: str = "Go on", *, fails: bool = False, **fields: object) -> Streamed:
    body: Json = {"model": "m", "input": words} | fields
    return host.take(Call("openai_responses", body, Said("Well."), fails=fails), port)


def told_by_id(streamed: Streamed, words: str) -> list[Json]:
    """How Vercel's SDK continues from an answer: with only the ids of its items."""
    made = {"type": "item_reference", "id": made_id(MADE_MESSAGE, 2, streamed.body)}
    return [{"role": "user", "content": FIX}, made, {"role": "user", "content": words}]


def place(streamed: Streamed) -> tuple[object, str]:
    return streamed.stream.place.parent, streamed.stream.place.relation


@pytest.fixture(params=[0, 3], ids=["at-once", "behind"])
def host(request: pytest.FixtureRequest) -> Host:
    return Host(Ids(), behind=request.param)


@pytest.mark.parametrize("is_kept", [False, True], ids=["answer", "conversation"])
def test_a_request_that_failed_is_tried_again_on_whatever_connection(host: Host, is_kept: bool) -> None:
    kept = {"conversation": "conv_1"} if is_kept else {}
    first = ask(host, 1, FIX, **kept)
    named = kept or {"previous_response_id": first.body["id"]}
    failed = [ask(host, port, fails=True, **named) for port in (1, 2)]
    last = ask(host, 3, **named)
    assert [place(each) for each in (*failed, last)] == [
        (first.stream.id, "turn"),
        (failed[0].stream.id, "retry"),
        (failed[1].stream.id, "retry"),
    ]


def test_the_same_words_behind_another_answer_are_another_request(host: Host) -> None:
    first = ask(host, 1, FIX)
    ask(host, 1, fails=True, previous_response_id=first.body["id"])
    other = ask(host, 1, "Leave that.", previous_response_id=first.body["id"])
    again = ask(host, 1, previous_response_id=other.body["id"])
    assert [place(each) for each in (other, again)] == [(first.stream.id, "turn"), (other.stream.id, "turn")]


def test_a_conversation_goes_on_from_the_last_answer_that_was_added_to_it(host: Host) -> None:
    first = ask(host, 1, conversation="conv_1")
    second = ask(host, 2, conversation={"id": "conv_1"})
    ask(host, 2, "And?", fails=True, conversation="conv_1")
    third = ask(host, 3, "Leave that.", conversation="conv_1")
    assert [place(each) for each in (second, third)] == [(first.stream.id, "turn"), (second.stream.id, "turn")]


def test_an_answer_of_which_all_calls_were_denied_is_known_by_the_id_of_what_stands_for_them(host: Host) -> None:
    body: Json = {"model": "m", "input": [{"role": "user", "content": FIX}]}
    calls = Said("", (("rm", {"path": "/"}),))
    denied = host.take(Call("openai_responses", body, calls, instead={0: "[no]"}), 1)
    ask(host, 2, "Something else.")
    assert place(ask(host, 2, input=told_by_id(denied, "And now?"))) == (denied.stream.id, "turn")
