"""Reading Gemini's generateContent: chunks in, blocks and events out."""

from typing import Any

import pytest

from streamviz.core.blocks import ToolCallStreamBlock
from streamviz.core.medium import Medium
from streamviz.core.sounds import media_in
from streamviz.core.wire.gemini import GeminiAggregator
from streamviz.core.wire.gemini_arguments import assemble
from tests.core.support import chunks, signatures, told


def parts(*items: Any, finish: str | None = None, index: int | None = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(items)}}
    if finish:
        candidate["finishReason"] = finish
    if index is not None:
        candidate["index"] = index
    return {"candidates": [candidate], **more}


def call(**fields: Any) -> dict[str, Any]:
    return {"functionCall": fields}


def piece(path: str, **value: Any) -> dict[str, Any]:
    return {"jsonPath": path, **value}


def take_in(*payloads: object) -> GeminiAggregator:
    aggregator = GeminiAggregator()
    for chunk in chunks(*payloads):
        aggregator.aggregate(chunk)
    aggregator.close()
    return aggregator


def read(*payloads: object) -> list[tuple[str, ...]]:
    return told(take_in(*payloads).state)


def test_a_run_of_parts_of_one_kind_is_a_block() -> None:
    script = [
        parts({"text": "a", "thought": True}),
        parts({"text": "b", "thought": True}, {"text": "c"}),
        parts({"text": "d"}),
    ]
    assert read(*script) == [("thinking", "ab"), ("content", "cd")]


@pytest.mark.parametrize(("asked", "is_odd"), [(None, False), (1, True), (2, False)])
def test_a_candidate_more_than_was_asked_for_contradicts(asked: int | None, is_odd: bool) -> None:
    aggregator = GeminiAggregator()
    aggregator.answers_asked = asked
    both = {"candidates": [parts({"text": text}, index=at)["candidates"][0] for at, text in enumerate("ab")]}
    for chunk in chunks(both):
        aggregator.aggregate(chunk)
    assert bool(aggregator.state.contradiction) is is_odd


def test_an_empty_part_makes_no_block() -> None:
    assert read(parts({"text": ""}), parts({"text": "", "thoughtSignature": "s"}, finish="STOP")) == []


def test_a_signature_is_kept_with_its_thinking() -> None:
    aggregator = take_in(parts({"text": "a", "thought": True}), parts({"text": "", "thoughtSignature": "s"}))
    assert signatures(aggregator.state) == ["s"]


def test_calls_are_blocks_of_their_own() -> None:
    script = parts(call(name="a", args={"x": [1, 2]}), call(name="a", args={}, id="1"), call(name="b"), finish="STOP")
    assert read(script) == [
        ("tool_call", "", "a", '{"x": [1, 2]}'),
        ("tool_call", "1", "a", "{}"),
        ("tool_call", "", "b", "{}"),
    ]


def test_a_call_in_pieces_is_put_together_in_the_built_answer() -> None:
    aggregator = take_in(
        parts(call(name="cook", willContinue=True)),
        parts(call(partialArgs=[piece("$.steps[0].text", stringValue="sti", willContinue=True)], willContinue=True)),
        parts(call(partialArgs=[piece("$.steps[0].text", stringValue="r")], willContinue=True)),
        parts(call()),
        parts(call(name="rest"), finish="STOP"),
    )
    assert told(aggregator.state) == [("tool_call", "", "cook", ""), ("tool_call", "", "rest", "{}")]
    built: Any = aggregator.build()
    first, _ = built["candidates"][0]["content"]["parts"]
    assert first == {"functionCall": {"name": "cook", "args": {"steps": [{"text": "stir"}]}}}


@pytest.mark.parametrize(
    ("pieces", "want"),
    [
        (
            [piece("$.a", numberValue=1), piece("$.b", boolValue=False), piece("$.c", nullValue=None)],
            {"a": 1, "b": False, "c": None},
        ),
        ([piece("$.a[1]", stringValue="x")], {"a": [None, "x"]}),
        ([piece("$['a b'].c", stringValue="x")], {"a b": {"c": "x"}}),
        ([piece("$.a", stringValue="x"), piece("$.a.b", stringValue="y")], {"a": {"b": "y"}}),
        (
            [piece("$[0]", stringValue="x"), piece("", stringValue="x"), piece("$.a[99999999]", stringValue="x")],
            {"a": []},
        ),
        ([piece("$" + ".a" * 1000, stringValue="x")], {}),
    ],
)
def test_pieces_are_put_where_their_path_says(pieces: list[Any], want: Any) -> None:
    assert assemble(pieces) == want


def test_media_and_other_parts_are_kept_under_the_wires_word() -> None:
    script = parts(
        {"inlineData": {"data": "1"}}, {"codeExecutionResult": {"output": "1"}}, {"text": "a"}, finish="STOP"
    )
    assert read(script) == [("media", '{"data":"1"}'), ("other", '{"output":"1"}'), ("content", "a")]


def sound(data: str, type: str = "audio/pcm;rate=24000") -> dict[str, Any]:
    return {"inlineData": {"mimeType": type, "data": data}}


def test_a_run_of_pieces_of_sound_of_one_type_is_one_block() -> None:
    spoken = [sound("AAAA"), sound("BBBB"), sound("CCCC", "audio/wav"), {"text": "a"}, sound("DDDD", "audio/wav")]
    aggregator = take_in(parts(spoken[0]), parts(spoken[1], spoken[2]), parts(*spoken[3:], finish="STOP"))
    blocks = aggregator.state.blocks
    assert [block.kind for block in blocks] == ["media", "media", "content", "media"]
    assert media_in(blocks[0].text) == [Medium("audio/pcm;rate=24000", "AAAABBBB", 6)]
    built: Any = aggregator.build()
    assert built["candidates"][0]["content"]["parts"] == spoken


def test_images_side_by_side_are_blocks_of_their_own() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    assert [kind for kind, _ in read(parts(image), parts(image, finish="STOP"))] == ["media", "media"]


@pytest.mark.parametrize(
    ("part", "runner", "want"),
    [
        ({"executableCode": {"code": "1"}}, "provider", ("tool_call", "", "executableCode", '{"code":"1"}')),
        (
            {"toolCall": {"id": "t", "toolType": "SEARCH", "args": {"q": 1}}},
            "provider",
            ("tool_call", "t", "SEARCH", '{"q":1}'),
        ),
        ({"newCall": {"name": "n", "args": {}}}, "client", ("tool_call", "", "n", "{}")),
        ({"odd": {"name": "n", "args": {}}}, "client", ("tool_call", "", "n", "{}")),
    ],
)
def test_calls_of_other_kinds_are_calls(part: Any, runner: str, want: tuple[str, ...]) -> None:
    aggregator = take_in(parts(part, finish="STOP"))
    [block] = aggregator.state.blocks
    assert isinstance(block, ToolCallStreamBlock)
    assert (told(aggregator.state), block.label, block.runner) == ([want], next(iter(part)), runner)
    built: Any = aggregator.build()
    assert built["candidates"][0]["content"]["parts"] == [part]


def test_a_call_beside_a_text_is_not_passed_over() -> None:
    assert read(parts({"text": "a", **call(name="n")}, finish="STOP")) == [
        ("content", "a"),
        ("tool_call", "", "n", "{}"),
    ]


def test_candidates_are_choices() -> None:
    state = take_in(parts({"text": "a"}, index=0, finish="STOP"), parts({"text": "b"}, index=1, finish="SAFETY")).state
    assert [(block.choice, block.text) for block in state.blocks] == [(0, "a"), (1, "b")]
    assert state.finish_reasons == {0: "STOP", 1: "SAFETY"}


def test_a_finished_candidate_has_sealed_blocks() -> None:
    aggregator = GeminiAggregator()
    for chunk in chunks(parts({"text": "a"}, call(name="n"), finish="STOP")):
        aggregator.aggregate(chunk)
    assert all(block.is_sealed for block in aggregator.state.blocks)


def test_an_answer_is_at_its_end_where_each_candidate_is() -> None:
    aggregator = GeminiAggregator()
    script = [
        parts({"text": "a"}, index=0),
        parts({"text": "b"}, index=1, finish="STOP"),
        parts(index=0, finish="STOP"),
    ]
    ends = []
    for chunk in chunks(*script):
        aggregator.aggregate(chunk)
        ends.append(aggregator.has_end_mark)
    assert ends == [False, False, True]


def test_usage_is_the_last_that_came() -> None:
    script = [
        parts({"text": "a"}, usageMetadata={"totalTokenCount": 1}),
        parts(usageMetadata={"totalTokenCount": 3}),
        parts(),
    ]
    assert take_in(*script).state.usage == {"totalTokenCount": 3}


def test_a_blocked_prompt_is_a_failure() -> None:
    state = take_in({"promptFeedback": {"blockReason": "SAFETY"}}).state
    assert state.failure is not None
    assert (state.failure.kind, state.failure.code) == ("prompt_blocked", "SAFETY")
    assert state.finish_reason is None


def test_it_reports_an_error() -> None:
    failure = take_in({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}).state.failure
    assert failure is not None
    assert (failure.message, failure.kind, failure.code) == ("busy", "UNAVAILABLE", "503")


def test_the_built_answer_has_the_shape_of_a_whole_one() -> None:
    answer = parts(
        {"text": "a"}, {"inlineData": {"data": "x"}}, finish="STOP", index=0, modelVersion="m", usageMetadata={}
    )
    assert take_in(answer).build() == answer
    assert take_in({"response": answer}).build() == answer
