"""A stream of one format written in another, as on the translated lane."""

import json
import re
from typing import Any

import pytest

from streamviz.core.wire.compaction import Summary
from streamviz.core.wire.openai_responses_seals import summary_in
from streamviz.core.wire.translator import Translator, collected
from tests.core.support import call, calls, chunks, delta
from tests.core.wire import legal
from tests.core.wire.official import payloads, read_back, take_in
from tests.core.wire.test_own_members import read

CLIENT_FORMATS = ("anthropic_messages", "openai_responses", "gemini")


def translated(target: str, *stream: Any, names: dict[str, str] | None = None) -> bytes:
    translator = Translator("openai_chat", target, names or {})
    return b"".join(map(translator.take, chunks(*stream))) + translator.end()


@pytest.mark.parametrize("target", ["anthropic_messages", "openai_responses"])
def test_it_takes_over_who_the_message_is(target: str) -> None:
    first = payloads(translated(target, delta(content="Hi"), delta(finish="stop")))[0]
    message = first.get("message") or first["response"]
    assert (message["id"], message["model"]) == ("chatcmpl-1", "m")
    assert message.get("created_at", 1) == 1


def test_it_takes_over_who_the_message_is_for_gemini() -> None:
    first, last = payloads(translated("gemini", delta(content="Hi"), delta(finish="stop")))
    assert (first["responseId"], first["modelVersion"]) == ("chatcmpl-1", "m")
    end = {"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP", "index": 0}
    assert last["candidates"] == [end]


@pytest.mark.parametrize("target", CLIENT_FORMATS)
def test_tools_have_the_clients_own_names(target: str) -> None:
    data = translated(
        target,
        calls(call(0, "call_1", "cut_1")),
        calls(call(0, arguments="{}")),
        calls(call(1, "call_2", "whole", "{}")),
        delta(finish="tool_calls"),
        names={"cut_1": "cut_short_for_chat"},
    )
    assert [name for _, name, _ in read_back(target, data).calls] == ["cut_short_for_chat", "whole"]
    legal.check(target, payloads(data))


@pytest.mark.parametrize("target", CLIENT_FORMATS)
def test_what_has_no_place_in_a_format_is_named(target: str) -> None:
    translator = Translator("openai_chat", target)
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    stream = chunks(delta(images=[image]), delta(audio={"data": "AAAA"}), delta(audio={"data": "AAAA"}))
    assert b"AAAA" not in b"".join(map(translator.take, stream))
    assert translator.left_out == ("images of the answer", "audio of the answer")
    for n in range(30):
        translator.take(chunks(delta(content=[{"type": f"{n}" * 1000, "x": "y"}]))[0])
    assert (len(translator.left_out), max(map(len, translator.left_out))) == (20, 64)


@pytest.mark.parametrize("target", CLIENT_FORMATS)
def test_a_keep_alive_may_stand_anywhere(target: str) -> None:
    translator = Translator("openai_chat", target)
    stream = chunks(delta(content="Hi"), calls(call(0, "call_1", "f", "{")), calls(call(0, arguments="}")))
    data = b"".join(translator.take(chunk) + translator.keep_alive() for chunk in stream) + translator.end()
    told = read_back(target, data)
    assert (told.content, [call[1:] for call in told.calls]) == ("Hi", [("f", {})])


def test_calls_that_are_whole_stay_so_where_upstreams_filter_ends_the_answer() -> None:
    stream = calls(call(0, "c1", "rm", "{}")), calls(call(1, "c2", "ls", "{}"), finish="content_filter")
    told = payloads(translated("openai_responses", *stream))
    items = [payload["item"] for payload in told if payload["type"] == "response.output_item.done"]
    assert [(item["name"], item["status"]) for item in items] == [("rm", "completed"), ("ls", "completed")]


NO_USAGE = {
    "input_tokens": 0,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 0,
}


@pytest.mark.parametrize("finish", ["stop", "length", None])
def test_usage_is_0_where_upstream_gave_none_as_vercels_sdk_sees_no_end_without_it(finish: str | None) -> None:
    ends = [delta(finish=finish)] if finish else []
    data = translated("openai_responses", delta(content="Hi"), *ends)
    assert payloads(data)[-1]["response"]["usage"] == NO_USAGE
    assert json.loads(collected(data, "openai_responses"))["usage"] == NO_USAGE


@pytest.mark.parametrize(
    ("told", "counts"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 2}, {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}),
        ({"prompt_tokens": 5}, {"input_tokens": 5, "total_tokens": 5}),
        ({"total_tokens": 7}, {"total_tokens": 7}),
    ],
)
def test_usage_has_every_number_of_its_format_whatever_upstream_gave(
    told: dict[str, int], counts: dict[str, int]
) -> None:
    data = translated("openai_responses", delta(content="Hi"), {**delta(finish="stop"), "usage": told})
    assert payloads(data)[-1]["response"]["usage"] == NO_USAGE | counts


def test_the_details_of_usage_have_their_numbers_too_without_which_codex_sees_no_end() -> None:
    told = {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cache_write_tokens": 3}}
    data = translated("openai_responses", delta(content="Hi"), {**delta(finish="stop"), "usage": told})
    parts = payloads(data)[-1]["response"]["usage"]["input_tokens_details"]
    assert parts == {"cached_tokens": 0, "cache_write_tokens": 3}


def interleaved(finish: str = "tool_calls") -> list[Any]:
    return [
        calls(call(0, "c1", "rm", '{"path": ')),
        calls(call(1, "c2", "ls", '{"path": ')),
        calls(call(0, arguments='"/srv/x"}')),
        calls(call(1, arguments='"/srv"}')),
        delta(finish=finish),
    ]


@pytest.mark.parametrize("target", CLIENT_FORMATS)
@pytest.mark.parametrize("finish", ["tool_calls", "length"])
def test_calls_that_come_in_turns_have_all_their_arguments(target: str, finish: str) -> None:
    told = read_back(target, translated(target, *interleaved(finish)))
    assert [call[1:] for call in told.calls] == [("rm", {"path": "/srv/x"}), ("ls", {"path": "/srv"})]


def whole(target: str, *stream: Any) -> Any:
    return json.loads(collected(translated(target, *stream), target))


CUT = ["", '{"path": "/srv/x", "only', '{"path"', "["]


@pytest.mark.parametrize("begun", CUT)
@pytest.mark.parametrize("finish", ["length", "content_filter", "model_length", None])
def test_what_there_is_of_a_call_that_is_cut_off_is_no_call(begun: str, finish: str | None) -> None:
    stream = [calls(call(0, "c1", "ls", "{}")), calls(call(1, "c2", "rm", begun)), delta(finish=finish)]
    for target in ("anthropic_messages", "gemini"):
        data = translated(target, *stream)
        assert [name for _, name, _ in read_back(target, data).calls] == ["ls"]
        assert b'"rm"' not in data + collected(data, target)
    done = whole("openai_responses", *stream)["output"]
    assert [(item["name"], item["arguments"], item["status"]) for item in done] == [
        ("ls", "{}", "completed"),
        ("rm", begun, "incomplete"),
    ]


@pytest.mark.parametrize("begun", CUT)
@pytest.mark.parametrize("target", CLIENT_FORMATS)
def test_an_answer_that_its_provider_broke_off_is_an_error_and_no_call(target: str, begun: str) -> None:
    stream = [calls(call(0, "c1", "rm", begun)), delta(finish="insufficient_system_resource"), "[DONE]"]
    data = translated(target, *stream)
    assert b"the provider ended the answer: insufficient_system_resource" in data
    told = take_in(target, data)[0].state
    assert told.failure is not None
    assert told.finish_reason in (None, "failed")
    assert b'"status":"completed"' not in data


def test_a_call_whose_arguments_are_no_json_is_told_as_that() -> None:
    stream = [calls(call(0, "c1", "rm", '{"path": /srv/x}')), delta(finish="tool_calls")]
    message = whole("anthropic_messages", *stream)
    assert message["content"][0]["input"] == {"INVALID_JSON": '{"path": /srv/x}'}
    assert message["stop_reason"] == "tool_use"
    [candidate] = whole("gemini", *stream)["candidates"]
    assert candidate["finishReason"] == "MALFORMED_FUNCTION_CALL"
    assert "rm" not in str(candidate)


@pytest.mark.parametrize("target", CLIENT_FORMATS)
def test_a_call_without_arguments_has_none(target: str) -> None:
    stream = [calls(call(0, "c1", "ls")), delta(finish="tool_calls")]
    assert [call[1:] for call in read_back(target, translated(target, *stream)).calls] == [("ls", {})]


def test_an_answer_with_calls_ends_in_calls_whatever_word_its_provider_has_for_that() -> None:
    stream = [calls(call(0, "c1", "ls", "{}")), delta(finish="stop")]
    assert whole("anthropic_messages", *stream)["stop_reason"] == "tool_use"


@pytest.mark.parametrize("target", ["anthropic_messages", "openai_responses"])
def test_what_has_no_id_has_another_in_each_turn(target: str) -> None:
    def ids(turn: str) -> list[str]:
        piece = {"index": 0, "type": "function", "function": {"name": "ls", "arguments": "{}"}}
        stream = [{**calls(piece), "id": turn}, {**delta(finish="tool_calls"), "id": turn}]
        answer = whole(target, *stream)
        [call] = answer.get("content") or answer["output"]
        return [call["id"], call.get("call_id", "")]

    assert ids("chatcmpl-1") == ids("chatcmpl-1")
    assert set(ids("chatcmpl-1")).isdisjoint(set(ids("chatcmpl-2")) - {""})
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}|", id) for id in ids("chatcmpl-" + "é/x" * 100))


PATCH = '*** Begin "Patch"\n+\tnaïve 😀 \\d\n'


@pytest.mark.parametrize("step", [1, 7, 1_000])
@pytest.mark.parametrize("are_plain", [False, True])
def test_a_function_in_place_of_a_tool_of_plain_text_is_called_as_that(step: int, are_plain: bool) -> None:
    arguments = json.dumps({"content": PATCH}, ensure_ascii=not are_plain, indent=1 if are_plain else None)
    pieces = [arguments[at : at + step] for at in range(0, len(arguments), step)]
    data = told_plain(
        calls(call(0, "call_1", "apply_patch"), call(1, "call_2", "look", '{"content": "a"}')),
        *(calls(call(0, arguments=piece)) for piece in pieces),
    )
    patch, look = payloads(data)[-1]["response"]["output"]
    assert (patch["type"], patch["call_id"], patch["name"]) == ("custom_tool_call", "call_1", "apply_patch")
    assert (patch["input"], "arguments" in patch) == (PATCH, False)
    assert (look["type"], look["arguments"]) == ("function_call", '{"content": "a"}')
    deltas = [each["delta"] for each in payloads(data) if each["type"] == "response.custom_tool_call_input.delta"]
    assert ("".join(deltas), len(deltas) > 1) == (PATCH, step < 1_000)
    legal.check("openai_responses", payloads(data))


@pytest.mark.parametrize(
    ("arguments", "input"),
    [
        ("", ""),
        ('{"content":""}', ""),
        ('{"content": "a", "more": 1}', "a"),
        ("*** Begin Patch", "*** Begin Patch"),
        ('{"input": "a"}', '{"input": "a"}'),
        ('{"patch": "' + "a" * 200 + '"}', '{"patch": "' + "a" * 200 + '"}'),
        (r'{"content": "a\d and much more"}', r"a\d and much more"),
        (r'{"content": "C:\users\\bin \" \u0041"}', r'C:\users\bin " A'),
        (r'{"content": "a\ud83d and much more"}', "a? and much more"),
        (r'{"content": "a\ud83d"}', "a?"),
        (r'{"content": "\ud83d\ud83d\ude00\ude00\n"}', "?😀?\n"),
        ('{"content": "cut off', "cut off"),
        ('{"content": "two\nlines"}', "two\nlines"),
    ],
)
@pytest.mark.parametrize("step", [1, 1_000])
def test_of_what_it_is_called_with_in_another_way_nothing_is_lost(arguments: str, input: str, step: int) -> None:
    pieces = [arguments[at : at + step] for at in range(0, len(arguments), step)]
    data = told_plain(calls(call(0, "call_1", "apply_patch")), *(calls(call(0, arguments=piece)) for piece in pieces))
    [patch] = payloads(data)[-1]["response"]["output"]
    assert (patch["type"], patch["input"]) == ("custom_tool_call", input)


@pytest.mark.parametrize("finish", ["length", "content_filter", "model_length", None])
@pytest.mark.parametrize(
    ("arguments", "status"),
    [('{"content": "*** Begin', "incomplete"), ('{"con', "incomplete"), ('{"content": "a"}', "completed"),
     ('{"content": "a"', "completed")],
)  # fmt: skip
def test_a_call_of_plain_text_that_is_cut_off_says_so(arguments: str, status: str, finish: str | None) -> None:
    data = told_plain(calls(call(0, "call_1", "apply_patch", arguments)), finish=finish)
    [done] = [each["item"] for each in payloads(data) if each["type"] == "response.output_item.done"]
    response = payloads(data)[-1]["response"]
    assert (response["status"], done["status"]) == ("incomplete", status)
    assert response["output"] == [done] == json.loads(collected(data, "openai_responses"))["output"]


def test_a_call_of_a_tool_in_a_namespace_says_so() -> None:
    namespaces = {"fs__read": ("fs", "read"), "fs__patch": ("fs", "patch")}
    translator = Translator("openai_chat", "openai_responses", plain={"fs__patch"}, namespaces=namespaces)
    called = calls(
        call(0, "c1", "fs__read", '{"a":1}'), call(1, "c2", "fs__patch", '{"content":"p"}'), call(2, "c3", "ls", "{}")
    )
    data = b"".join(map(translator.take, chunks(called, delta(finish="tool_calls")))) + translator.end()
    read, patch, ls = payloads(data)[-1]["response"]["output"]
    assert (read["type"], read["namespace"], read["name"]) == ("function_call", "fs", "read")
    assert (patch["type"], patch["namespace"], patch["name"]) == ("custom_tool_call", "fs", "patch")
    assert (ls["name"], "namespace" in ls) == ("ls", False)
    added = [each["item"] for each in payloads(data) if each["type"] == "response.output_item.added"]
    assert [(item.get("namespace"), item["name"]) for item in added] == [("fs", "read"), ("fs", "patch"), (None, "ls")]
    [done, _] = [each for each in payloads(data) if each["type"] == "response.function_call_arguments.done"]
    assert done["name"] == "read"
    legal.check("openai_responses", payloads(data))


def told_plain(*stream: Any, finish: str | None = "tool_calls") -> bytes:
    translator = Translator("openai_chat", "openai_responses", plain={"apply_patch"})
    ended = (*stream, delta(finish=finish)) if finish else stream
    return b"".join(map(translator.take, chunks(*ended))) + translator.end()


def test_a_summary_is_a_compaction_that_can_be_read() -> None:
    translator = Translator("openai_chat", "openai_responses", summary=Summary())
    stream = chunks(
        delta(reasoning_content="Hm"), delta(content="Five "), delta(content="steps."), delta(finish="stop")
    )
    data = b"".join(map(translator.take, stream)) + translator.end()
    legal.check("openai_responses", payloads(data))
    *_, last = payloads(data)
    thought, compaction = last["response"]["output"]
    assert (thought["type"], compaction["type"], compaction["id"][:4]) == ("reasoning", "compaction", "cmp_")
    assert summary_in(compaction) == "Five steps."
    [done] = [each["item"] for each in payloads(data) if each["type"] == "response.output_item.done"][1:]
    assert done == compaction
    assert translator.left_out == ()
    _, told = read("openai_responses", *payloads(data))
    assert "Five steps." in told


def test_there_is_one_summary_though_its_end_is_told_twice() -> None:
    translator = Translator("openai_chat", "openai_responses", summary=Summary())
    stream = chunks(delta(content="Five steps."), delta(finish="stop"), delta(finish="stop"))
    data = b"".join(map(translator.take, stream)) + translator.end()
    [compaction] = payloads(data)[-1]["response"]["output"]
    assert summary_in(compaction) == "Five steps."


def test_an_answer_without_a_text_is_no_summary() -> None:
    translator = Translator("openai_chat", "openai_responses", summary=Summary())
    data = b"".join(map(translator.take, chunks(delta(finish="stop")))) + translator.end()
    assert payloads(data)[-1]["response"]["output"] == []
