"""Generated streams of the client formats: order, framing and splitting do not change the blocks."""

import json
import random
from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamState, ToolCallStreamBlock
from streamviz.core.events import BlockKind
from streamviz.core.sse import SSEParser
from streamviz.core.wire import AGGREGATORS

Payload = dict[str, Any]
TEXT = st.text(max_size=4)
SEEDS = st.integers(0, 2**32)
PIECES = st.lists(TEXT, min_size=1, max_size=4)


class Call(NamedTuple):
    """A tool call as it should come out."""

    id: str
    name: str
    pieces: list[str]

    @property
    def told(self) -> tuple[str, str, str]:
        return self.id, self.name, "".join(self.pieces)


class Said(NamedTuple):
    """The payloads of a stream, and what they say."""

    payloads: list[Payload]
    calls: list[Call]
    content: str


# Framing


def framed(payloads: Iterable[Payload], seed: int) -> list[bytes]:
    """The payloads as server-sent events, in one of the ways that the standard allows, split into pieces."""
    rng = random.Random(seed)
    end = rng.choice([b"\n", b"\r\n", b"\r"])
    data = rng.choice([b"", b"\xef\xbb\xbf"])
    for payload in payloads:
        for noise in rng.sample([b": hi", b"id: 7", b"retry: 10", b"foo: bar", b":"], rng.randrange(3)):
            data += noise + end * rng.choice([1, 2])
        # JSON may have line breaks between its tokens: each line becomes a data line.
        text = json.dumps(payload, indent=rng.choice([None, 0, 1]), ensure_ascii=rng.random() < 0.5)
        lines = [f"event: {payload['type']}"] if "type" in payload and rng.random() < 0.5 else []
        lines += [f"data:{rng.choice(['', ' '])}{line}" for line in text.split("\n")]
        data += end.join(line.encode() for line in lines) + end * 2
    cuts = sorted(rng.choices(range(len(data) + 1), k=rng.randrange(7)))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def state_of(format: str, pieces: list[bytes]) -> StreamState:
    parser, aggregator = SSEParser(), AGGREGATORS[format]()
    events = [event for piece in pieces for event in parser.feed(piece)] + parser.close()
    for seq, event in enumerate(events):
        aggregator.aggregate(Chunk(seq, seq, event.raw, event.data, event.name))
    aggregator.close()
    return aggregator.state


def calls_in(state: StreamState) -> list[tuple[str, str, str]]:
    return [(block.id, block.name, block.text) for block in state.blocks if isinstance(block, ToolCallStreamBlock)]


def content_in(state: StreamState) -> str:
    return "".join(block.text for block in state.blocks if block.kind is BlockKind.CONTENT)


def interleave(draw: st.DrawFn, tracks: list[list[Payload]]) -> list[Payload]:
    """The pieces of all tracks merged, each track in its own order."""
    turns = draw(st.permutations([number for number, track in enumerate(tracks) for _ in track]))
    rest = [iter(track) for track in tracks]
    return [next(rest[number]) for number in turns]


# OpenAI's chat


def chat_pieces(draw: st.DrawFn, index: int, call: Call, is_alone: bool) -> list[Payload]:
    """The pieces of a call. Its id and name may come late, or repeatedly, unless another call has the same index."""
    id_at = draw(st.integers(0, len(call.pieces) - 1)) if is_alone else 0
    name_at = draw(st.integers(0, len(call.pieces) - 1)) if is_alone else 0
    repeats = draw(st.booleans())
    made = []
    for number, text in enumerate(call.pieces):
        function = {"arguments": text}
        piece: Payload = {"index": index, "function": function}
        if number == name_at or (repeats and number > name_at):
            function["name"] = call.name
        if number == id_at or (repeats and number > id_at):
            piece |= {"id": call.id, "type": "function"}
        made.append(piece)
    return made


@st.composite
def chat_streams(draw: st.DrawFn) -> Said:
    calls: list[Call] = []
    tracks: list[list[Payload]] = []
    for index in range(draw(st.integers(0, 3))):
        count = draw(st.integers(1, 2))
        own = [Call(f"id-{index}-{n}", f"f{index}{n}", draw(PIECES)) for n in range(count)]
        tracks.append([piece for call in own for piece in chat_pieces(draw, index, call, count == 1)])
        calls += own
    content, deltas = "", []
    order = interleave(draw, tracks)
    while order:
        size = draw(st.integers(1, 3))
        text = draw(st.one_of(st.none(), TEXT))
        deltas.append({"tool_calls": order[:size], **({} if text is None else {"content": text})})
        content += text or ""
        order = order[size:]
    for text in draw(st.lists(TEXT, max_size=2)):
        deltas.append({"content": text})
        content += text
    payloads: list[Payload] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    return Said([*payloads, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}], calls, content)


@given(SEEDS, chat_streams())
def test_chat_calls_come_out_whole(seed: int, said: Said) -> None:
    state = state_of("openai_chat", framed(said.payloads, seed))
    assert sorted(calls_in(state)) == sorted(call.told for call in said.calls)
    assert content_in(state) == said.content


@given(chat_streams(), chat_streams())
def test_data_behind_done_is_neither_lost_nor_an_error(first: Said, second: Said) -> None:
    events = [b"data: %b\n\n" % json.dumps(payload).encode() for payload in first.payloads]
    events.append(b"data: [DONE]\n\n")
    events += [b"data: %b\n\n" % json.dumps(payload).encode() for payload in second.payloads]
    state = state_of("openai_chat", events)
    assert state.failure is None
    assert content_in(state) == first.content + second.content
    pieces = [piece for said in (first, second) for call in said.calls for piece in call.pieces]
    assert sorted("".join(text for _, _, text in calls_in(state))) == sorted("".join(pieces))


# Anthropic's messages


@st.composite
def message_streams(draw: st.DrawFn) -> Said:
    calls: list[Call] = []
    payloads: list[Payload] = [{"type": "message_start", "message": {"id": "m", "content": []}}]
    # Rounds of interleaved blocks, each of which reuses the indices.
    for turn in range(draw(st.integers(1, 2))):
        tracks: list[list[Payload]] = []
        for index in range(draw(st.integers(1, 3))):
            pieces = draw(PIECES)
            if draw(st.booleans()):
                call = Call(f"id-{turn}-{index}", f"f{index}", pieces)
                calls.append(call)
                start: Payload = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
                deltas = [{"type": "input_json_delta", "partial_json": text} for text in pieces]
            else:
                start, deltas = {"type": "text", "text": ""}, [{"type": "text_delta", "text": text} for text in pieces]
            tracks.append([
                {"type": "content_block_start", "index": index, "content_block": start},
                *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
                {"type": "content_block_stop", "index": index},
            ])  # fmt: skip
        payloads += interleave(draw, tracks)
    content = "".join(payload.get("delta", {}).get("text", "") for payload in payloads)
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}
    return Said([*payloads, end, {"type": "message_stop"}], calls, content)


@given(SEEDS, message_streams())
def test_message_calls_come_out_whole(seed: int, said: Said) -> None:
    state = state_of("anthropic_messages", framed(said.payloads, seed))
    assert sorted(calls_in(state)) == sorted(call.told for call in said.calls)
    assert sorted(content_in(state)) == sorted(said.content)


# OpenAI's responses


@st.composite
def response_streams(draw: st.DrawFn) -> Said:
    calls: list[Call] = []
    content = ""
    tracks: list[list[Payload]] = []
    for index in range(draw(st.integers(1, 3))):
        pieces = draw(PIECES)
        where = {"output_index": index, "item_id": f"item-{index}"}
        if draw(st.booleans()):
            call = Call(f"id-{index}", f"f{index}", pieces)
            calls.append(call)
            item: Payload = {"type": "function_call", "id": f"item-{index}", "call_id": call.id, "name": call.name}
            word, whole = "function_call_arguments", {**item, "arguments": "".join(pieces)}
        else:
            content += "".join(pieces)
            item = {"type": "message", "id": f"item-{index}", "content": []}
            word, whole = "output_text", {**item, "content": [{"type": "output_text", "text": "".join(pieces)}]}
        tracks.append([
            {"type": "response.output_item.added", "output_index": index, "item": item},
            *({"type": f"response.{word}.delta", "content_index": 0, "delta": text, **where} for text in pieces),
            {"type": "response.output_item.done", "output_index": index, "item": whole},
        ])  # fmt: skip
    payloads = [{"type": "response.created", "response": {"id": "r", "status": "in_progress"}}]
    payloads += interleave(draw, tracks)
    return Said([*payloads, {"type": "response.completed", "response": {"status": "completed"}}], calls, content)


@given(SEEDS, response_streams())
def test_response_calls_come_out_whole(seed: int, said: Said) -> None:
    state = state_of("openai_responses", framed(said.payloads, seed))
    assert sorted(calls_in(state)) == sorted(call.told for call in said.calls)
    assert sorted(content_in(state)) == sorted(said.content)


@pytest.mark.parametrize("format", AGGREGATORS)
@given(st.lists(st.binary(max_size=60), max_size=6))
def test_no_bytes_make_it_raise(format: str, pieces: list[bytes]) -> None:
    assert all(block.is_sealed for block in state_of(format, [b"data: ", *pieces]).blocks)
