"""Writing Gemini's generateContent: what verdicts change and what they leave alone; read back by Google's SDK."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from google import genai
from google.genai import errors, types

from streamviz.core.aggregator import Chunk
from streamviz.core.composer import Composer
from streamviz.core.events import BlockDelta, BlockKind, BlockSealed, BlockStarted, StreamFailed
from streamviz.core.json_value import encode
from streamviz.core.policy import Policy
from streamviz.core.verdicts import Decision, Verdict
from streamviz.core.wire.gemini import GeminiAggregator
from streamviz.core.wire.gemini_body_composer import GeminiBodyComposer
from streamviz.core.wire.gemini_composer import GeminiComposer
from streamviz.core.wire.thought_signatures import SKIP
from streamviz.policies import build
from tests.core.support import About, Run, active, call, calls, chunks, deny_names, take_in
from tests.core.wire import legal
from tests.core.wire.official import payloads

CALL = {"functionCall": {"name": "rm", "args": {"path": "/"}, "id": "c1"}, "thoughtSignature": "cm0="}
KEPT = {"functionCall": {"name": "ls", "args": {"path": "/srv"}}, "thoughtSignature": "bHM="}
TOP = {"modelVersion": "gemini-3", "responseId": "r1", "usageMetadata": {"totalTokenCount": 3}}


def said(*parts: Any, finish: str = "", **more: Any) -> dict[str, Any]:
    ends = {"finishReason": finish} if finish else {}
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **ends, "index": 0, **more}], **TOP}


async def streamed(policy: Policy, *payloads: object) -> Run:
    aggregator = GeminiAggregator()
    run = Run([active(policy)], GeminiComposer(aggregator.head), aggregator)
    return await run.finish(chunks(*payloads))


async def whole(policy: Policy, payload: dict[str, Any]) -> Any:
    aggregator, body = GeminiAggregator(), encode(payload)
    run = Run([active(policy)], GeminiBodyComposer(payload), aggregator)
    await run.finish([Chunk(0, 0, body, body)])
    return json.loads(run.tape)


def parts_of(payload: Any) -> list[Any]:
    return [part for candidate in payload["candidates"] for part in candidate["content"]["parts"]]


def sdk(answer: bytes) -> Iterator[types.GenerateContentResponse]:
    """What Google's client makes of a stream."""
    kind = {"content-type": "text/event-stream"}
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, content=answer, headers=kind))
    unverified = {"verify": False}  # loading certificates takes each client 50 ms
    options = types.HttpOptions(
        base_url="http://upstream.test",
        client_args={"transport": transport, **unverified},
        async_client_args=unverified,
    )
    client = genai.Client(api_key="none", http_options=options)
    yield from client.models.generate_content_stream(model="m", contents="?")


async def test_a_denied_call_leaves_the_one_beside_it_as_it_came() -> None:
    run = await streamed(deny_names("rm"), said({"text": "Well."}), said(CALL, KEPT, finish="STOP"))
    first, second = payloads(run.tape)
    assert first == said({"text": "Well."})
    assert parts_of(second) == [{"text": "[not allowed]"}, KEPT]
    assert second["usageMetadata"] == TOP["usageMetadata"]
    assert second["candidates"][0]["finishReason"] == "STOP"
    read = list(sdk(run.tape))
    assert "".join(chunk.text or "" for chunk in read) == "Well.[not allowed]"
    assert [call.name for chunk in read for call in chunk.function_calls or []] == ["ls"]


async def test_a_replaced_call_has_the_word_that_stands_for_the_signature_over_what_it_was() -> None:
    policy = About(0, Verdict(Decision.REPLACE, "", '{"path": "/srv/x"}'))
    run = await streamed(policy, said(CALL, finish="STOP"))
    [payload] = payloads(run.tape)
    call = {"id": "c1", "name": "rm", "args": {"path": "/srv/x"}}
    assert parts_of(payload) == [{"functionCall": call, "thoughtSignature": SKIP}]
    body = await whole(policy, said(CALL, finish="STOP"))
    assert parts_of(body) == parts_of(payload)
    [read] = sdk(run.tape)
    [content] = [candidate.content for candidate in read.candidates or []]
    # As the client sends it back.
    assert content is not None
    assert content.model_dump(mode="json", by_alias=True, exclude_none=True)["parts"] == parts_of(payload)


UNSIGNED = {"functionCall": {"name": "ls", "args": {"path": "/srv"}}}


@pytest.mark.parametrize(
    ("beside", "left"),
    [
        ([UNSIGNED, UNSIGNED], [{**UNSIGNED, "thoughtSignature": SKIP}, UNSIGNED]),
        ([{"text": "a"}, KEPT, UNSIGNED], [{"text": "a"}, KEPT, UNSIGNED]),
    ],
)
async def test_a_signature_that_went_with_a_denied_call_is_made_up_for(beside: list[Any], left: list[Any]) -> None:
    left = [{"text": "[not allowed]"}, *left]
    body = await whole(deny_names("rm"), said(CALL, *beside, finish="STOP"))
    at_once = await streamed(deny_names("rm"), said(CALL, *beside, finish="STOP"))
    assert parts_of(body) == parts_of(payloads(at_once.tape)[0]) == left
    one_by_one = await streamed(deny_names("rm"), *map(said, [CALL, *beside]), said(finish="STOP"))
    told = [part for payload in payloads(one_by_one.tape) for part in parts_of(payload) if part != {"text": ""}]
    assert told == left


async def test_where_nothing_was_signed_nothing_is() -> None:
    unsigned = {"functionCall": CALL["functionCall"]}
    body = await whole(deny_names("rm"), said(unsigned, UNSIGNED, finish="STOP"))
    assert parts_of(body) == [{"text": "[not allowed]"}, UNSIGNED]


async def test_where_nothing_is_changed_the_bytes_are_upstreams() -> None:
    stream = [said({"text": "a", "thought": True}), said(KEPT, finish="STOP", groundingMetadata={"x": ["a b"]})]
    run = await streamed(deny_names("rm"), *stream)
    assert run.tape == b"".join(chunk.raw for chunk in chunks(*stream))


async def test_what_repeats_a_text_goes_with_it() -> None:
    rule = build("text_rule", {"patterns": ["secret"], "replacement": "[x]"})
    repeats = {"groundingSupports": [{"segment": {"text": "a secret"}}]}
    stream = [said({"text": "a sec"}), said({"text": "ret b"}), said(finish="STOP", groundingMetadata=repeats)]
    run = await streamed(rule, *stream)
    read = list(sdk(run.tape))
    assert "".join(chunk.text or "" for chunk in read) == "a [x] b"
    assert b"secret" not in run.tape
    assert b"grounding" not in run.tape


async def test_a_halted_stream_ends_legally() -> None:
    rule = build("text_rule", {"patterns": ["secret"], "action": "halt", "text": "[stop]"})
    run = await streamed(rule, said({"text": "a secret"}), said({"text": "more"}, finish="STOP"))
    legal.check("gemini", payloads(run.tape))
    last = list(sdk(run.tape))[-1]
    assert last.candidates is not None
    assert last.candidates[0].finish_reason is types.FinishReason.SAFETY
    assert b"secret" not in run.tape


async def test_a_candidate_that_has_ended_is_not_told_why_another_is_halted() -> None:
    rule = build("text_rule", {"patterns": ["secret"], "action": "halt", "text": "[stop]"})
    other = {"content": {"role": "model", "parts": [{"text": "a secret"}]}, "index": 1}
    ended = said({"text": "well"}, finish="STOP")
    ended["candidates"].append(other)
    run = await streamed(rule, ended)
    legal.check("gemini", payloads(run.tape))
    told = {each["index"]: each for payload in payloads(run.tape) for each in payload["candidates"]}
    assert [part["text"] for part in told[1]["content"]["parts"]] == ["a ", "[stop]"]
    assert told[1]["finishReason"] == "SAFETY"
    assert [part["text"] for part in told[0]["content"]["parts"]] == ["well"]


async def test_parts_other_than_texts_and_calls_are_said_again_as_they_were() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    image = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
    run = await streamed(deny_names("rm"), said(CALL), said(code, image, finish="STOP"))
    assert parts_of(payloads(run.tape)[1]) == [code, image]


async def test_pieces_of_a_sound_are_said_again_as_they_were() -> None:
    sounds = [{"inlineData": {"mimeType": "audio/pcm", "data": data}} for data in ("AAAA", "BBBB", "CCCC")]
    run = await streamed(deny_names("rm"), said(CALL), said(sounds[0]), said(*sounds[1:], finish="STOP"))
    legal.check("gemini", payloads(run.tape))
    assert [part for payload in payloads(run.tape)[1:] for part in parts_of(payload)] == sounds
    body = await whole(deny_names("rm"), said(CALL, *sounds, finish="STOP"))
    assert parts_of(body)[1:] == sounds
    composer = GeminiComposer({})
    label, lines = "inlineData", "\n".join(json.dumps(sound["inlineData"]) for sound in sounds)
    frames = composer.compose([BlockStarted(0, BlockKind.MEDIA, label=label), BlockDelta(0, lines), BlockSealed(0)])
    assert parts_of(payloads(b"".join(frames))[0]) == sounds


async def test_a_denied_call_in_a_whole_answer() -> None:
    body = await whole(deny_names("rm"), said({"text": "Well."}, CALL, KEPT, finish="STOP", avgLogprobs=-0.1))
    assert parts_of(body) == [{"text": "Well."}, {"text": "[not allowed]"}, KEPT]
    assert body["candidates"][0]["finishReason"] == "STOP"
    assert {name: body[name] for name in TOP} == TOP


async def test_text_of_several_parts_of_a_whole_answer_is_said_anew_once() -> None:
    rule = build("text_rule", {"patterns": ["secret"], "replacement": "[x]"})
    body = await whole(rule, said({"text": "a sec"}, {"text": "ret b"}, KEPT, finish="STOP"))
    assert parts_of(body) == [{"text": "a [x] b"}, KEPT]


@pytest.mark.parametrize(
    ("failure", "code", "status"),
    [
        (StreamFailed("no", "permission_error"), 403, "PERMISSION_DENIED"),
        (StreamFailed("no", "UNAVAILABLE", "503"), 503, "UNAVAILABLE"),
        (StreamFailed("no", "new", "denied_by_policy"), 500, "INTERNAL"),
        (StreamFailed("no", "rate_limit_error", "1302"), 429, "RESOURCE_EXHAUSTED"),
        (StreamFailed("no", "request_too_large"), 413, "INVALID_ARGUMENT"),
        (StreamFailed("no", "timeout_error"), 504, "DEADLINE_EXCEEDED"),
    ],
)
def test_googles_client_raises_what_broke_a_stream(failure: StreamFailed, code: int, status: str) -> None:
    composer: Composer = GeminiComposer({})
    answer = chunks(said({"text": "a"}))[0].raw + composer.keep_alive() + composer.fail(failure)
    with pytest.raises(errors.APIError) as raised:
        list(sdk(answer))
    assert (raised.value.code, raised.value.status, raised.value.message) == (code, status, "no")


EVASIONS = {
    "a member in snake_case": said({"function_call": {"name": "rm", "args": {}}}),
    "a call beside a text": said({"text": "a", **KEPT}),
    "a text that is none": said({"text": ["some words"]}),
    "arguments that are none": said({"functionCall": {"name": "ls", "args": "some words"}}),
    "arguments in pieces": said({"functionCall": {"name": "ls", "partialArgs": [{"jsonPath": "$.a"}]}}),
    "a thought that is perhaps one": said({"text": "a", "thought": "some words"}),
    "a candidate out of its place": said({"text": "a"}, index=1),
    "parts that are no list": {"candidates": [{"content": {"parts": {"other": "some words"}}}]},
    "a part that is named by words": said({"some words": 1}),
    "a part of an unknown kind": said({"other": {"text": "some words"}}),
    "words about a part": said({"text": "a", "partMetadata": {"of": "some words"}}),
    "a signature that is none": said({"text": "a", "thoughtSignature": {"of": "some words"}}),
    "code that is none": said({"executableCode": ["some words"]}),
    "a call of Gemini's own that is none": said({"toolCall": "some words"}),
    "a call in one of Gemini's own": said({"toolCall": {"text": {"name": "ls", "args": {}}}}),
    "what is no piece of arguments": said({"functionCall": {"partialArgs": [["some words"]]}}),
    "a call whose id is none": said({"functionCall": {"name": "ls", "id": {"of": "some words"}}}),
    "an answer that is wrapped twice": {"response": {"response": said({"text": "some words"})}},
    "data of its own": 'x\n{"candidates": [{"content": {"parts": [{"text": "some words"}]}}]}',
    "a comment": '{"candidates": []}\n: comment',
}


LEFT_OUT = {
    "another member beside a text": said({"text": "a", "other": "some words"}),
    "words in the envelope": {**said({"text": "a"}), "words": "some words"},
    "words in a candidate": said({"text": "a"}, words="some words"),
    "candidates that are no list": {"candidates": {"text": "some words"}},
    "an answer beside an answer": {"candidates": [], "response": said({"text": "some words"})},
    "words in an answer that is wrapped": {"response": {**said({"text": "a"}), "words": "some words"}},
}


@pytest.mark.parametrize("payload", LEFT_OUT.values(), ids=LEFT_OUT)
async def test_what_the_format_has_no_words_for_is_left_out(payload: Any) -> None:
    run = await streamed(deny_names("rm"), payload, said({"text": "b"}))
    assert b"some words" not in run.tape
    assert payloads(run.tape)[-1] == said({"text": "b"})


@pytest.mark.parametrize("payload", EVASIONS.values(), ids=EVASIONS)
async def test_what_clients_may_read_otherwise_is_held_back(payload: Any) -> None:
    run = await streamed(deny_names("rm"), said({"text": "a"}), payload)
    assert payloads(run.tape) == [said({"text": "a"})]
    assert run.processor.is_broken


@pytest.mark.parametrize("label", ["executableCode", "toolCall", "lookCall"])
def test_a_call_of_geminis_own_is_read_with_all_that_it_says(label: str) -> None:
    aggregator = GeminiAggregator()
    aggregator.aggregate(chunks(said({label: {"args": {}, "code": "reboot"}}))[0])
    assert "reboot" in aggregator.state.blocks[0].text


@pytest.mark.parametrize("name", ["id", "name", "toolType"])
async def test_what_names_a_call_of_geminis_own_is_read(name: str) -> None:
    payload = said({"toolCall": {"toolType": "LOOK", "args": {}, name: "jane.roe@example.com"}})
    run = await streamed(build("redact", {"in": ["content"]}), payload)
    assert b"jane.roe" not in run.tape


async def test_a_candidate_that_goes_on_behind_its_end_is_held_back() -> None:
    run = await streamed(deny_names("rm"), said({"text": "a"}, finish="STOP"), said({"text": "b"}))
    assert b'"b"' not in run.tape


def test_a_call_that_is_cut_off_is_none() -> None:
    composer = GeminiComposer({}, source="openai_chat")
    aggregator = take_in(chunks(calls(call(0, "c", "rm", '{"path": "/'))))
    assert composer.compose(aggregator.state.events) == []


CODE = {"executableCode": {"language": "PYTHON", "code": "x"}}
CAME_OF_IT = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "y"}}
SEARCH = {"toolCall": {"id": "s1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["q"]}}}
FOUND = {"toolResponse": {"id": "s1", "toolType": "GOOGLE_SEARCH_WEB", "response": {"a": "b"}}}
OTHER_FOUND = {"toolResponse": {**FOUND["toolResponse"], "id": "s2"}}
NO = {"text": "[no]"}


@pytest.mark.parametrize(
    ("parts", "left"),
    [
        ([CODE, CAME_OF_IT, {"text": "a"}], [NO, {"text": "a"}]),
        ([CODE, CAME_OF_IT, CODE, CAME_OF_IT], [NO, CODE, CAME_OF_IT]),
        ([SEARCH, OTHER_FOUND, FOUND, {"text": "a"}], [NO, OTHER_FOUND, {"text": "a"}]),
    ],
)
async def test_what_came_of_a_denied_call_goes_with_it(parts: list[Any], left: list[Any]) -> None:
    policy = About(0, Verdict(Decision.DENY, "", "[no]"))
    answer = await whole(policy, said(*parts, finish="STOP"))
    assert parts_of(answer) == left
    at_once = await streamed(policy, said(*parts, finish="STOP"))
    assert parts_of(payloads(at_once.tape)[0]) == left
    one_by_one = await streamed(policy, *map(said, parts), said(finish="STOP"))
    told = [part for payload in payloads(one_by_one.tape) for part in parts_of(payload) if part != {"text": ""}]
    assert told == left


async def test_a_changed_call_of_geminis_own_has_its_members_names() -> None:
    policy = About(0, Verdict(Decision.REPLACE, "", '{"queries":["r"]}'))
    want = {"toolCall": {**SEARCH["toolCall"], "args": {"queries": ["r"]}}}
    assert parts_of(await whole(policy, said(SEARCH, finish="STOP"))) == [want]
    told = payloads((await streamed(policy, said(SEARCH), said(finish="STOP"))).tape)
    assert [part for payload in told for part in parts_of(payload) if part != {"text": ""}] == [want]


async def test_what_came_of_a_denied_call_is_not_told_before_a_halt_either() -> None:
    halt = active(build("text_rule", {"patterns": ["secret"], "action": "halt"}), name="halt")
    deny = active(About(0, Verdict(Decision.DENY, "", "[no]")))
    stream = chunks(said(CODE, CAME_OF_IT, SEARCH, FOUND, {"text": "a secret"}, finish="STOP"))
    aggregator = GeminiAggregator()
    run = await Run([deny, halt], GeminiComposer(aggregator.head), aggregator).finish(stream)
    told = parts_of(payloads(run.tape)[0])
    assert told[0] == NO
    assert CAME_OF_IT not in told
    assert FOUND in told
