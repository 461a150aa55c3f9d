"""A stream as a run in AG-UI's vocabulary."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.events import (
    BlockCompleted,
    BlockDelta,
    BlockKind,
    BlockSealed,
    BlockStarted,
    StreamEvent,
    UsageUpdated,
)
from streamviz.core.sse import events_in
from streamviz.core.wire import AGGREGATORS
from streamviz.events.agui import Run, sse
from streamviz.events.reports import PIECE, Asked, Closed, Held, Judged, Opened, Report
from tests.events.rules import messages, verify
from tests.recordings import RECORDED_FORMATS, recorded

STREAM, SESSION, PARENT = (uuid.UUID(int=n) for n in (1, 2, 3))
OPENED = Opened(STREAM, SESSION, "gpt-5", "gpt-5", "openai", "openai_chat", PARENT, "turn")
CLOSED = Closed("completed", "stop", 200, input_tokens=5, output_tokens=3, cache_read_tokens=2, cost=0.1)


def told(*reports: Report) -> list[dict[str, Any]]:
    """The events for these reports, between a stream's beginning and its end."""
    run = Run()
    return [
        json.loads(event.model_dump_json(by_alias=True))
        for at, report in enumerate(reports)
        for event in run.tell(at * 1000, report)
    ]


def whole(*reports: Report) -> list[dict[str, Any]]:
    events = told(OPENED, *reports, CLOSED)
    verify(events)
    return events[1:-1]


def test_a_run_begins_and_ends_with_what_is_known_of_it() -> None:
    first, last = told(OPENED, CLOSED)
    assert first == {
        "type": "RUN_STARTED", "timestamp": 0, "threadId": str(SESSION), "runId": str(STREAM),
        "parentRunId": str(PARENT),
    }  # fmt: skip
    assert (last["type"], last["outcome"], last["result"]["finishReason"]) == (
        "RUN_FINISHED",
        {"type": "success"},
        "stop",
    )
    assert last["usage"] == [{"inputTokens": 5, "outputTokens": 3, "cachedInputTokens": 2}]


@pytest.mark.parametrize(
    ("outcome", "type", "code"),
    [("upstream_error", "RUN_ERROR", "upstream_error"), ("halted", "RUN_ERROR", "halted"),
     ("interrupted", "RUN_ERROR", "interrupted"), ("client_disconnected", "RUN_FINISHED", None)],
)  # fmt: skip
def test_a_run_that_fails_says_how(outcome: str, type: str, code: str | None) -> None:
    *_, last = told(OPENED, Closed(outcome, error="why"))
    assert (last["type"], last.get("code")) == (type, code)
    assert last.get("message", "why") == "why"


def test_text_and_reasoning_are_messages_of_their_own() -> None:
    events = whole(
        BlockStarted(0, BlockKind.THINKING), BlockDelta(0, "hm", signature="sig"), BlockDelta(0, signature="ned"),
        BlockCompleted(0), BlockSealed(0),
        BlockStarted(1, BlockKind.CONTENT), BlockDelta(1, "Hel"), BlockDelta(1, ""), BlockDelta(1, "lo"),
        BlockCompleted(1), BlockSealed(1),
    )  # fmt: skip
    assert messages(events) == {"texts": ["Hello"], "thoughts": ["hm"], "calls": []}
    assert [event["encryptedValue"] for event in events if "encryptedValue" in event] == ["signed"]


def test_a_call_belongs_to_the_text_before_it_and_waits_for_its_name() -> None:
    events = whole(
        BlockStarted(0, BlockKind.CONTENT), BlockDelta(0, "See:"), BlockCompleted(0),
        BlockStarted(1, BlockKind.TOOL_CALL, name="get_"), BlockDelta(1, id="c1", name="get_weather"),
        BlockDelta(1, "{}"), BlockCompleted(1), BlockSealed(1), BlockSealed(0),
    )  # fmt: skip
    start = next(event for event in events if event["type"] == "TOOL_CALL_START")
    assert (start["toolCallId"], start["toolCallName"]) == ("c1", "get_weather")
    assert start["parentMessageId"] == f"{STREAM}-0"


def test_calls_with_one_id_are_told_apart_and_one_without_arguments_is_told() -> None:
    call = BlockKind.TOOL_CALL
    events = whole(BlockStarted(0, call, id="c", name="a"), BlockStarted(1, call, id="c", name="b"),
                   BlockStarted(2, call, name="d"), *(BlockSealed(n) for n in range(3)))  # fmt: skip
    starts = [event for event in events if event["type"] == "TOOL_CALL_START"]
    assert [each["toolCallName"] for each in starts] == ["a", "b", "d"]
    assert len({each["toolCallId"] for each in starts}) == 3
    assert {each["parentMessageId"] for each in starts} == {f"{STREAM}-0"}


def test_what_a_request_adds_comes_first() -> None:
    events = whole(
        Asked(0, "tool_result", "tool", "12 °C", call_id="c1"),
        Asked(1, "text", "human", "and tomorrow?"),
        Asked(2, "media", "user", name="image", size=12),
    )
    assert [event["type"] for event in events] == [
        "TOOL_CALL_RESULT", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "CUSTOM"
    ]  # fmt: skip
    assert (events[0]["toolCallId"], events[0]["content"], events[1]["role"]) == ("c1", "12 °C", "user")


def test_a_long_text_of_a_request_comes_in_several_deltas() -> None:
    said = "".join(map(str, range(20_000)))
    deltas = [event["delta"] for event in whole(Asked(0, "text", "user", said))[1:-1]]
    assert "".join(deltas) == said
    assert len(deltas) > 1
    assert max(map(len, deltas)) <= PIECE


def test_verdicts_holds_and_usage_are_events_of_our_own() -> None:
    events = whole(
        Held(0, ("no shell",)),
        Judged(0, 0, "block", "no shell", 2, "enforce", "deny", "it is a shell"),
        UsageUpdated({"total": 3}),
    )
    assert [(event["name"], event["value"].get("decision")) for event in events] == [
        ("streamviz.hold", None),
        ("streamviz.verdict", "deny"),
        ("streamviz.usage", None),
    ]


def test_media_have_a_start_content_and_an_end() -> None:
    payload = '{"mimeType": "image/png", "data": "AAAA"}'
    about = {"id": f"{STREAM}-0.0", "block": 0, "label": "inlineData"}
    events = whole(BlockStarted(0, BlockKind.MEDIA, label="inlineData"), BlockDelta(0, payload), BlockSealed(0))
    assert [(event["name"], event["value"]) for event in events] == [
        ("streamviz.media_start", {**about, "isPreview": False, "mimeType": "image/png"}),
        ("streamviz.media_content", {"id": f"{STREAM}-0.0", "data": "AAAA", "url": ""}),
        ("streamviz.media_end", {"id": f"{STREAM}-0.0", "size": 3}),
    ]
    assert len(whole(BlockStarted(0, BlockKind.MEDIA), BlockSealed(0))) == 2


def test_a_preview_is_told_before_its_image() -> None:
    first = told(
        OPENED,
        BlockStarted(0, BlockKind.MEDIA, label="image_generation_call"),
        BlockDelta(0, '{"partial_image_b64":'),
        BlockDelta(0, '"AAAA"}\n'),
    )
    assert [event["value"]["isPreview"] for event in first if event.get("name") == "streamviz.media_start"] == [True]
    events = whole(
        BlockStarted(0, BlockKind.MEDIA),
        BlockDelta(0, '{"partial_image_b64":"AAAA"}\n{"result":"AA=="}'),
        BlockSealed(0),
    )
    assert [(event["name"][16:], event["value"]["id"][-3:]) for event in events] == [
        *(("start", "0.0"), ("content", "0.0"), ("end", "0.0")),
        *(("start", "0.1"), ("content", "0.1"), ("end", "0.1")),
    ]


def test_a_sound_begins_with_its_first_piece() -> None:
    lines = '{"data":"SUQz"}\n{"data":"AAAA"}\n'
    events = whole(BlockStarted(0, BlockKind.MEDIA), BlockDelta(0, lines), BlockDelta(0, "{}"), BlockSealed(0))
    assert [event["name"][16:] for event in events] == ["start", "content", "content", "end"]
    assert (events[0]["value"]["mimeType"], events[-1]["value"]["size"]) == ("audio/mpeg", 6)


def test_images_in_what_a_tool_answered_are_told_too() -> None:
    answer = '{"content": [{"type": "image", "source": {"media_type": "image/png", "data": "AAAA"}}]}'
    events = whole(BlockStarted(0, BlockKind.OTHER, label="mcp_tool_result"), BlockDelta(0, answer), BlockSealed(0))
    assert [event["name"] for event in events] == [
        "streamviz.other",
        *(f"streamviz.media_{each}" for each in ("start", "content", "end")),
    ]


def test_what_is_open_at_the_end_is_closed() -> None:
    verify(told(OPENED, BlockStarted(0, BlockKind.CONTENT), BlockStarted(1, BlockKind.THINKING), CLOSED))


def test_an_event_names_its_number_on_the_wire() -> None:
    [event] = Run().tell(0, OPENED)
    id, data, *_ = sse("1.0.0", event).split(b"\n")
    assert id == b"id: 1.0.0"
    assert json.loads(data.removeprefix(b"data: "))["type"] == "RUN_STARTED"


@pytest.mark.parametrize("wire_format", RECORDED_FORMATS)
def test_recorded_streams_are_runs_that_say_what_their_blocks_do(wire_format: str) -> None:
    for file in recorded(wire_format):
        events, aggregator = events_of(wire_format, file)
        verify(events)
        said = messages(events)
        blocks = aggregator.state.blocks
        texts = [block.text for block in blocks if block.kind in (BlockKind.CONTENT, BlockKind.REFUSAL)]
        assert said["texts"] == texts, file
        assert said["thoughts"] == [block.text for block in blocks if block.kind is BlockKind.THINKING], file
        calls = [[block.name, block.text] for block in blocks if block.kind is BlockKind.TOOL_CALL]
        assert sorted(said["calls"]) == sorted(calls), file


def events_of(wire_format: str, file: Path) -> tuple[list[dict[str, Any]], Any]:
    """A recorded stream's events, and the aggregator that has read it."""
    aggregator = AGGREGATORS[wire_format]()
    return told(OPENED, *_facts(aggregator, file), CLOSED), aggregator


def _facts(aggregator: Any, file: Path) -> list[StreamEvent]:
    found: list[StreamEvent] = []
    for seq, event in enumerate(events_in(file.read_bytes())):
        found += aggregator.aggregate(Chunk(seq, 0, event.raw, event.data, event.name))
    return found + aggregator.close()
