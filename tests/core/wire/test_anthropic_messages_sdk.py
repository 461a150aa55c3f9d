"""Malformed message streams: what Anthropic's SDK assembles from them is what was judged, or they are marked."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jiter import from_json

from streamviz.core.blocks import StreamState, ToolCallStreamBlock
from streamviz.core.events import BlockKind
from streamviz.core.sse import write_event
from streamviz.core.wire.anthropic_messages import AnthropicMessagesAggregator
from tests.core.sdk import MessagesReader
from tests.core.support import parse
from tests.core.wire.test_anthropic_messages import begin, finish, grow, start, stop, text
from tests.recordings import recorded
from tests.thorough import examples

Payload = dict[str, Any]
READER = MessagesReader()
END = {"type": "message_stop"}


def tape_of(*payloads: Payload) -> bytes:
    """The payloads as named events; a `name` in a payload overrides its type."""
    return b"".join(
        write_event(json.dumps({key: value for key, value in payload.items() if key != "name"}).encode(),
                    payload.get("name", payload["type"]))
        for payload in payloads
    )  # fmt: skip


def state_of(tape: bytes) -> StreamState:
    aggregator = AnthropicMessagesAggregator()
    for chunk in parse(tape):
        aggregator.aggregate(chunk)
    aggregator.close()
    return aggregator.state


def put_together(tape: bytes) -> list[tuple[Any, ...]] | None:
    """What the SDK has assembled at the end: texts, thinking, calls. None if it raises."""
    try:
        content = READER.stream(tape)["content"]
    except Exception:  # It raises whatever error occurs while it reads.
        return None
    said: list[tuple[Any, ...]] = []
    for part in content:
        match part:
            case {"type": "text", "text": str(words)} | {"type": "thinking", "thinking": str(words)}:
                said += [(part["type"], words)] if words else []
            case {"input": given} if given or part.get("name") or part.get("id"):
                said.append(("call", part.get("id"), part.get("name"), given))
    return said


def judged(state: StreamState) -> list[tuple[Any, ...]]:
    """The same, from the blocks that policies see."""
    words = {BlockKind.CONTENT: "text", BlockKind.THINKING: "thinking"}
    return [
        ("call", block.id, block.name, _input(block.text))
        if isinstance(block, ToolCallStreamBlock)
        else (words.get(block.kind, "other"), block.text)
        for block in state.blocks
    ]


def _input(arguments: str) -> Any:
    try:
        return from_json(arguments.encode(), partial_mode=True) if arguments else {}
    except ValueError:
        return arguments


def assert_judged(tape: bytes) -> None:
    state = state_of(tape)
    assembled = put_together(tape)
    if assembled is None or state.contradiction:
        return
    seen = judged(state)
    assert [part for part in assembled if part not in seen] == []


CALL = {"type": "tool_use", "id": "a", "name": "bash", "input": {}}


def piece(said: str, index: Any = 0, **more: Any) -> Payload:
    return grow(index, type="input_json_delta", partial_json=said, **more)


EVIL = '{"cmd":"rm -rf /"}'
MALFORMED = {
    "a delta behind a stop": [start(**CALL), piece("{}"), stop(), piece(EVIL)],
    "an index used again": [
        start(**CALL),
        piece('{"cmd":'),
        stop(),
        start(**{**CALL, "id": "b", "name": "read"}),
        piece('"rm"}'),
        stop(),
    ],
    "indices the wrong way round": [start(1, **CALL), start(0, **{**CALL, "id": "b"}), piece(EVIL, 0), piece("{}", 1)],
    "an index below zero": [start(**CALL), start(1), text("a", 1), piece(EVIL, -2)],
    "a float for an index": [start(**CALL), start(1), piece(EVIL, 0.0)],
    "true for an index": [start(), start(1, **CALL), piece(EVIL, True)],
    "a huge index": [start(**CALL), piece(EVIL, 10**12)],
    "no index for another place than the first": [start(**CALL), start(1, **{**CALL, "id": "b"}), piece(EVIL, None)],
    "an input at the start and then another": [start(**{**CALL, "input": {"cmd": "ls"}}), piece(EVIL), stop()],
    "a text for a call": [start(**CALL), text("a"), piece(EVIL), stop()],
    "a call's input for a text": [start(), piece("{}"), text("a"), stop()],
    "a delta behind the end": [start(**CALL), piece("{}"), finish("tool_use"), piece(EVIL)],
    "a delta behind the last word": [start(), text("a"), END, text("b")],
    "a delta of two types": [start(), grow(type="text_delta", text="a", partial_json=EVIL)],
    "text in a delta of another type": [start(), grow(type="mood_delta", text="a"), text("b")],
    "a delta that does not say its type": [start(**CALL), piece('{"cmd":"'), grow(partial_json="echo "), piece('rm"}')],
    "an event named as another": [start(**CALL), {**piece('{"cmd":"'), "name": "ping"}, piece('rm"}')],
    "an event without a name": [start(**CALL), {**piece('{"cmd":"echo '), "name": ""}, piece(EVIL)],
    "a message that begins twice": [start(), text("a"), begin(content=[CALL])],
    "text that is no text": [start(), text("a"), grow(type="text_delta", text=5)],
    "a start that goes on with the call": [start(**CALL), start(type="tool_use", input={"cmd": "rm"}), stop()],
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_clients_may_read_otherwise_is_a_contradiction(name: str) -> None:
    state = state_of(tape_of(begin(), *MALFORMED[name], finish("tool_use"), END))
    assert state.contradiction
    assert state.failure is None


FINE = {
    "interleaved blocks": [start(), start(1, **CALL), text("a"), piece(EVIL, 1), text("b"), stop(1), stop()],
    "a gap in the indices": [start(0), text("a"), stop(0), start(2, **CALL), piece("{}", 2), stop(2)],
    "starts left out": [text("a"), stop(), piece(EVIL, 1), stop(1)],
    "stops left out": [start(), text("a"), start(1, **CALL), piece(EVIL, 1)],
    "an index as text": [start("0"), text("a", "0"), stop()],
    "no index for the first block": [start(None), text("a", None)],
    "a type of its own": [start(type="fancy"), text("a"), stop()],
    "a delta of its own": [start(type="fancy"), grow(type="fancy_delta", said="a"), stop()],
    "no names": [{**event, "name": ""} for event in (start(), text("a"), stop())],
}


@pytest.mark.parametrize("name", FINE)
def test_what_all_clients_read_alike_is_none(name: str) -> None:
    first = {**begin(), "name": ""} if name == "no names" else begin()
    last = {**finish(), "name": ""} if name == "no names" else finish()
    tape = tape_of(first, *FINE[name], last, END)
    assert not state_of(tape).contradiction
    assert_judged(tape)


def test_a_gateway_that_begins_a_call_again_before_each_piece_means_one_call() -> None:
    again = start(type="tool_use")
    pieces = [event for said in ('{"cmd":', '"ls"', "}") for event in (again, piece(said))]
    tape = tape_of(
        begin(),
        start(**CALL),
        *pieces,
        finish("tool_use"),
    )
    state = state_of(tape)
    assert not state.contradiction
    assert judged(state) == [("call", "a", "bash", {"cmd": "ls"})]
    assert_judged(tape)


def test_text_that_joins_a_block_of_unknown_kind_is_content() -> None:
    state = state_of(tape_of(begin(), start(type="fancy"), text("secret"), piece(EVIL), finish()))
    assert [block.kind for block in state.blocks] == [BlockKind.OTHER, BlockKind.CONTENT, BlockKind.TOOL_CALL]


SCRIPT = [start(), text("a"), stop(), start(1, **CALL), piece('{"a":', 1), piece("1}", 1), stop(1)]
INDICES: Any = st.sampled_from([0, 0, 0, 1, 1, 1, 2, -1])
ODD_INDICES: Any = st.sampled_from([None, "0", 1.0, 10**12, True])
PARTS: Any = st.sampled_from([
    {}, {"text": "x"}, CALL, {**CALL, "id": "b", "name": "read"}, {**CALL, "input": {"k": 1}}, {"type": "tool_use"},
    {"type": "thinking", "thinking": ""}, {"type": "server_tool_use", "id": "s", "name": "web", "input": {}},
    {"type": "fancy"},
])  # fmt: skip
DELTAS: Any = st.sampled_from([
    {"type": "text_delta", "text": "b"}, {"type": "input_json_delta", "partial_json": '{"a":'},
    {"type": "input_json_delta", "partial_json": "2}"}, {"type": "input_json_delta", "partial_json": " "},
    {"type": "thinking_delta", "thinking": "t"}, {"type": "signature_delta", "signature": "s"},
    {"type": "mood_delta", "text": "c"}, {"type": "mood_delta", "mood": "c"},
])  # fmt: skip
NAMES: Any = st.sampled_from([None] * 9 + ["ping"])
EVENTS = st.one_of(
    st.builds(lambda index, part: start(index, **part), INDICES | ODD_INDICES, PARTS),
    st.builds(lambda index, delta: grow(index, **delta), INDICES, DELTAS),
    st.builds(lambda index, delta: grow(index, **delta), ODD_INDICES, DELTAS),
    st.builds(stop, INDICES),
    st.sampled_from([finish(None), finish("tool_use"), END, {"type": "ping"}, begin(content=[CALL])]),
)


@st.composite
def malformed(draw: st.DrawFn) -> bytes:
    """A stream of a text and a call, with events inserted, removed and renamed."""
    script = [event for event in SCRIPT if draw(st.integers(0, 9))]
    for event in draw(st.lists(EVENTS, max_size=3)):
        name = draw(NAMES)
        script.insert(draw(st.integers(0, len(script))), event if name is None else {**event, "name": name})
    return tape_of(begin(), *script, finish("tool_use"), END)


@settings(max_examples=examples(300))
@given(malformed())
def test_generated_streams_are_read_as_the_sdk_reads_them_or_marked(tape: bytes) -> None:
    assert_judged(tape)


def test_no_recorded_stream_is_marked() -> None:
    marked = {path.stem: said for path in recorded("anthropic_messages")
              if (said := state_of(path.read_bytes()).contradiction)}  # fmt: skip
    assert marked == {}
