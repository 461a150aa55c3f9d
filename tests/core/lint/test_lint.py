"""Wire lint finds what recorded streams do that their formats do not allow, and reports nothing else."""

import json

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.json_value import JsonObject
from streamviz.core.lint.linter import Note
from streamviz.core.wire import LINT_RULES, LINTERS
from tests.core.support import call, calls, delta, parse, sse
from tests.recordings import RECORDED_FORMATS, recorded, tags

# Which tags of TAGS.md break each rule. Streams with other tags are legal: usage after the finish, an empty block, a
# call in one piece, …
TAGS = {
    "openai_chat": {
        "id_changes": ["!chunk_id_changes"],
        "id_empty": ["!chunk_id_empty_on_some"],
        "error_sent": ["!error_event"],
        "event_named": ["!event_name_on_chat_chunk:error"],
        "empty_choices": ["!empty_choices_without_usage"],
        "delta_missing": ["!delta_missing"],
        "message_beside_delta": ["!choice_carries_message_beside_delta"],
        "content_not_text": ["!content_is_list"],
        "role_missing": ["!role_never_sent"],
        "tool_calls_not_list": ["!tool_calls_null"],
        "index_missing": ["!tool_index_missing"],
        "index_not_from_0": ["!first_tool_index_not_zero"],
        "finish_missing": ["!finish_reason_never_sent"],
        "finish_repeated": ["!finish_reason_repeated"],
        "finish_not_tool_calls": ["!finish_stop_with_tool_calls"],
        "end_missing": ["!done_missing"],
        "usage_beside_choices": [
            "!usage_in_finish_chunk", "!usage_before_finish", "!usage_in_trailing_chunk_with_choices",
        ],
    },
    "anthropic_messages": {
        "end_missing": ["!message_stop_missing"],
        "finish_missing": ["!message_stop_missing"],
        "block_without_stop": ["!block_without_stop"],
        "start_not_empty": ["!message_start_with_content"],
        "start_has_stop_reason": ["!stop_reason_in_message_start"],
    },
    "openai_responses": {
        "sequence_number_missing": ["!sequence_number_missing"],
        "event_name_differs": ["!event_line_missing"],
        "foreign_end_mark": ["!done_marker_present"],
        "item_overlaps": ["!item_added_while_other_open"],
        "item_id_changes": ["!final_item_id_differs"],
        "deltas_differ": ["!arguments_only_in_done"],
    },
    "gemini": {},
}  # fmt: skip


# Exceptions that the tags do not show: an id that is empty everywhere; a second choice; usage in a chunk of its own, as
# it should be, in a stream without a finish_reason.
UNSEEN = {
    "snowflake-pydantic-ai-test-snowflake-model-streaming-0-c3a805": {"id_empty", "usage_beside_choices"},
    "self-hosted-dd-trace-py-completion-stream-multiple-choices-proxy-0-5cc4cf": {"role_missing", "finish_missing"},
    "openai-via-gateway-nexau-gpt5-multi-turn-0-05954c": {"usage_beside_choices"},
    "openai-via-gateway-nexau-recordings-gpt5-tool-0-538e25": {"usage_beside_choices"},
}


def notes(format: str, tape: bytes, is_whole: bool = True) -> list[Note]:
    """The notes on a stream; they must be the same if usual events are read the quick way."""
    linter, quick = LINTERS[format](), LINTERS[format]()
    for chunk in parse(tape):
        linter.read(chunk)
        if not quick.read_usual(chunk.raw):
            quick.read(chunk)
    linter.end(is_whole)
    quick.end(is_whole)
    assert quick.notes == linter.notes
    return linter.notes


def broken(format: str, tape: bytes) -> set[str]:
    return {note.rule for note in notes(format, tape)}


@pytest.mark.parametrize("format", RECORDED_FORMATS)
def test_recorded_streams_break_the_rules_that_their_tags_say_and_no_others(format: str) -> None:
    wrong = {}
    for path in recorded(format):
        odd = tags(path)
        wanted = {rule for rule, found in TAGS[format].items() if odd & set(found)}
        wanted ^= UNSEEN.get(path.stem, set())
        if (got := broken(format, path.read_bytes())) != wanted:
            wrong[path.stem] = (sorted(got - wanted), sorted(wanted - got))
    assert not wrong


def events(*payloads: object, named: bool = True) -> bytes:
    lines = []
    for payload in payloads:
        name = f"event: {payload['type']}\n" if named and isinstance(payload, dict) else ""
        lines.append(f"{name}data: {json.dumps(payload)}\n\n")
    return "".join(lines).encode()


def test_a_rule_is_noted_once_with_its_first_chunk() -> None:
    tape = b"".join(sse(delta(content=[])) for _ in range(3)) + sse(delta(role="assistant", finish="stop"))
    [note] = notes("openai_chat", tape + b"data: [DONE]\n\n")
    assert (note.rule, note.seq, note.times) == ("content_not_text", 0, 3)


def test_what_is_missing_is_not_asked_of_a_stream_that_was_cut_off() -> None:
    tape = sse(delta(role="assistant", content="Hal"))
    assert broken("openai_chat", tape) == {"end_missing", "finish_missing"}
    assert notes("openai_chat", tape, is_whole=False) == []


def test_calls_that_share_an_index_and_words_behind_the_end_are_found() -> None:
    tape = b"".join(
        [
            sse(calls(call(0, "a", "ls", "{}"), role="assistant")),
            sse(calls(call(0, "b", "rm", "{}"))),
            sse(delta(finish="tool_calls")),
            sse(delta(content="more")),
            b"data: [DONE]\n\n",
            sse(delta(content="still")),
        ]
    )
    assert broken("openai_chat", tape) == {"index_reused", "after_finish", "after_end"}


@pytest.mark.parametrize(
    ("rule", "odd"),
    [
        ("id_changes", {"id": "another"}),
        ("id_empty", {"id": ""}),
        ("usage_beside_choices", {"usage": {"prompt_tokens": 1}}),
        ("empty_choices", {"choices": []}),
        ("delta_missing", {"choices": [{"index": 0}]}),
        ("content_not_text", {"choices": [{"index": 0, "delta": {"content": 1}}]}),
        ("message_beside_delta", {"choices": [{"index": 0, "delta": {}, "message": {"content": "x"}}]}),
    ],
)
def test_what_is_odd_amid_usual_chunks_is_found(rule: str, odd: JsonObject) -> None:
    usual = sse(delta(content="and"))
    begun, ended = sse(delta(role="assistant", content="")), sse(delta(finish="stop")) + b"data: [DONE]\n\n"
    assert broken("openai_chat", begun + usual + usual + ended) == set()
    assert broken("openai_chat", begun + usual + sse({**delta(content="more"), **odd}) + usual + ended) == {rule}


def test_usual_chunks_behind_the_end_are_found() -> None:
    usual, ended = sse(delta(content="and")), sse(delta(finish="stop"))
    begun = sse(delta(role="assistant", content="")) + usual
    assert broken("openai_chat", begun + ended + usual + b"data: [DONE]\n\n") == {"after_finish"}
    assert broken("openai_chat", begun + ended + b"data: [DONE]\n\n" + usual) == {"after_end"}


def test_blocks_that_are_mixed_up_are_found() -> None:
    start = {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 1}}}
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    tape = events(start, block, block, {"type": "content_block_delta", "index": 7, "delta": {}})
    found = broken("anthropic_messages", tape)
    assert {"block_overlaps", "index_reused", "outside_block", "block_without_stop", "end_missing"} <= found


def test_deltas_that_differ_from_what_is_done_are_found() -> None:
    place = {"output_index": 0, "content_index": 0}
    text = "response.output_text"
    tape = events(
        {"type": f"{text}.delta", "sequence_number": 0, "delta": "Hal", **place},
        {"type": f"{text}.done", "sequence_number": 2, "text": "Hallo", **place},
        {"type": "response.completed", "sequence_number": 3, "response": {"usage": {"input_tokens": 1}}},
    )
    assert broken("openai_responses", tape) == {"deltas_differ", "sequence_number_skips"}


def test_a_candidate_without_end_is_found() -> None:
    tape = events({"candidates": [{"content": {"parts": [{"functionCall": {}}]}}]}, named=False)
    assert broken("gemini", tape) == {"call_without_name", "finish_missing", "usage_missing"}


def test_each_candidate_of_gemini_continues_its_own_calls() -> None:
    def said(index: int, call: JsonObject) -> bytes:
        return sse({"candidates": [{"index": index, "content": {"parts": [{"functionCall": call}]}}]})

    tape = said(0, {"name": "cook", "willContinue": True}) + said(1, {"name": "eat"}) + said(0, {"partialArgs": []})
    assert "call_without_name" not in broken("gemini", tape)
    assert "call_without_name" in broken("gemini", said(0, {"name": "cook", "willContinue": True}) + said(1, {}))


@pytest.mark.parametrize("format", RECORDED_FORMATS)
def test_whatever_comes_nothing_raises(format: str) -> None:
    odd: tuple[object, ...] = (None, 1, "x", [], [1], {}, {"a": [None]})
    members = ("type", "choices", "delta", "index", "candidates", "item", "response", "sequence_number", "usage", "id")
    kinds = ("content_block_start", "content_block_stop", "response.output_item.added", "response.output_text.done")
    plain = [dict.fromkeys(members, each) for each in odd]
    typed = [{**each, "type": kind} for each in plain for kind in kinds]
    tape = events(*plain, *typed, *odd, named=False)
    assert all(note.rule in LINT_RULES for note in notes(format, tape))


def test_an_answer_that_is_no_stream_has_no_rules() -> None:
    linter = LINTERS["openai_chat"]()
    linter.read(Chunk(0, 0, b"{}", b"{}"))
    linter.end()
    assert linter.notes == []


def test_a_rule_has_the_same_words_in_every_format() -> None:
    """Pages look them up by its name alone."""
    rules = {(name, demand) for linter in LINTERS.values() for name, demand in linter.rules.items()}
    assert rules == set(LINT_RULES.items())
