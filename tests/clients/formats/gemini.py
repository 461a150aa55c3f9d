"""Google's generateContent."""

import json
import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from tests.clients.script import INPUT, MODEL, OUTPUT, READ, REASONED, THOUGHT, Asked, Object, Turn, event, halves

USAGE = {
    "promptTokenCount": INPUT,
    "cachedContentTokenCount": READ,
    "candidatesTokenCount": OUTPUT - REASONED,
    "thoughtsTokenCount": REASONED,
    "totalTokenCount": INPUT + OUTPUT,
}


def asked(request: Object) -> Asked:
    """The relevant parts of a request; LiteLLM writes its names in snake case."""
    request = _camel(request)
    functions = [each for tool in request.get("tools") or [] for each in tool.get("functionDeclarations") or []]
    parts = [part for content in request["contents"] for part in content["parts"]]
    config = request.get("generationConfig") or {}
    calling = (request.get("toolConfig") or {}).get("functionCallingConfig") or {}
    return Asked(
        {each["name"]: each.get("parametersJsonSchema") or each.get("parameters") or {} for each in functions},
        sum("functionResponse" in part for part in parts),
        config.get("responseJsonSchema") or config.get("responseSchema"),
        any("inlineData" in part for part in parts),
        calling.get("mode") == "ANY",
    )


def _camel(value: Any) -> Any:
    if isinstance(value, list):
        return [_camel(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {re.sub("_([a-z])", lambda found: found[1].upper(), name): _camel(each) for name, each in value.items()}


def stream(request: Object, turn: Turn) -> Iterator[bytes]:
    """A turn as events."""
    answer = f"answer_{uuid4().hex}"
    for piece in halves(THOUGHT):
        yield event(_said(answer, [{"text": piece, "thought": True}]))
    for piece in turn.pieces:
        yield event(_said(answer, [{"text": piece}]))
    yield event({**_said(answer, _calls(turn) or [{"text": ""}], "STOP")})


def whole(request: Object, turn: Turn) -> Object:
    """A turn as one answer."""
    texts: list[Object] = [{"text": turn.text}] if turn.pieces else []
    parts = [{"text": THOUGHT, "thought": True}, *texts, *_calls(turn)]
    return _said(f"answer_{uuid4().hex}", parts, "STOP")


def broken_off() -> bytes:
    """An error in the middle of a stream."""
    return event({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}})


def error(status: int) -> Object:
    """The body of an error."""
    kinds = {400: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED"}
    return {"error": {"code": status, "message": f"Scripted {status}.", "status": kinds.get(status, "INTERNAL")}}


def _calls(turn: Turn) -> list[Object]:
    calls: list[Object] = [
        {"functionCall": {"id": call.id, "name": call.name, "args": json.loads(call.arguments)}} for call in turn.calls
    ]
    if calls:
        calls[0]["thoughtSignature"] = "c2lnbmVk"
    return calls


def _said(answer: str, parts: list[Object], finish: str = "") -> Object:
    ends = {"finishReason": finish} if finish else {}
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **ends}
    return {"candidates": [candidate], "usageMetadata": USAGE, "modelVersion": MODEL, "responseId": answer}
