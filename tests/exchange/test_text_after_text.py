"""A text that follows another in the same answer, in each format: what was found in the first is not found again."""

import json
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamState
from streamviz.core.events import BlockKind
from streamviz.core.verdicts import Decision, Mode
from streamviz.core.wire import AGGREGATORS
from streamviz.policies import build
from tests.core.support import active, delta, parse
from tests.exchange.support import JSON, Play, event

FIRST, NEXT = "Mail bob@example.com", "Next I go"


def message(number: int, *texts: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"id": f"m{number}", "type": "message", "role": "assistant", "status": "completed", "content": content}


def response(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"id": "r", "object": "response", "status": "completed", "output": list(messages)}


def candidate(*parts: Any, finish: str = "") -> dict[str, Any]:
    end = {"finishReason": finish} if finish else {}
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0, **end}]}


SEARCH: dict[str, Any] = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}}
FOUND: dict[str, Any] = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
CODE = [{"executableCode": {"language": "PYTHON", "code": "1"}}, {"codeExecutionResult": {"outcome": "OUTCOME_OK"}}]
WHOLE = {
    "openai_responses": response(message(1, FIRST), message(2, NEXT)),
    "openai_responses, parts": response(message(1, FIRST, NEXT)),
    "anthropic_messages": {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": FIRST}, SEARCH, FOUND, {"type": "text", "text": NEXT}],
        "stop_reason": "end_turn",
    },
    "gemini": candidate({"text": FIRST}, *CODE, {"text": NEXT}, finish="STOP"),
}


def read(wire_format: str, chunks: list[Chunk]) -> list[str]:
    aggregator = AGGREGATORS[wire_format]()
    for chunk in chunks:
        aggregator.aggregate(chunk)
    aggregator.close()
    return texts_of(aggregator.state)


def texts_of(state: StreamState) -> list[str]:
    return [block.text for block in state.blocks if block.kind is BlockKind.CONTENT]


def play(wire_format: str, **more: Any) -> Play:
    return Play(wire_format, [active(build("redact", {"find": ["e-mail"]}))], **more)


def check(played: Play, texts: list[str]) -> None:
    assert texts == ["Mail [e-mail removed]", NEXT]
    of_texts = {block.ordinal for block in played.context.state.blocks if block.kind is BlockKind.CONTENT}
    found = [each.verdict.decision for each in played.context.judgements if each.ordinal in of_texts]
    assert found == [Decision.REPLACE, Decision.ALLOW]


@pytest.mark.parametrize("which", WHOLE)
def test_what_was_found_in_a_text_is_not_found_again_in_the_next_of_a_whole_answer(which: str) -> None:
    wire_format = which.partition(",")[0]
    played = play(wire_format, is_streaming=False).opened(JSON).received(json.dumps(WHOLE[which]).encode()).ended()
    check(played, read(wire_format, [Chunk(0, 0, played.sent, played.sent)]))


def anthropic_stream() -> list[bytes]:
    start = {"type": "message_start", "message": {**WHOLE["anthropic_messages"], "content": [], "stop_reason": None}}
    events: list[dict[str, Any]] = [start]
    for index, part in enumerate(WHOLE["anthropic_messages"]["content"]):
        text = part.get("text", "")
        empty = {**part, "text": ""} if text else part
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        if text:
            piece = {"type": "text_delta", "text": text}
            events.append({"type": "content_block_delta", "index": index, "delta": piece})
        events.append({"type": "content_block_stop", "index": index})
    end: dict[str, Any] = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}
    return [event(each, each["type"]) for each in [*events, end, {"type": "message_stop"}]]


def responses_stream() -> list[bytes]:
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {**response(), "status": "in_progress"}}]
    for index, text in enumerate((FIRST, NEXT)):
        at = {"item_id": f"m{index}", "output_index": index, "content_index": 0}
        added = {**message(index), "status": "in_progress"}
        events += [
            {"type": "response.output_item.added", "output_index": index, "item": added},
            {"type": "response.content_part.added", **at, "part": {"type": "output_text", "text": ""}},
            {"type": "response.output_text.delta", **at, "delta": text},
            {"type": "response.output_text.done", **at, "text": text},
            {"type": "response.content_part.done", **at, "part": {"type": "output_text", "text": text}},
            {"type": "response.output_item.done", "output_index": index, "item": message(index, text)},
        ]
    events.append({"type": "response.completed", "response": response(message(0, FIRST), message(1, NEXT))})
    return [event(each, each["type"]) for each in events]


STREAMS = {
    "openai_chat": [
        event(each)
        for each in (delta(content=FIRST), delta(reasoning_content="hm"), delta(content=NEXT), delta(finish="stop"))
    ],
    "openai_responses": responses_stream(),
    "anthropic_messages": anthropic_stream(),
    "gemini": [event(candidate(part)) for part in ({"text": FIRST}, *CODE)]
    + [event(candidate({"text": NEXT}, finish="STOP"))],
}


@pytest.mark.parametrize("wire_format", STREAMS)
@pytest.mark.parametrize("is_at_once", [True, False])
def test_what_was_found_in_a_text_is_not_found_again_in_the_next_of_a_stream(
    wire_format: str, is_at_once: bool
) -> None:
    stream = STREAMS[wire_format]
    reads = [b"".join(stream)] if is_at_once else stream
    played = play(wire_format).opened().received(*reads).ended()
    check(played, read(wire_format, parse(played.sent)))


@pytest.mark.parametrize("which", [name for name in WHOLE if name != "openai_responses, parts"])
def test_what_a_shadow_would_have_halted_at_is_not_found_in_the_next_text(which: str) -> None:
    halts = active(build("text_rule", {"patterns": ["bob@"], "action": "halt"}), Mode.SHADOW)
    played = Play(which, [halts], is_streaming=False).opened(JSON)
    played.received(json.dumps(WHOLE[which]).encode()).ended()
    of_texts = {block.ordinal for block in played.context.state.blocks if block.kind is BlockKind.CONTENT}
    found = [each.verdict.decision for each in played.context.judgements if each.ordinal in of_texts]
    assert found == [Decision.HALT, Decision.ALLOW]
