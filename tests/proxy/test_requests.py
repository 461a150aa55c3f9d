"""Parsing a client's request."""

import json

import pytest

from streamviz.core.errors import RequestError
from streamviz.core.json_value import MAX_DEPTH, decode
from streamviz.core.wire import OPENAI_CHAT
from streamviz.proxy.requests import read_request
from streamviz.upstream.other_models import require_one_model
from tests.exchange.support import run

PLAIN = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'


@pytest.mark.parametrize(
    "sent",
    [
        PLAIN,
        b'{"model":"other","model":"m","messages":[{"role":"user","content":"hi"}]}',
        b'{"model":"m","messages":["judged by nobody"],"messages":[{"role":"user","content":"hi"}]}',
        b'{"model":"m","messages":[{"role":"user","content":"judged by nobody","content":"hi"}]}',
        b'{ "model": "m",\n "messages": [ {"role": "user", "content": "\\u0068i"} ] }',
    ],
)
def test_what_goes_on_says_nothing_but_what_is_judged(sent: bytes) -> None:
    request = read_request(sent, OPENAI_CHAT)
    assert request.body == PLAIN
    assert request.fields == json.loads(PLAIN)


def test_another_models_name_keeps_the_rest() -> None:
    request = read_request(b'{"messages":["twice"],"model":"m","messages":[],"seed":1}', OPENAI_CHAT)
    assert request.body_for("n") == b'{"messages":[],"model":"n","seed":1}'


def test_a_model_in_other_capitals_is_another() -> None:
    request = read_request(b'{"model":"m","Model":"n","messages":[]}', OPENAI_CHAT)
    with pytest.raises(RequestError, match="could name models other than"):
        require_one_model(request.fields)


def test_a_request_is_nested_no_deeper_than_what_is_kept_of_it_can_be_read() -> None:
    def nested(depth: int) -> bytes:
        return b'{"model":"m","messages":[],"tools":' + b"[" * depth + b"]" * depth + b"}"

    kept = run(read_request(nested(MAX_DEPTH - 1), OPENAI_CHAT).kept())
    assert decode(kept) == json.loads(kept)
    with pytest.raises(RequestError, match="nested too deeply") as refused:
        read_request(nested(MAX_DEPTH), OPENAI_CHAT)
    assert (refused.value.status, refused.value.code) == (400, "invalid_json")


@pytest.mark.parametrize("text", [r"\ud83d", r"cut \ud83d within", r"\ude00", r"\ud83d\ud83d\ude00", r"\ud83d\n"])
def test_a_text_that_was_cut_within_a_character_is_named(text: str) -> None:
    sent = b'{"model":"m","messages":[{"role":"user","content":"%b"}]}' % text.encode()
    with pytest.raises(RequestError, match="half of a surrogate pair") as refused:
        read_request(sent, OPENAI_CHAT)
    assert (refused.value.status, refused.value.code) == (400, "invalid_json")


@pytest.mark.parametrize(
    "sent", [PLAIN[:-1], PLAIN[:40], PLAIN + b"}", b'{"model":"\xff"}', b'{"a":' + b"[" * 100_000, b""]
)
def test_other_faults_are_not_taken_for_that(sent: bytes) -> None:
    with pytest.raises(RequestError, match="not valid JSON") as refused:
        read_request(sent, OPENAI_CHAT)
    assert "surrogate" not in refused.value.message
