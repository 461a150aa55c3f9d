"""Streams that some clients assemble differently than the vendors' SDKs for Python: they are contradictions.

openai-node takes a choice's message as the sum of all deltas, Codex shows deltas in the order in which they come,
LangChain and Vercel's SDK join what has the same index or field and skip the rest, and JavaScript treats a list of one
name as that name.
"""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.json_value import JsonObject
from streamviz.core.wire import AGGREGATORS
from tests.core.support import HEAD, call, calls, chunks, delta, parse
from tests.core.wire.test_openai_responses import CREATED, added, done, say

BASH: JsonObject = {"role": "assistant", "content": None, "tool_calls": [call(0, "x", "bash", "{}")]}
BEGUN = calls(call(0, "c1", "bash", '{"c":"r'))
ENDS = calls(call(0, arguments='m -rf"}'))


def choice(**members: Any) -> JsonObject:
    return {**HEAD, "choices": [{"index": 0, "finish_reason": None, **members}]}


def piece(**members: Any) -> JsonObject:
    """A chunk with one piece of a call."""
    return delta(tool_calls=[members])


def between(said: JsonObject) -> list[JsonObject]:
    """The payload in the middle of a text."""
    return [delta(role="assistant", content="for"), said, delta(content="bidden")]


def thought(*deltas: JsonObject) -> list[JsonObject]:
    return [delta(**each) for each in deltas]


CHAT: dict[str, Sequence[JsonObject]] = {
    "a piece of another type": [BEGUN, piece(index=0, type="foo", foo={"arguments": "X"}), ENDS],
    "a piece of another type, and one of its own": [
        BEGUN,
        delta(tool_calls=[{"index": 0, "type": "foo", "foo": {"input": "X"}}, {"index": 0, "type": "function"}]),
        ENDS,
    ],
    "a piece without an index": [BEGUN, piece(function={"arguments": "X"}), ENDS],
    "a piece whose index is null": [BEGUN, piece(index=None, function={"arguments": "X"}), ENDS],
    "a piece whose index is a text": [BEGUN, piece(index="0", function={"arguments": "X"}), ENDS],
    "calls without an index in one delta, the first without arguments": [
        calls(call(id="a", name="bash", arguments=""), call(id="b", name="note", arguments='{"c":"rm -rf"}'))
    ],
    "calls without an index in one delta, the second without arguments": [
        calls(call(id="a", name="note", arguments='{"c":"rm -rf"}'), call(id="b", name="bash", arguments=""))
    ],
    "calls without an index in one delta, with half of the arguments each": [
        calls(call(id="a", name="bash", arguments='{"c":"r'), call(id="b", name="note", arguments='m -rf"}'))
    ],
    "calls without an index one after another": [
        calls(call(id="a", name="bash")),
        calls(call(id="b", name="note", arguments='{"c":"rm -rf"}')),
    ],
    "a call without an index behind one with index 0": [
        calls(call(0, "a", "bash", "")),
        calls(call(id="b", name="note", arguments='{"c":"rm -rf"}')),
    ],
    "a call without an index beside one with index 0": [
        calls(call(0, "a", "bash", ""), call(id="b", name="note", arguments='{"c":"rm -rf"}'))
    ],
    "a call with index 0 behind one without an index": [
        calls(call(id="a", name="bash", arguments="")),
        calls(call(0, "b", "note", '{"c":"rm -rf"}')),
    ],
    "a call without an index whose arguments go on": [
        calls(call(id="a", name="bash", arguments='{"c":"rm -rf /')),
        calls(call(arguments='tmp/x"}')),
    ],
    "a choice without an index": between({**HEAD, "choices": [{"delta": {"content": "X"}}]}),
    "a choice whose index is null": between(choice(index=None, delta={"content": "X"})),
    "a choice whose index is a text": between(choice(index="00", delta={"content": "X"})),
    "speech amid a text": between(delta(audio={"id": "a", "transcript": "X"})),
    "speech beside a text": [delta(content="for"), delta(content="bidden", audio={"id": "a", "transcript": "X"})],
    "a text amid speech": [
        delta(audio={"id": "a", "transcript": "for"}),
        delta(content="X"),
        delta(audio={"id": "a", "transcript": "bidden"}),
    ],
    "thinking in another field": thought(
        {"reasoning_content": "for"}, {"reasoning": "X"}, {"reasoning_content": "bidden"}
    ),
    "thinking in details": thought(
        {"reasoning_content": "for"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "X"}]},
        {"reasoning_content": "bidden"},
    ),
    "thinking in one of two fields": thought(
        {"reasoning_content": "for", "reasoning": "for"}, {"reasoning": "X"}, {"reasoning_content": "bidden"}
    ),
    **{
        f"a number in {name}": [delta(**{name: "41"}), delta(**{name: 11})]
        for name in ("refusal", "reasoning_content", "reasoning", "thinking")
    },
    **{f"content of {number}": [delta(content=[number])] for number in (4111, {"type": "text", "text": 4111.0})},
    "a function that is a word": [piece(index=0, id="x", type="function", function="bash")],
    "a name that is a list": [piece(index=0, id="x", type="function", function={"name": ["bash"], "arguments": "{}"})],
    "a name that is a list in a list": [piece(index=0, id="x", function={"name": [["bash"]], "arguments": "{}"})],
    "a name that is a list, as it was before tools": [delta(function_call={"name": ["bash"], "arguments": "{}"})],
    "a custom tool's name that is a list": [piece(index=0, id="x", type="custom", custom={"name": ["bash"]})],
    "an id that is a list": [piece(index=0, id=["x"], function={"name": "bash", "arguments": "{}"})],
}
# Members of another type than the format's: Vercel's SDK skips the chunk.
MISTYPED: dict[str, JsonObject] = {
    **{
        f"{name} is {value!r}": {**choice(delta={"content": "X"}), name: value}
        for name, value in [("id", 5), ("model", 3), ("created", "now"), ("created", True), ("usage", [])]
    },
    "a count is a text": {**choice(delta={"content": "X"}), "usage": {"prompt_tokens": "1"}},
    "a count of details is a text": {
        **choice(delta={"content": "X"}),
        "usage": {"prompt_tokens_details": {"cached_tokens": "1"}},
    },
    "who speaks is the user": choice(delta={"role": "user", "content": "X"}),
    "who speaks is false": choice(delta={"role": False, "content": "X"}),
    "the end is a number": choice(delta={"content": "X"}, finish_reason=0),
    "logprobs are a list": choice(delta={"content": "X"}, logprobs=[]),
    "a token has no probability": choice(delta={"content": "X"}, logprobs={"content": [{"token": "X"}]}),
    "a citation is of nothing": choice(delta={"content": "X", "annotations": [{}]}),
    "calls are an object": choice(delta={"content": "X", "tool_calls": {}}),
    "calls are false": choice(delta={"content": "X", "tool_calls": False}),
    "a call is empty": choice(delta={"content": "X", "tool_calls": [{}]}),
    "another choice is a number": {
        **HEAD,
        "choices": [{"index": 0, "delta": {"content": "X"}, "finish_reason": None}, 5],
    },
}
ODD_MEMBERS: list[tuple[str, object]] = [("error", None), ("error", ""), ("error", {}), ("created", "now")]
ODD_EXTRAS: list[object] = [5, [], {"google": 5}, {"google": {"thought_signature": 5}}]
PIECES: dict[str, JsonObject] = {
    **{
        f"beside it there is {name} {value!r}": {**piece(index=0, function={"arguments": "X"}), name: value}
        for name, value in ODD_MEMBERS
    },
    **{
        f"its extra content is {extra!r}": piece(index=0, function={"arguments": "X"}, extra_content=extra)
        for extra in ODD_EXTRAS
    },
    "beside it there is a list of content": delta(
        content=[{"type": "text", "text": ""}], tool_calls=[{"index": 0, "function": {"arguments": "X"}}]
    ),
    "the type has a capital": piece(index=0, type="Function", function={"arguments": "X"}),
    "the id is a number": piece(index=0, id=3, function={"arguments": "X"}),
    "the function is beside a word": {**piece(index=0, function={"arguments": "X"}), "model": 5},
}
# Pieces of two texts, in the order in which clients show them.
BY_TURNS = [(0, "f"), (1, "orb"), (0, "id"), (1, "den")]
# Two texts, of which the first comes last: clients join them by their places.
BACKWARDS = [(1, "bidden"), (0, "for")]
CALL: JsonObject = {"type": "function_call", "id": "f", "call_id": "c", "name": "bash", "arguments": ""}
AT: JsonObject = {"item_id": "f"}


def spoken(event: str, text: str, **more: Any) -> JsonObject:
    return say(f"{event}.delta", 0, item_id="m", content_index=0, delta=text, **more)


def within(*middle: JsonObject) -> list[JsonObject]:
    """The payloads in the middle of a response's text."""
    message = added({"type": "message", "id": "m", "role": "assistant", "content": []})
    return [CREATED, message, spoken("output_text", "for"), *middle, spoken("output_text", "bidden")]


def within_call(middle: JsonObject) -> list[JsonObject]:
    begun = say("function_call_arguments.delta", 0, **AT, delta='{"c":"r')
    ends = say("function_call_arguments.delta", 0, **AT, delta='m -rf"}')
    return [CREATED, added(CALL), begun, middle, ends]


def thinks(*parts: JsonObject) -> list[JsonObject]:
    reasoning = added({"type": "reasoning", "id": "r", "summary": []})
    return [CREATED, reasoning, *parts]


def summed(number: int, text: str) -> JsonObject:
    return say("reasoning_summary_text.delta", 0, item_id="r", summary_index=number, delta=text)


def reasoned(text: str) -> JsonObject:
    return say("reasoning_text.delta", 0, item_id="r", content_index=0, delta=text)


RESPONSES: dict[str, Sequence[JsonObject]] = {
    "speech amid a text": within(spoken("output_audio_transcript", "X")),
    "speech by another name": within(spoken("audio.transcript", "X")),
    "a text's event with dots": within(spoken("output.text", "X")),
    "a custom tool's input amid a function's arguments": within_call(
        say("custom_tool_call_input.delta", 0, **AT, delta="X")
    ),
    **{
        f"a delta that is {value!r}": within(say("output_text.delta", 0, item_id="m", content_index=0, delta=value))
        for value in (5, {"x": 1}, ["X"], True)
    },
    **{
        f"{name} {place}": within({**spoken("output_text", "X"), name: place})
        for name in ("output_index", "content_index", "summary_index")
        for place in (-1, True, 2**63)
    },
    "a place that is a text": within(
        {**spoken("output_text", "X"), "output_index": "0"},
    ),
    "a number that is a text": within(spoken("output_text", "X", sequence_number="z")),
    "logprobs that are an object": within(spoken("output_text", "X", logprobs={})),
    "a token without a probability": within(spoken("output_text", "X", logprobs=[{"token": "a", "logprob": "x"}])),
    "arguments' event with dots": within_call(say("function_call.arguments.delta", 0, **AT, delta="X")),
    "a part of the thinking behind another": thinks(summed(0, "for"), summed(1, "X"), summed(0, "bidden")),
    "a summary amid the thinking": thinks(reasoned("for"), summed(0, "X"), reasoned("bidden")),
    "a part of the thinking that its end makes longer": [
        *thinks(summed(0, "for"), summed(1, "X")),
        say("reasoning_summary_text.done", 0, item_id="r", summary_index=0, text="forbidden"),
    ],
    "texts of two messages by turns": [
        *(added({"type": "message", "id": id, "role": "assistant", "content": []}, at) for at, id in enumerate("mn")),
        *(say("output_text.delta", at, item_id="mn"[at], content_index=0, delta=text) for at, text in BY_TURNS),
    ],
    "two parts of a message by turns": [
        CREATED,
        *(say("output_text.delta", 0, item_id="m", content_index=at, delta=text) for at, text in BY_TURNS),
    ],
    "thinking of two items by turns": [
        CREATED,
        *(say("reasoning_text.delta", at, item_id="rs"[at], content_index=0, delta=text) for at, text in BY_TURNS),
    ],
    "a message behind the one after it": [
        CREATED,
        *(say("output_text.delta", at, item_id="mn"[at], content_index=0, delta=text) for at, text in BACKWARDS),
    ],
    "a whole message behind the one after it": [
        CREATED,
        *(done({"type": "message", "content": [{"type": "output_text", "text": text}]}, at) for at, text in BACKWARDS),
    ],
    "a part of a message behind the one after it": [
        CREATED,
        *(say("output_text.delta", 0, item_id="m", content_index=at, delta=text) for at, text in BACKWARDS),
    ],
    "a part of the thinking behind the one after it": thinks(*(summed(at, text) for at, text in BACKWARDS)),
    "thinking behind that of the item after it": [
        CREATED,
        *(say("reasoning_text.delta", at, item_id="rs"[at], content_index=0, delta=text) for at, text in BACKWARDS),
    ],
    "a part that goes on in its announcement": within(
        say("content_part.added", 0, item_id="m", content_index=0, part={"type": "output_text", "text": "forX"})
    ),
    "a message that goes on in its announcement": within(
        added({"type": "message", "id": "m", "content": [{"type": "output_text", "text": "forX"}]})
    ),
    "a text that its end makes longer": within(
        say("output_text.done", 0, item_id="m", content_index=0, text="forX"),
        say("output_text.delta", 1, item_id="n", content_index=0, delta="bid"),
    )[:-1],
    "a text in events of other types between two": within(
        {**say("output_text.delta", 1, item_id="x", content_index=0, delta="X"), "content_index": 0.0},
        say("output_text.delta", 2, item_id="n", content_index=0, delta="bidden"),
    )[:-1],
    "a text without deltas between two": within(
        done({"type": "message", "id": "x", "content": [{"type": "output_text", "text": "X"}]}, 1),
        say("output_text.delta", 2, item_id="n", content_index=0, delta="bid"),
    )[:-1],
    "a name that is a list": [CREATED, added({**CALL, "name": ["bash"]})],
    "a custom tool's name that is a list": [
        CREATED,
        added({"type": "custom_tool_call", "call_id": "c", "name": ["bash"], "input": ""}),
    ],
    "a name that is an object": [CREATED, added({**CALL, "name": {"x": "bash"}})],
    "a call's id that is a list": [CREATED, added({**CALL, "call_id": ["c"]})],
}
NO_TEXTS: list[object] = [["forbidden"], 4111111111111111, True, {}]
TOOL_USE: JsonObject = {"type": "tool_use", "id": "t", "name": "bash", "input": {}}


def placed(index: object, text: object) -> JsonObject:
    return {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}


TEXT_BLOCK = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
NO_INDEX = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "X"}}
MESSAGES: dict[str, Sequence[JsonObject]] = {
    **{f"a text that is {text!r}": [TEXT_BLOCK, placed(0, text), placed(0, "bidden")] for text in NO_TEXTS},
    "two texts by turns": [TEXT_BLOCK, {**TEXT_BLOCK, "index": 1}, *(placed(at, text) for at, text in BY_TURNS)],
    "a text that begins with its block, amid another": [
        TEXT_BLOCK,
        placed(0, "for"),
        {**TEXT_BLOCK, "index": 1, "content_block": {"type": "text", "text": "X"}},
        placed(1, "bidden"),
    ],
    "an index that is a text": [TEXT_BLOCK, placed(0, "for"), placed("0", "X"), placed(0, "bidden")],
    "no index": [TEXT_BLOCK, placed(0, "for"), NO_INDEX, placed(0, "bidden")],
    "a name that is a list": [
        {"type": "content_block_start", "index": 0, "content_block": {**TOOL_USE, "name": ["bash"]}}
    ],
}


def parted(*parts: JsonObject) -> list[JsonObject]:
    """Chunks of Gemini's with one part each."""
    return [{"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}]} for part in parts]


NOT_TRUE: list[object] = ["true", 1, "yes", [], {}]
GEMINI: dict[str, Sequence[JsonObject]] = {
    **{
        f"thinking that is so by {thought!r}": parted(
            {"text": "for"}, {"text": "X", "thought": thought}, {"text": "bidden"}
        )
        for thought in NOT_TRUE
    },
    **{f"a text that is {text!r}": parted({"text": text}) for text in NO_TEXTS},
}


def state_of(wire_format: str, stream: Sequence[Chunk], *, leave_out: bool = False) -> Aggregator[Chunk, JsonObject]:
    aggregator: Aggregator[Chunk, JsonObject] = AGGREGATORS[wire_format]()
    for chunk in stream:
        aggregator.prepare(chunk, leave_out=leave_out)
        aggregator.aggregate(aggregator.prepared(chunk))
    return aggregator


def named(*payloads: JsonObject) -> list[Chunk]:
    """Events with their names."""
    return parse(b"".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in payloads))


@pytest.mark.parametrize("shape", CHAT)
def test_chat_that_others_read_otherwise_contradicts_itself(shape: str) -> None:
    assert state_of("openai_chat", chunks(*CHAT[shape]), leave_out=True).state.contradiction


@pytest.mark.parametrize("what", MISTYPED)
def test_a_text_that_goes_on_in_a_chunk_of_other_types_contradicts_itself(what: str) -> None:
    assert state_of("openai_chat", chunks(*between(MISTYPED[what]))).state.contradiction


@pytest.mark.parametrize("what", PIECES)
def test_a_call_that_goes_on_in_a_chunk_of_other_types_contradicts_itself(what: str) -> None:
    assert state_of("openai_chat", chunks(BEGUN, PIECES[what], ENDS)).state.contradiction


def test_a_provider_that_always_has_another_type_does_not() -> None:
    stream = chunks(*({**each, "created": "now"} for each in between(delta(content="X"))))
    assert not state_of("openai_chat", stream).state.contradiction


ODD_JSON = {
    "a control character": b'"a\x01b"',
    "a tab": b'"a\tb"',
    "no number": b"NaN",
    "no finite number": b"-Infinity",
    "a name that changes objects": b'{"__proto__": 1}',
    "such a name with a letter escaped": b'{"\\u005f_proto__": 1}',
    "a prototype": b'{"constructor": {"prototype": {}}}',
}
PLAIN_JSON = [b'"\\ud83d"', b'"NaN"', b'"__proto__"', b'{"constructor": 1}', b'"\\u0041"', b'"\xff"']


@pytest.mark.parametrize("wire_format", ["anthropic_messages", "gemini", "openai_chat", "openai_responses"])
def test_json_that_only_some_clients_read_contradicts(wire_format: str) -> None:
    def is_contradicted(value: bytes) -> bool:
        state = state_of(wire_format, parse(b'data: {"x": ' + value + b"}\n\n")).state
        return "may be taken for another" in state.contradiction

    assert all(map(is_contradicted, ODD_JSON.values()))
    assert not any(map(is_contradicted, PLAIN_JSON))


@pytest.mark.parametrize("shape", RESPONSES)
def test_responses_that_others_read_otherwise_contradict_themselves(shape: str) -> None:
    assert state_of("openai_responses", named(*RESPONSES[shape]), leave_out=True).state.contradiction


@pytest.mark.parametrize("shape", MESSAGES)
def test_messages_that_others_read_otherwise_contradict_themselves(shape: str) -> None:
    assert state_of("anthropic_messages", named(*MESSAGES[shape]), leave_out=True).state.contradiction


@pytest.mark.parametrize("shape", GEMINI)
def test_chunks_of_gemini_that_others_read_otherwise_contradict_themselves(shape: str) -> None:
    assert state_of("gemini", chunks(*GEMINI[shape]), leave_out=True).state.contradiction


@pytest.mark.parametrize("wire_format", ["anthropic_messages", "openai_responses"])
def test_an_event_whose_type_is_its_name_alone_amid_others_does(wire_format: str) -> None:
    is_messages = wire_format == "anthropic_messages"
    payloads = [TEXT_BLOCK, placed(0, "for"), placed(0, "X"), placed(0, "bidden")] if is_messages else within(
        spoken("output_text", "X")
    )  # fmt: skip
    stream = named(*payloads)
    assert not state_of(wire_format, stream).state.contradiction
    untyped = parse(stream[-2].raw.replace(b'"type": "content_block_delta", ', b"").replace(
        b'"type": "response.output_text.delta", ', b""
    ))  # fmt: skip
    assert untyped[0].data != stream[-2].data
    assert state_of(wire_format, [*stream[:-2], *untyped, stream[-1]]).state.contradiction


# As providers send it


def test_whole_calls_without_an_index_do_not_contradict() -> None:
    first, second = call(id="a", name="f", arguments="{}"), call(id="b", name="g", arguments='{"a": 1}')
    for stream in ([calls(first, second)], [calls(first), calls(second)], [calls(call(0, "c", "f", "{}"), second)]):
        assert not state_of("openai_chat", chunks(*stream, delta(finish="tool_calls"))).state.contradiction
    alone = [calls(call(id="a", name="f", arguments="")), delta(finish="tool_calls")]
    assert not state_of("openai_chat", chunks(*alone)).state.contradiction


def test_a_message_of_all_that_came_is_left_out_where_a_policy_acts() -> None:
    so_far = ["The", "The sum", "The sum is"]
    sent = ["The", " sum", " is"]
    stream = chunks(
        *(
            choice(delta={"content": text}, message={"content": all_of_it})
            for text, all_of_it in zip(sent, so_far, strict=True)
        ),
        choice(delta={"content": ""}, message={"content": "The sum is"}, finish_reason="stop"),
    )
    for leave_out in (False, True):
        state = state_of("openai_chat", stream, leave_out=leave_out).state
        assert not state.contradiction
        assert [block.text for block in state.blocks] == ["The sum is"]
    aggregator: Aggregator[Chunk, JsonObject] = AGGREGATORS["openai_chat"]()
    aggregator.prepare(stream[1], leave_out=True)
    assert b"message" not in aggregator.prepared(stream[1]).raw
    aggregator.prepare(stream[1])
    assert aggregator.prepared(stream[1]) is stream[1]


@pytest.mark.parametrize("said", [BASH, {"content": "hi", **BASH, "role": "assistant"}, {"content": "forbidden"}])
@pytest.mark.parametrize("beside", [{"delta": {}}, {"delta": None}, {"delta": "x"}, {}], ids=str)
def test_a_message_beside_a_delta_or_behind_others_does_not_reach_clients(said: JsonObject, beside: JsonObject) -> None:
    assert left_of([delta(content="hi"), choice(**beside, message=said)]) == choice(**beside)


def left_of(stream: Sequence[JsonObject]) -> Any:
    """What a client gets of the last chunk if a policy acts."""
    *before, last = chunks(*stream)
    aggregator = state_of("openai_chat", before, leave_out=True)
    aggregator.prepare(last, leave_out=True)
    return json.loads(aggregator.prepared(last).data or b"")


def test_a_whole_answer_at_the_end_of_a_stream_is_left_out() -> None:
    """As MiniMax sends it."""
    whole = {**choice(message={"role": "assistant", "content": "Hello"}, finish_reason="stop"), "usage": {}}
    stream = [delta(role="assistant", content="Hel"), delta(content="lo"), {**whole, "object": "chat.completion"}]
    for leave_out in (False, True):
        state = state_of("openai_chat", chunks(*stream), leave_out=leave_out).state
        assert not state.contradiction
        assert [block.text for block in state.blocks] == ["Hello"]
        assert state.finish_reason == "stop"
    assert "message" not in left_of(stream)["choices"][0]


def test_an_empty_role_and_an_empty_type_are_left_out() -> None:
    """As some gateways send them, in all chunks except the first."""
    text = [delta(role="assistant", content="Hel"), delta(role="", content="lo")]
    called = [BEGUN, piece(index=0, type="", function={"arguments": 'm -rf"}'})]
    for stream in (text, called):
        assert not state_of("openai_chat", chunks(*stream)).state.contradiction
        assert not state_of("openai_chat", chunks(*stream), leave_out=True).state.contradiction
    assert left_of(text) == delta(content="lo")
    assert left_of(called) == piece(index=0, function={"arguments": 'm -rf"}'})


def test_of_a_text_clients_may_lack_the_end() -> None:
    for odd in MISTYPED.values():
        stream = chunks(delta(role="assistant", content="for"), odd)
        assert state_of("openai_chat", stream).state.contradiction in (
            "",
            "upstream contradicts itself: a call is not an object",
        )


def test_of_a_whole_answer_with_an_empty_delta_the_message_is_read() -> None:
    members = {"delta": {"role": "assistant", "content": ""}, "message": {"role": "assistant", "content": "Hello"}}
    data = json.dumps({**choice(**members, finish_reason="stop"), "object": "chat.completion"}).encode()
    state = state_of("openai_chat", [Chunk(0, 0, data, data)]).state
    assert not state.contradiction
    assert [block.text for block in state.blocks] == ["Hello"]


def test_speech_that_is_written_too_is_one_text() -> None:
    spoken_too = [delta(content=text, audio={"id": "a", "transcript": text}) for text in ("Hel", "lo")]
    state = state_of("openai_chat", chunks(*spoken_too)).state
    assert not state.contradiction
    assert state.blocks[0].text == "Hello"


def test_parts_of_the_thinking_one_after_the_other_are_one_text() -> None:
    stream = named(*thinks(reasoned("a"), reasoned("b"), summed(0, "c"), summed(0, "d"), summed(1, "e")))
    state = state_of("openai_responses", stream).state
    assert not state.contradiction
    assert state.blocks[0].text == "abcde"


def spelt(format: str, name: str, value: object) -> JsonObject:
    """A chunk with a call of `list` that also has a member of this name."""
    own: JsonObject = {"name": "list", name: value}
    if format == "openai_chat":
        return delta(tool_calls=[{"index": 0, "id": "c", "type": "function", "function": {**own, "arguments": "{}"}}])
    if format == "gemini":
        return {"candidates": [{"content": {"parts": [{"functionCall": {**own, "args": {}}}]}}]}
    if format == "anthropic_messages":
        block = {"type": "tool_use", "id": "t", "input": {}, **own}
        return {"type": "content_block_start", "index": 0, "content_block": block}
    item = {"type": "function_call", "id": "i", "call_id": "c", "arguments": "{}", **own}
    return {"type": "response.output_item.added", "output_index": 0, "item": item}


@pytest.mark.parametrize("name", ["Name", "NAME", "naMe"])
@pytest.mark.parametrize("format", ["openai_chat", "anthropic_messages", "openai_responses", "gemini"])
def test_a_name_in_another_case_contradicts(format: str, name: str) -> None:
    """Go's reader of JSON takes `Name` for `name`, and the last of both counts."""
    aggregator = AGGREGATORS[format]()
    data = json.dumps(spelt(format, name, "bash")).encode()
    aggregator.aggregate(Chunk(0, 0, data, data))
    assert aggregator.state.contradiction


@pytest.mark.parametrize(
    ("format", "said"),
    [
        ("openai_chat", delta(content="a", Content="b")),
        ("openai_chat", choice(delta={"content": "a"}, Delta={"content": "b"})),
        ("openai_chat", delta(content="a") | {"Choices": []}),
        ("openai_chat", choice(delta={"content": "a"}, Index=1)),
        ("gemini", {"candidates": [{"content": {"parts": [{"text": "a", "Text": "b"}]}}]}),
        ("gemini", {"candidates": [{"content": {"parts": [{"text": "a"}]}}], "Candidates": []}),
        ("anthropic_messages", {"type": "content_block_delta", "delta": {"type": "text_delta", "Text": "b"}}),
        ("anthropic_messages", {"type": "message_start", "message": {"content": [], "Content": [{"text": "b"}]}}),
        ("openai_responses", {"type": "response.output_text.delta", "delta": "a", "Delta": "b", "item_id": "i"}),
        ("openai_responses", {"id": "r", "object": "response", "output": [], "Output": []}),
    ],
)
def test_a_member_in_another_case_is_left_out_or_contradicts(format: str, said: JsonObject) -> None:
    aggregator = AGGREGATORS[format]()
    [chunk] = chunks(said)
    aggregator.prepare(chunk, leave_out=True)
    left = aggregator.prepared(chunk)
    aggregator.aggregate(left)
    assert left.is_cut or aggregator.state.contradiction
    assert b'"b"' not in left.raw or aggregator.state.contradiction
