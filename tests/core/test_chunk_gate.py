"""Policies with their own on_chunk: exactly what they send goes out."""

from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamState
from streamviz.core.context import StreamingContext
from streamviz.core.json_value import JsonObject
from streamviz.core.judgements import Subject
from streamviz.core.policy import Policy
from streamviz.core.verdicts import Decision, Mode
from tests.core.support import Run, active, call, calls, chunks, delta, deny_names, told

STREAM = chunks(
    delta(content="a"), delta(content="b"), calls(call(0, "x", "rm", "{}")), delta(finish="tool_calls"), "[DONE]"
)


class Gate(Policy):
    """Handles each chunk with `act`."""

    def __init__(self, act: Any) -> None:
        self._act = act

    async def on_chunk(self, chunk: Chunk | None, state: StreamState, context: StreamingContext) -> None:
        self._act(chunk, state, context, context.memory_of(self))


def everything(chunk: Chunk | None, state: StreamState, context: StreamingContext, memory: JsonObject) -> None:
    if chunk is not None:
        context.send(chunk)


def from_the_second(chunk: Chunk | None, state: StreamState, context: StreamingContext, memory: JsonObject) -> None:
    """Send each chunk when the next one arrives, and the last at the end."""
    before = memory.get("before")
    if isinstance(before, Chunk):
        context.send(before)
    memory["before"] = chunk


def but_text(chunk: Chunk | None, state: StreamState, context: StreamingContext, memory: JsonObject) -> None:
    if chunk is not None and chunk.seq != 1:
        context.send(chunk)


def stop_at_calls(chunk: Chunk | None, state: StreamState, context: StreamingContext, memory: JsonObject) -> None:
    if len(state.blocks) > 1:
        context.terminate()
    elif chunk is not None:
        context.send(chunk)


def broken(chunk: Chunk | None, state: StreamState, context: StreamingContext, memory: JsonObject) -> None:
    if chunk is not None and chunk.seq == 1:
        raise RuntimeError("it broke")
    everything(chunk, state, context, memory)


BYTES = b"".join(chunk.raw for chunk in STREAM)


@pytest.mark.parametrize("act", [everything, from_the_second])
async def test_what_it_sends_goes_on_now_or_later(act: Any) -> None:
    it = await Run([active(Gate(act))]).finish(STREAM)
    assert it.tape == BYTES
    assert [frame.seq for frame in it.context.outbox] == [0, 1, 2, 3, 4]
    assert it.context.judgements == []


async def test_what_it_does_not_send_is_never_sent() -> None:
    it = await Run([active(Gate(but_text))]).finish(STREAM)
    assert it.tape == BYTES.replace(STREAM[1].raw, b"")
    [judgement] = it.context.judgements
    assert (judgement.subject, judgement.verdict.decision) == (Subject.STREAM, Decision.REPLACE)
    assert judgement.verdict.evidence == {"chunks": 1, "first": 1}


async def test_it_can_end_the_stream_legally() -> None:
    it = await Run([active(Gate(stop_at_calls))]).finish(STREAM)
    assert told(it.client_state) == [("content", "ab[Halted by policy rule.]")]
    assert it.client_state.finish_reason == "content_filter"
    assert it.context.is_terminated


async def test_other_policies_judge_the_blocks_that_it_lets_through() -> None:
    it = await Run([active(Gate(from_the_second), name="gate"), active(deny_names("rm"))]).finish(STREAM)
    assert told(it.client_state) == [("content", "ab[not allowed]")]
    assert it.client_state.finish_reason == "stop"


async def test_in_shadow_it_changes_nothing_and_what_it_would_have_withheld_is_noted() -> None:
    it = await Run([active(Gate(but_text), Mode.SHADOW)]).finish(STREAM)
    assert it.tape == BYTES
    assert [judgement.verdict.evidence["chunks"] for judgement in it.context.judgements] == [1]


async def test_where_it_fails_the_stream_halts_unless_it_fails_open() -> None:
    it = await Run([active(Gate(broken))]).finish(STREAM)
    assert told(it.client_state) == [("content", "a[Denied by policy rule: it failed.]")]
    assert [judgement.failure for judgement in it.context.judgements] == ["RuntimeError: it broke"]
    it = await Run([active(Gate(broken), fail_open=True)]).finish(STREAM)
    assert it.tape == BYTES
    assert [judgement.failure for judgement in it.context.judgements] == ["RuntimeError: it broke"]


async def test_what_it_makes_itself_is_sent_under_its_name() -> None:
    def adds(chunk: Chunk | None, state: StreamState, context: StreamingContext, memory: JsonObject) -> None:
        if chunk is not None:
            context.send(chunk)
            if chunk.seq == 0:
                context.send_made(b": hello\n\n", "whoever")

    it = await Run([active(Gate(adds))]).finish(STREAM)
    assert it.tape == BYTES.replace(STREAM[0].raw, STREAM[0].raw + b": hello\n\n")
    assert [frame.origin for frame in it.context.outbox][:3] == ["upstream", "rule", "upstream"]


EMPTY = b'{"choices":[{"index":0,"delta":{"content": "","tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}'


@pytest.mark.parametrize(
    ("data", "is_left_out"),
    [
        (EMPTY, True),
        (EMPTY.replace(b'"content": ""', b'"content":"\\n"'), False),
        (b'{"choices":[{"index":0,"delta":{"content":""}}]}', False),
        (b'{"choices":[{"index":0,"delta":{"tool_calls":[],"content":""}}]}', False),
    ],
    ids=["beside a call", "not empty", "alone", "beside no call"],
)
async def test_empty_content_beside_calls_is_not_shown_and_stays_on_both_tapes(data: bytes, is_left_out: bool) -> None:
    shown: list[bytes | None] = []

    def look(chunk: Chunk | None, state: StreamState, context: StreamingContext, memory: JsonObject) -> None:
        shown.append(None if chunk is None else chunk.data)
        everything(chunk, state, context, memory)

    came = Chunk(0, 0, b"data: " + data + b"\n\n", data)
    it = await Run([active(Gate(look))]).finish([came])
    assert it.tape == came.raw
    assert shown[0] is not None
    assert (b'"content"' not in shown[0]) is is_left_out
    assert (shown[0] == data) is not is_left_out
