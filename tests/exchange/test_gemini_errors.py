"""Errors in the middle of a Gemini stream: Google's own, which come without `data:`, and ours."""

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


def test_what_googles_error_says_is_judged() -> None:
    told = BARE.replace(b"overloaded", KEY.encode())
    play = Play("gemini", [active(build("redact", {}))]).opened().received(HI, told).ended()
    assert KEY.encode() not in play.sent
    assert b'"error"' in play.sent


@pytest.mark.parametrize("rest", [BARE[:-9], b'{"candidates": []}', b"odd: line"])
def test_what_is_no_whole_error_is_none(rest: bytes) -> None:
    play = Play("gemini").opened().received(HI, rest).ended()
    assert play.stream.error == "upstream closed the stream before it was finished (socket hang up)"


AGENTS = {
    "GeminiCLI/0.61.0/gemini-2.5-flash (linux; x64; terminal)": True,
    "CloudCodeVSCode/0.61.0 (aidev_client; host_path=VSCode/1.0; proxy_client=geminicli)": True,
    "QwenCode/0.24.4 (linux; x64)": True,
    "google-genai-sdk/1.30.0 gl-node/v20.20.2": True,
    "google-genai-sdk/2.10.0 gl-node/web": True,
    "google-genai-sdk/3.1.0 gl-node/v20.20.2": False,
    "google-genai-sdk/1.30.0 gl-python/3.11.2": False,
    "google-genai-sdk/1.30.0 gl-python/3.11.2 my-gl-node/1": False,
    "google-genai-sdk/1.2.0 gl-go/go1.24": False,
    "": False,
}


@pytest.mark.parametrize(("user_agent", "is_bare"), AGENTS.items())
def test_our_own_error_comes_as_its_client_reads_it(user_agent: str, is_bare: bool) -> None:
    """Some clients recognize an error only if it is everything that they read from the network at that moment."""
    play = Play("gemini", user_agent=user_agent).opened().received(HI)
    play.take()
    words = play.happened("cancelled", "alice").take()
    [said] = [word.partition("send the last ")[2] for word in words if word.startswith("send")]
    assert said.startswith("data: ") is not is_bare
    assert "cancelled" in json.loads(said.removeprefix("data: "))["error"]["message"].lower()


def test_googles_error_behind_what_a_policy_changed_comes_as_its_client_reads_it() -> None:
    [user_agent, *_] = AGENTS
    play = Play("gemini", [active(build("redact", {}))], user_agent=user_agent)
    play.opened().received(said(KEY), BARE).ended()
    *_, error = play.sent.rstrip().split(b"\n\n")
    assert KEY.encode() not in play.sent
    assert json.loads(error)["error"]["message"] == "overloaded"


def test_a_broken_event_does_not_swallow_it() -> None:
    [user_agent, *_] = AGENTS
    play = Play("gemini", user_agent=user_agent).opened().received(HI, b'data: {"cand').ended()
    *_, error = play.sent.rstrip().split(b"\n\n")
    assert json.loads(error)["error"]["code"] == 500


def test_other_formats_have_no_errors_without_data_lines() -> None:
    [user_agent, *_] = AGENTS
    play = Play(user_agent=user_agent).opened().received(event({"choices": [{"delta": {"content": "hi"}}]})).ended()
    assert b'data: {"error"' in play.sent
