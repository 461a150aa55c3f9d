"""Reading OpenAI's chat completions: chunks in, blocks and events out."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamviz.core.blocks import ToolCallStreamBlock
from streamviz.core.events import (
    MALFORMED_CHUNK,
    BlockCompleted,
    BlockDelta,
    BlockKind,
    BlockSealed,
    BlockStarted,
    StreamFailed,
    StreamFinished,
)
from streamviz.core.wire.openai_chat import OpenAIChatAggregator
from tests.core.support import (
    aggregate,
    call,
    calls,
    chunks,
    delta,
    parse,
    signatures,
    sse,
    take_in,
    told,
)

# Scripts: chunks in, events and state out


def test_it_reads_a_plain_answer() -> None:
    aggregator = OpenAIChatAggregator()
    first, second, third = chunks(delta(role="assistant", content=""), delta(content="Hi"), delta(finish="stop"))
    assert aggregator.aggregate(first) == []
    assert aggregator.aggregate(second) == [BlockStarted(0, BlockKind.CONTENT, 0, None, "content"), BlockDelta(0, "Hi")]
    assert aggregator.aggregate(third) == [BlockCompleted(0), BlockSealed(0), StreamFinished("stop")]
    assert aggregator.close() == []
    assert not aggregator.state.is_truncated


def test_it_gives_all_calls_that_completed_with_one_chunk() -> None:
    aggregator = OpenAIChatAggregator()
    [chunk] = chunks(calls(call(0, "a", "f", "{}"), call(1, "b", "g", "{}"), finish="tool_calls"))
    aggregator.aggregate(chunk)
    assert [block.id for block in aggregator.state.just_completed] == ["a", "b"]
    assert [block.id for block in aggregator.state.just_sealed] == ["a", "b"]


def test_it_keeps_interleaved_indices_apart() -> None:
    state = aggregate(
        calls(call(0, "a", "f", "")), calls(call(1, "b", "g", "")), calls(call(0, arguments="1")),
        calls(call(1, arguments="2")), calls(call(0, arguments="3"), call(1, arguments="4")),
    )  # fmt: skip
    assert told(state) == [("tool_call", "a", "f", "13"), ("tool_call", "b", "g", "24")]


def test_it_opens_a_completed_call_again_and_completes_it_again() -> None:
    aggregator = OpenAIChatAggregator()
    for chunk in chunks(calls(call(0, "a", "f", "1")), calls(call(1, "b", "g", "2"))):
        aggregator.aggregate(chunk)
    first = aggregator.state.blocks[0]
    assert (first.is_complete, first.is_sealed) == (True, False)
    aggregator.aggregate(chunks(calls(call(0, arguments="3")))[0])
    assert not first.is_complete
    assert aggregator.state.just_completed == ()
    aggregator.aggregate(chunks(delta(finish="tool_calls"))[0])
    assert [block.id for block in aggregator.state.just_sealed] == ["a", "b"]
    assert first.text == "13"


def test_a_new_id_on_a_known_index_is_a_new_call() -> None:
    state = aggregate(calls(call(0, "a", "f", "{}")), calls(call(0, "b", "f", "{")), calls(call(0, arguments="}")))
    assert told(state) == [("tool_call", "a", "f", "{}"), ("tool_call", "b", "f", "{}")]


def test_a_missing_index_falls_back_to_the_id() -> None:
    state = aggregate(
        calls(call(id="a", name="f", arguments="1")), calls(call(id="b", name="g", arguments="2")),
        calls(call(id="a", arguments="3")),
    )  # fmt: skip
    assert told(state) == [("tool_call", "a", "f", "13"), ("tool_call", "b", "g", "2")]


def test_without_index_and_id_it_falls_back_to_the_position() -> None:
    state = aggregate(
        calls(call(name="f", arguments=""), call(name="g", arguments="")),
        calls(call(arguments="1"), call(arguments="2")),
    )
    assert told(state) == [("tool_call", "", "f", "1"), ("tool_call", "", "g", "2")]


def test_whole_calls_with_neither_index_nor_id_are_calls_of_their_own() -> None:
    state = aggregate(calls(call(name="f", arguments="{}")), calls(call(name="f", arguments="{}")))
    assert told(state) == [("tool_call", "", "f", "{}"), ("tool_call", "", "f", "{}")]


def test_an_index_may_be_text() -> None:
    state = aggregate(calls({"index": "0", "id": "a", "function": {"name": "f"}}), calls(call(0, arguments="1")))
    assert told(state) == [("tool_call", "a", "f", "1")]


def test_an_id_or_a_name_may_come_late_or_repeat() -> None:
    state = aggregate(
        calls(call(0, arguments="")), calls(call(0, "a", arguments="1")), calls(call(0, "a", "f")),
        calls(call(0, "a", "f", "2")), calls(call(0, "", "", "3")),
    )  # fmt: skip
    assert told(state) == [("tool_call", "a", "f", "123")]


def test_a_name_that_goes_on_and_on_is_kept_so_far() -> None:
    state = aggregate(*(calls(call(0, "a", f"{number:09}.", "x")) for number in range(500)))
    [block] = state.blocks
    assert isinstance(block, ToolCallStreamBlock)
    assert (len(block.name), block.length) == (1_000, 500)


@pytest.mark.parametrize("pieces", [["get", "_weather"], ["get", "get_weather"], ["get_weather", "get_weather"]])
def test_a_name_may_come_in_pieces_or_longer_each_time(pieces: list[str]) -> None:
    state = aggregate(*(calls(call(0, "a" if not index else None, name)) for index, name in enumerate(pieces)))
    assert told(state) == [("tool_call", "a", "get_weather", "")]


def test_content_may_come_back_after_tool_calls() -> None:
    state = aggregate(
        delta(content="a"), calls(call(0, "x", "f", "{")), delta(content="b"), calls(call(0, arguments="}")),
        delta(content="c"), delta(content="d"),
    )  # fmt: skip
    assert told(state) == [("content", "a"), ("tool_call", "x", "f", "{}"), ("content", "bcd")]


def test_content_and_a_tool_call_in_one_delta_are_two_blocks() -> None:
    state = aggregate(delta(content="a", tool_calls=[call(0, "x", "f", "{}")]))
    assert told(state) == [("content", "a"), ("tool_call", "x", "f", "{}")]


def test_thinking_and_content_may_alternate_even_in_one_delta() -> None:
    state = aggregate(
        delta(reasoning_content="1", content="a"), delta(reasoning_content="2"), delta(content="b"),
    )  # fmt: skip
    assert told(state) == [("thinking", "1"), ("content", "a"), ("thinking", "2"), ("content", "b")]
    assert [block.id for block in state.blocks] == ["thinking", "content", "thinking-2", "content-2"]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
def test_it_finds_thinking_in_each_field(field: str) -> None:
    assert told(aggregate(delta(**{field: "hm"}))) == [("thinking", "hm")]


def test_it_counts_thinking_once_when_two_fields_hold_it() -> None:
    details = [{"type": "reasoning.text", "text": "hm"}]
    state = aggregate(delta(reasoning="hm", reasoning_content="hm", reasoning_details=details))
    assert told(state) == [("thinking", "hm")]


def test_it_keeps_signatures_and_encrypted_thinking() -> None:
    state = aggregate(
        delta(reasoning_details=[{"type": "reasoning.text", "text": "hm", "signature": "s1"}]),
        delta(reasoning_details=[{"type": "reasoning.encrypted", "data": "s2"}]),
    )
    assert told(state) == [("thinking", "hm")]
    assert signatures(state) == ["s1s2"]


def test_it_reads_typed_content_parts() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "a"}, "b"]
    assert told(aggregate(delta(content=parts))) == [("thinking", "hm"), ("content", "ab")]


def test_images_and_sounds_become_media_and_unknown_parts_other_blocks() -> None:
    image = {"type": "image_url", "image_url": {"url": "u"}}
    state = aggregate(
        delta(content=[image]), delta(images=[image]), delta(audio={"id": "x"}), delta(content=[{"type": "reference"}])
    )
    assert [block.kind for block in state.blocks] == [*[BlockKind.MEDIA] * 3, BlockKind.OTHER]


def test_a_sound_is_one_block_beside_the_text_that_it_says() -> None:
    pieces = [{"id": "x", "transcript": "Good "}, {"data": "AAAA"}, {"transcript": "day."}, {"data": "AAA="}]
    state = aggregate(*(delta(audio=piece) for piece in pieces), delta(finish="stop"))
    assert [(block.kind, block.text) for block in state.blocks] == [
        ("content", "Good day."),
        ("media", '{"data":"AAAA"}\n{"data":"AAA="}'),
    ]


def test_empty_strings_make_no_block() -> None:
    assert told(
        aggregate(delta(content="", refusal="", reasoning_content=""), calls(call(0, "a", "f", ""), content=""))
    ) == [("tool_call", "a", "f", "")]


def test_empty_content_beside_arguments_does_not_end_the_call() -> None:
    first, second = chunks(calls(call(0, "a", "f", "{")), delta(content="", tool_calls=[call(0, arguments="}")]))
    aggregator = OpenAIChatAggregator()
    aggregator.aggregate(first)
    assert aggregator.aggregate(second) == [BlockDelta(0, "}")]


def test_usage_after_finish_is_taken_in_and_never_summed() -> None:
    state = aggregate(
        {**delta(content="a"), "usage": {"prompt_tokens": 5}},
        {**delta(finish="stop"), "usage": {"prompt_tokens": 5, "completion_tokens": None}},
        {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}},
        {"choices": [], "usage": None},
    )
    assert state.usage == {"prompt_tokens": 5, "completion_tokens": 2}


def test_unknown_usage_is_unknown() -> None:
    assert aggregate(delta(content="a"), delta(finish="stop")).usage is None


def test_groqs_own_usage_counts_where_there_is_nothing_else() -> None:
    inner = {"x_groq": {"usage": {"total_tokens": 1}}}
    assert aggregate({**delta(), **inner}).usage == {"total_tokens": 1}
    assert aggregate({**delta(), "usage": {"total_tokens": 2}}, {**delta(), **inner}).usage == {"total_tokens": 2}


def test_finish_reason_does_not_make_tool_calls_nor_unmake_them() -> None:
    assert told(aggregate(delta(content="a"), delta(finish="tool_calls"))) == [("content", "a")]
    assert told(aggregate(calls(call(0, "a", "f", "{}")), delta(finish="stop"))) == [("tool_call", "a", "f", "{}")]


def test_a_stream_without_finish_is_truncated_and_its_blocks_are_ended() -> None:
    state = aggregate(delta(content="a"), calls(call(0, "x", "f", "{")))
    assert state.is_truncated
    assert [(block.is_complete, block.is_sealed, block.is_truncated) for block in state.blocks] == [
        (True, True, False),
        (True, True, True),
    ]


def test_only_the_choice_without_finish_is_truncated() -> None:
    state = aggregate(delta(content="a"), delta(1, content="b"), delta(finish="stop"))
    assert [block.is_truncated for block in state.blocks] == [False, True]
    assert state.is_truncated


def test_what_comes_after_finish_is_not_lost() -> None:
    state = aggregate(delta(content="a"), delta(finish="stop"), delta(content="b"), calls(call(0, "x", "f", "{}")))
    assert told(state) == [("content", "a"), ("content", "b"), ("tool_call", "x", "f", "{}")]


def test_data_after_done_is_not_lost() -> None:
    aggregator = take_in(chunks(delta(content="a"), "[DONE]", delta(content="b"), delta(finish="stop")))
    assert told(aggregator.state) == [("content", "ab")]
    assert aggregator.has_end_mark


def test_choices_are_kept_apart() -> None:
    state = aggregate(delta(0, content="a"), delta(1, content="b"), delta(0, content="c"), delta(1, finish="length"))
    assert [(block.choice, block.text) for block in state.blocks] == [(0, "ac"), (1, "b")]
    assert state.finish_reasons == {1: "length"}


@pytest.mark.parametrize(("asked", "is_odd"), [(None, False), (1, True), (2, False)])
def test_a_choice_more_than_was_asked_for_contradicts(asked: int | None, is_odd: bool) -> None:
    """Clients that take the first choice of each chunk as the only one would add it to that."""
    aggregator = OpenAIChatAggregator()
    aggregator.answers_asked = asked
    for chunk in chunks(delta(0, content="my "), delta(1, content="key")):
        aggregator.aggregate(chunk)
    assert bool(aggregator.state.contradiction) is is_odd


def test_a_message_beside_the_deltas_is_not_counted_twice() -> None:
    payload: dict[str, Any] = delta(content="a")
    payload["choices"][0]["message"] = {"role": "assistant", "content": "a", "tool_calls": [call(0, "x", "f", "{}")]}
    assert told(aggregate(payload, payload)) == [("content", "aa")]


def test_it_reads_a_whole_answer_as_one_chunk() -> None:
    message = {"role": "assistant", "content": "a", "tool_calls": [call(id="x", name="f", arguments="{}")]}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": {"total_tokens": 1}}
    state = aggregate(body)
    assert told(state) == [("content", "a"), ("tool_call", "x", "f", "{}")]
    assert (state.finish_reason, state.usage) == ("tool_calls", {"total_tokens": 1})


def test_a_function_call_of_old_is_a_tool_call() -> None:
    state = aggregate(delta(function_call={"name": "f"}), delta(function_call={"arguments": "{}"}))
    assert told(state) == [("tool_call", "", "f", "{}")]


def test_arguments_stay_raw_text() -> None:
    raw = '{ "a" : 1,\n"a":2, "b": "\\u0041" '
    assert aggregate(calls(call(0, "x", "f", raw))).blocks[0].text == raw


def test_arguments_that_come_as_an_object_become_json_text() -> None:
    assert aggregate(calls(call(0, "x", "f", {"a": [1]}))).blocks[0].text == '{"a":[1]}'


def test_an_error_in_mid_stream_is_a_failure() -> None:
    state = aggregate(delta(content="a"), {"error": {"message": "overloaded", "type": "server_error", "code": 529}})
    assert state.failure == StreamFailed("overloaded", "server_error", "529")
    assert state.is_truncated


@pytest.mark.parametrize(
    "payload", ["{", "null", "[1]", "nothing", "3", "[" * 100_000, '{"a":' + "[" * 5000 + "]" * 5000 + "}"]
)
def test_garbage_is_a_failure_and_the_stream_goes_on(payload: str) -> None:
    state = aggregate(delta(content="a"), payload, delta(content="b"), delta(finish="stop"))
    assert state.failure is not None
    assert state.failure.kind == MALFORMED_CHUNK
    assert told(state) == [("content", "ab")]


def test_what_only_lenient_clients_can_read_is_read() -> None:
    written = sse(calls(call(0, "x", "f", "HERE")))
    raw = written.replace(b"HERE", b"\\ud800\xff")
    assert told(take_in(parse(raw)).state) == [("tool_call", "x", "f", "?�")]


def test_build_gives_the_whole_message_and_clear_forgets_it() -> None:
    aggregator = take_in(chunks(delta(reasoning_content="hm"), delta(content="a"), calls(call(0, "x", "f", "{}")),
                                delta(finish="tool_calls"), {"choices": [], "usage": {"total_tokens": 3}}))  # fmt: skip
    tool_call = {"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": "a", "reasoning_content": "hm", "tool_calls": [tool_call]}
    assert aggregator.build() == {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": {"total_tokens": 3},
    }  # fmt: skip
    aggregator.clear()
    assert (aggregator.state.blocks, aggregator.head) == ([], {})
    aggregator.aggregate(chunks(delta(content="b"))[0])
    assert told(aggregator.state) == [("content", "b")]


# Generated streams: pieces of several calls and texts in any order are put together again


@st.composite
def interleaved(draw: st.DrawFn) -> tuple[list[dict[str, object]], list[str]]:
    """Payloads with interleaved pieces of some calls, sometimes several in a chunk, and each call's arguments."""
    wanted = draw(st.lists(st.lists(st.text(max_size=3), min_size=1, max_size=4), min_size=1, max_size=4))
    indexed, repeats_id = draw(st.booleans()), draw(st.booleans())
    turns = draw(st.permutations([number for number, parts in enumerate(wanted) for _ in parts]))
    order = [(number, turns[:turn].count(number)) for turn, number in enumerate(turns)]
    payloads: list[dict[str, object]] = []
    while order:
        size = draw(st.integers(1, 3))
        batch, order = order[:size], order[size:]
        written = []
        for number, part in batch:
            has_id = part == 0 or repeats_id or not indexed
            written.append(call(number if indexed else None, f"id-{number}" if has_id else None,
                                f"f{number}" if part == 0 else None, wanted[number][part]))  # fmt: skip
        payloads.append(calls(*written, content=draw(st.sampled_from(["", None, "t"]))))
    return payloads, ["".join(parts) for parts in wanted]


@given(interleaved())
def test_calls_come_out_whole_however_they_are_interleaved(made: tuple[list[dict[str, object]], list[str]]) -> None:
    payloads, wanted = made
    blocks = [block for block in aggregate(*payloads).blocks if block.kind is BlockKind.TOOL_CALL]
    assert {block.id: block.text for block in blocks} == {f"id-{number}": text for number, text in enumerate(wanted)}


TEXT_DELTAS = st.fixed_dictionaries(
    {}, optional={"content": st.text(max_size=3), "reasoning": st.text(max_size=3), "refusal": st.text(max_size=3)}
)


@given(st.lists(TEXT_DELTAS, max_size=10))
def test_texts_are_neither_lost_nor_doubled_nor_reordered(deltas: list[dict[str, str]]) -> None:
    state = aggregate(*(delta(**fields) for fields in deltas))
    fields = {BlockKind.CONTENT: "content", BlockKind.THINKING: "reasoning", BlockKind.REFUSAL: "refusal"}
    for kind, name in fields.items():
        got = "".join(block.text for block in state.blocks if block.kind is kind)
        assert got == "".join(part.get(name, "") for part in deltas)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
KEYS = (
    *("index", "delta", "message", "finish_reason", "tool_calls", "function_call", "content", "refusal", "reasoning"),
    *("reasoning_details", "audio", "id", "name", "arguments", "function", "custom", "input", "type", "text"),
)
ODD = st.recursive(
    JSON, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
)


@given(
    st.lists(st.fixed_dictionaries({"choices": ODD}, optional={"usage": ODD, "error": ODD, "x_groq": ODD, "id": ODD}))
)
def test_no_payload_makes_it_raise(payloads: list[dict[str, object]]) -> None:
    aggregator = take_in(chunks(*payloads))
    assert all(block.is_sealed for block in aggregator.state.blocks)
    if payloads:
        aggregator.build()
