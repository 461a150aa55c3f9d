"""The rules that AG-UI's own client verifies, for the events of our runs: what begins and ends, once, and what may come
in between."""

from typing import Any

_OPENING = {
    "TEXT_MESSAGE_START": ("text", "messageId"),
    "TOOL_CALL_START": ("call", "toolCallId"),
    "REASONING_START": ("span", "messageId"),
    "REASONING_MESSAGE_START": ("reasoning", "messageId"),
}
_WITHIN = {
    "TEXT_MESSAGE_CONTENT": ("text", "messageId"),
    "TOOL_CALL_ARGS": ("call", "toolCallId"),
    "REASONING_MESSAGE_CONTENT": ("reasoning", "messageId"),
}
_CLOSING = {
    "TEXT_MESSAGE_END": ("text", "messageId"),
    "TOOL_CALL_END": ("call", "toolCallId"),
    "REASONING_END": ("span", "messageId"),
    "REASONING_MESSAGE_END": ("reasoning", "messageId"),
}
_ANYWHERE = {"CUSTOM", "TOOL_CALL_RESULT", "REASONING_ENCRYPTED_VALUE"}


def verify(events: list[dict[str, Any]]) -> None:
    """Raises AssertionError at the first event that AG-UI does not allow in its place."""
    types = [event["type"] for event in events]
    assert types[0] == "RUN_STARTED"
    assert types[-1] in ("RUN_FINISHED", "RUN_ERROR")
    open_now: set[tuple[str, str]] = set()
    begun: set[tuple[str, str]] = set()
    for event in events[1:-1]:
        word = event["type"]
        if word in _OPENING:
            kind, name = _OPENING[word]
            assert (kind, event[name]) not in begun, f"{word} comes twice"
            begun.add((kind, event[name]))
            open_now.add((kind, event[name]))
        elif word in _WITHIN:
            kind, name = _WITHIN[word]
            assert (kind, event[name]) in open_now, f"{word} where nothing is open"
            assert event["delta"], f"{word} says nothing"
        elif word in _CLOSING:
            kind, name = _CLOSING[word]
            open_now.remove((kind, event[name]))
        else:
            assert word in _ANYWHERE, word
    assert not open_now


def messages(events: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """What a client assembles: texts and reasoning in the order in which they begin, calls by their contents."""
    texts: dict[str, str] = {}
    thoughts: dict[str, str] = {}
    calls: dict[str, list[str]] = {}
    for event in events:
        match event["type"]:
            case "TEXT_MESSAGE_START" if event["role"] == "assistant":
                texts[event["messageId"]] = ""
            case "TEXT_MESSAGE_CONTENT" if event["messageId"] in texts:
                texts[event["messageId"]] += event["delta"]
            case "REASONING_MESSAGE_START":
                thoughts[event["messageId"]] = ""
            case "REASONING_MESSAGE_CONTENT":
                thoughts[event["messageId"]] += event["delta"]
            case "TOOL_CALL_START":
                calls[event["toolCallId"]] = [event["toolCallName"], ""]
            case "TOOL_CALL_ARGS":
                calls[event["toolCallId"]][1] += event["delta"]
            case _:
                pass
    return {"texts": [*texts.values()], "thoughts": [*thoughts.values()], "calls": [*calls.values()]}
