"""Errors in the midst of a stream of Gemini's: Google's own, which come without `data:`."""

import json
from typing import Any

import pytest

from streamviz.core.policy import ActivePolicy
from streamviz.policies import build
from tests.core.support import active
from tests.exchange.support import Play, event

ERROR = {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}
BARE = json.dumps(ERROR, indent=2).encode() + b"\n"


def said(text: str, **more: Any) -> bytes:
    return event({"candidates": [{"content": {"parts": [{"text": text}]}, **more}]})


HI, STOP = said("hi"), said("ho", finishReason="STOP")
KEY = "AKIAQ3EGRJ2KZ7NVXW5P"
CUTS = {
    "at the end": (HI, BARE),
    "in one read": (HI + BARE,),
    "in pieces": (HI, *(BARE[at : at + 5] for at in range(0, len(BARE), 5))),
    "without a line's end": (HI, BARE.rstrip()),
    "amid the stream": (HI, BARE + b"\n", STOP),
}


@pytest.mark.parametrize("policies", [[], [active(build("redact", {}))]], ids=["no policy", "a policy"])
@pytest.mark.parametrize("reads", CUTS.values(), ids=CUTS)
def test_googles_error_without_data_is_read_and_passed_on(
    reads: tuple[bytes, ...], policies: list[ActivePolicy]
) -> None:
    play = Play("gemini", policies).opened().received(*reads).ended()
    assert (play.stream.outcome, play.stream.error) == ("upstream_error", "overloaded")
    assert play.sent == b"".join(reads)


def test_what_it_says_is_judged() -> None:
    told = BARE.replace(b"overloaded", KEY.encode())
    play = Play("gemini", [active(build("redact", {}))]).opened().received(HI, told).ended()
    assert KEY.encode() not in play.sent
    assert b'"error"' in play.sent


@pytest.mark.parametrize("rest", [BARE[:-9], b'{"candidates": []}', b"odd: line"])
def test_what_is_no_whole_error_is_none(rest: bytes) -> None:
    play = Play("gemini").opened().received(HI, rest).ended()
    assert play.stream.error == "upstream closed the stream before it was finished"
