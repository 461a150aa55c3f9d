"""Errors in the middle of a stream that only pass another on: OpenRouter has the cause beside its own words."""

import json
from typing import Any

import pytest

from streamviz.policies import build
from tests.core.support import active, delta, sse
from tests.exchange.support import Play, event

KEY = "AKIAQ3EGRJ2KZ7NVXW5P"
HALTING = {"patterns": [KEY], "action": "halt"}


def passed_on(raw: Any) -> dict[str, Any]:
    metadata = {"raw": raw, "provider_name": "Beans"}
    return {"message": "Provider returned error", "code": 502, "metadata": metadata}


def streams(raw: Any) -> dict[str, tuple[bytes, ...]]:
    error = passed_on(raw)
    chat = {"id": "x", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}}], "error": error}
    return {
        "openai_chat": (sse(delta(content="hi")), event(chat)),
        "anthropic_messages": (event({"type": "error", "error": error}, "error"),),
        "gemini": (event({"error": error}),),
        "openai_responses": (event({"type": "error", **error}, "error"),),
    }


@pytest.mark.parametrize("wire_format", streams(""))
@pytest.mark.parametrize("raw", ['{"error":{"message":"no beans"}}', "no beans", {"message": "no beans"}])
def test_the_cause_is_on_record(wire_format: str, raw: Any) -> None:
    play = Play(wire_format).opened().received(*streams(raw)[wire_format]).ended()
    assert (play.stream.outcome, play.stream.error) == ("upstream_error", "Provider returned error: no beans")


@pytest.mark.parametrize("wire_format", streams(""))
@pytest.mark.parametrize(
    ("kind", "parameters"), [("redact", {}), ("text_rule", {"patterns": [KEY]}), ("text_rule", HALTING)]
)
def test_what_policies_forbid_is_not_in_it_however_it_is_written(
    wire_format: str, kind: str, parameters: dict[str, Any]
) -> None:
    policies = [active(build(kind, parameters))]
    for escaped in ("A", "\\u0041"):
        raw = json.dumps({"message": KEY}).replace("A", escaped)
        play = Play(wire_format, policies).opened().received(*streams(raw)[wire_format]).ended()
        assert play.stream.error
        assert KEY not in play.stream.error
        assert KEY.encode() not in play.sent
