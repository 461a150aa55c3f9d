"""Writing OpenAI's responses: the result of policies on a stream and on a whole response."""

import json
from typing import Any

from streamviz.core.aggregator import Chunk
from streamviz.core.chain import PolicyChain
from streamviz.core.composer import Composer
from streamviz.core.events import BlockDelta, BlockKind, BlockStarted, StreamFailed
from streamviz.core.json_value import encode
from streamviz.core.judgements import ChainContext
from streamviz.core.processor import StreamProcessor
from streamviz.core.verdicts import Decision, Verdict
from streamviz.core.wire.openai_responses import OpenAIResponsesAggregator
from streamviz.core.wire.openai_responses_body_composer import OpenAIResponsesBodyComposer
from streamviz.core.wire.openai_responses_composer import OpenAIResponsesComposer
from streamviz.policies import build
from tests.core.support import Opinion, Run, active, chunks, deny_names, parse, told
from tests.core.wire import legal
from tests.core.wire.official import payloads, read_back
from tests.core.wire.test_openai_responses import CALL, CREATED, MESSAGE, added, done, finish, message, say
from tests.recordings import recorded

IN_PROGRESS = {**CREATED, "type": "response.in_progress"}


def stream(*script: Any) -> Any:
    return chunks(*({**payload, "sequence_number": number} for number, payload in enumerate(script)))


def call(index: int, name: str) -> list[dict[str, Any]]:
    item = {**CALL, "id": f"fc_{index}", "call_id": f"c{index}", "name": name}
    whole = {**item, "arguments": '{"a":1}', "status": "completed"}
    at = {"item_id": item["id"]}
    return [
        added(item, index),
        say("function_call_arguments.delta", index, **at, delta='{"a":1}'),
        say("function_call_arguments.done", index, **at, arguments='{"a":1}'),
        done(whole, index),
    ]


def text(index: int, said: str) -> list[dict[str, Any]]:
    at = {"item_id": "msg_1", "content_index": 0}
    part = {"type": "output_text", "text": said, "annotations": [{"type": "url_citation", "url": "u"}]}
    return [
        added(MESSAGE, index),
        say("content_part.added", index, **at, part={**part, "text": ""}),
        say("output_text.delta", index, **at, delta=said),
        say("output_text.done", index, **at, text=said),
        say("content_part.done", index, **at, part=part),
        done({**MESSAGE, "status": "completed", "content": [part]}, index),
    ]


async def drive(stream: Any, aggregator: OpenAIResponsesAggregator, composer: Composer, *names: str) -> bytes:
    """The client's tape with calls of these names denied."""
    context = ChainContext("run", lambda: 0)
    processor = StreamProcessor(PolicyChain([active(deny_names(*names))], composer).on_chunk, aggregator)
    await processor.take(stream, context)
    await processor.end(context)
    return b"".join(frame.raw for frame in context.outbox)


async def through(stream: Any, *names: str, body: Any = None) -> bytes:
    """`drive` with the composer for a stream, or for a whole `body`."""
    aggregator = OpenAIResponsesAggregator()
    if body is not None:
        return await drive(stream, aggregator, OpenAIResponsesBodyComposer(body), *names)
    return await drive(stream, aggregator, OpenAIResponsesComposer(aggregator.head), *names)


def read(tape: bytes) -> list[tuple[str, ...]]:
    aggregator = OpenAIResponsesAggregator()
    for chunk in parse(tape):
        aggregator.aggregate(chunk)
    aggregator.close()
    return told(aggregator.state)


async def test_what_is_allowed_goes_out_as_it_came() -> None:
    script = stream(CREATED, IN_PROGRESS, *call(0, "look"), finish(call(0, "look")[-1]["item"]))
    assert await through(script) == b"".join(chunk.raw for chunk in script)


async def test_a_denied_call_is_nowhere_in_what_the_client_gets() -> None:
    output = [text(0, "a")[-1]["item"], call(1, "rm")[-1]["item"], call(2, "look")[-1]["item"]]
    script = stream(
        CREATED,
        IN_PROGRESS,
        *text(0, "a"),
        *call(1, "rm"),
        *call(2, "look"),
        finish(*output, usage={"total_tokens": 9}),
    )
    tape = await through(script, "rm")
    assert read(tape) == [("content", "a"), ("content", "[not allowed]"), ("tool_call", "c2", "look", '{"a":1}')]
    assert b'"rm"' not in tape
    assert b"fc_1" not in tape
    legal.check_responses(payloads(tape))
    final = payloads(tape)[-1]["response"]
    assert final["usage"] == {"total_tokens": 9}
    # What went out unchanged is unchanged in the whole response as well.
    assert final["output"][0] == output[0]
    assert final["output"][2] == output[2]
    assert read_back("openai_responses", tape).content == "a[not allowed]"


async def test_recorded_streams_with_all_calls_denied_are_legal() -> None:
    for path in recorded("openai_responses"):
        data = path.read_bytes()
        names = {block[2] for block in read(data) if block[0] == "tool_call"}
        tape = await through(parse(data), *names)
        if names:
            assert not any(block[0] == "tool_call" for block in read(tape)), path.stem
            read_back("openai_responses", tape)
            if "sequence_number" in payloads(data)[0]:
                legal.check_responses(payloads(tape))
        else:
            assert tape == data


async def test_where_upstream_lists_no_items_in_the_end_clients_still_put_them_together() -> None:
    script = stream(CREATED, IN_PROGRESS, *call(0, "rm"), *call(1, "look"), finish())
    told_at_last = payloads(await through(script, "rm"))
    assert told_at_last[-1]["response"]["output"] == []
    items = [payload["item"] for payload in told_at_last if payload["type"] == "response.output_item.done"]
    assert [item["type"] for item in items] == ["message", "function_call"]


async def test_upstreams_items_are_learned_from_what_passes() -> None:
    output = [text(0, "a")[-1]["item"], call(1, "look")[-1]["item"], call(2, "rm")[-1]["item"]]
    script = stream(CREATED, IN_PROGRESS, *text(0, "a"), *call(1, "look"), *call(2, "rm"), finish(*output))
    aggregator = OpenAIResponsesAggregator()
    tape = await drive(script, aggregator, OpenAIResponsesComposer(aggregator.head), "rm")
    legal.check_responses(payloads(tape))
    assert payloads(tape)[-1]["response"]["output"][:2] == output[:2]
    assert read_back("openai_responses", tape).content == "a[not allowed]"


async def test_a_whole_response_keeps_all_that_no_policy_touches() -> None:
    output = [text(0, "a")[-1]["item"], call(1, "rm")[-1]["item"], {"type": "web_search_call", "id": "w", "action": {}}]
    body = {**finish(*output)["response"], "extra": 1}
    got = json.loads(await through(chunks(body), "rm", body=body))
    replaced = got["output"].pop(1)
    assert got == {**body, "output": [output[0], output[2]]}
    assert [part["text"] for part in replaced["content"]] == ["[not allowed]"]


async def test_a_whole_response_that_is_halted_keeps_what_came_before() -> None:
    thinking = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "b3Zlcg=="}
    search = {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "q"}}
    before = [thinking, search, call(2, "look")[-1]["item"], call(3, "rm")[-1]["item"]]
    output = [*before, text(4, "the secret")[-1]["item"], {**search, "id": "w2"}]
    body = finish(*output)["response"]
    data = encode(body)
    halt = active(build("text_rule", {"patterns": ["secret"], "action": "halt"}), name="halt")
    policies = [active(deny_names("rm")), halt]
    run = Run(policies, OpenAIResponsesBodyComposer(body), OpenAIResponsesAggregator())
    await run.finish([Chunk(0, 0, data, data)])
    got = json.loads(run.tape)
    assert got["incomplete_details"] == {"reason": "content_filter"}
    assert got["output"][:3] == before[:3]
    texts = [item["content"][0]["text"] for item in got["output"][3:]]
    assert texts == ["[not allowed]", "the ", "[Halted by policy halt.]"]


async def test_of_a_message_that_is_halted_only_the_parts_before_are_kept() -> None:
    parts = [message(said)["content"][0] for said in ("Well.", "The secret.", "Bye.")]
    body = finish({**message("x"), "content": parts})["response"]
    data = encode(body)
    expression = 'block.text.contains("secret")'
    halt = active(build("cel_rule", {"expression": expression, "on": ["content"], "decision": "halt"}), name="halt")
    run = Run([halt], OpenAIResponsesBodyComposer(body), OpenAIResponsesAggregator())
    await run.finish([Chunk(0, 0, data, data)])
    output = json.loads(run.tape)["output"]
    assert [[part["text"] for part in item["content"]] for item in output] == [["Well."], ["[Halted by policy halt.]"]]


async def test_of_a_call_whose_picture_is_halted_the_call_is_kept() -> None:
    item = {"type": "image_generation_call", "id": "i", "status": "completed", "result": "aW1n"}
    body = finish(item)["response"]
    data = encode(body)
    halt = active(Opinion(lambda _: Verdict(Decision.HALT), [BlockKind.MEDIA]), name="halt")
    run = Run([halt], OpenAIResponsesBodyComposer(body), OpenAIResponsesAggregator())
    await run.finish([Chunk(0, 0, data, data)])
    output = json.loads(run.tape)["output"]
    assert [each["type"] for each in output] == ["image_generation_call", "message"]
    assert b"aW1n" not in run.tape


async def test_what_is_open_ends_before_what_says_that_a_policy_halts_the_response() -> None:
    begun, delta = text(0, "the secret")[:2], text(0, "the secret")[2]
    halt = active(build("text_rule", {"patterns": ["secret"], "action": "halt"}), name="halt")
    aggregator = OpenAIResponsesAggregator()
    run = Run([halt], OpenAIResponsesComposer(aggregator.head), aggregator)
    told = payloads((await run.finish(stream(CREATED, IN_PROGRESS, *begun, delta))).tape)
    legal.check_responses(told)
    ended = [payload["item"] for payload in told if payload["type"] == "response.output_item.done"]
    said = [(item["content"][0]["text"], item["status"]) for item in ended]
    assert said == [("the ", "incomplete"), ("[Halted by policy halt.]", "completed")]


async def test_an_incomplete_response_tells_its_usage_in_numbers_as_opencode_goes_on_for_ever_without() -> None:
    halt = active(build("text_rule", {"patterns": ["secret"], "action": "halt"}), name="halt")
    aggregator = OpenAIResponsesAggregator()
    run = Run([halt], OpenAIResponsesComposer(aggregator.head), aggregator)
    told = payloads((await run.finish(stream(CREATED, IN_PROGRESS, *text(0, "the secret")[:3]))).tape)[-1]
    assert told["type"] == "response.incomplete"
    assert {told["response"]["usage"][name] for name in ("input_tokens", "output_tokens", "total_tokens")} == {0}


async def test_a_text_that_is_halted_ends_before_the_word_for_that() -> None:
    halt = active(build("text_rule", {"patterns": ["secret"], "action": "halt"}), name="halt")
    run = Run([halt], OpenAIResponsesComposer({"id": "r"}), OpenAIResponsesAggregator())
    said = text(0, "of all the secret")
    deltas = [{**said[2], "delta": each} for each in ("of all ", "the secret")]
    await run.finish(stream(CREATED, *said[:2], *deltas, *said[3:], finish(said[-1]["item"])))
    ends = [each["item"] for each in payloads(run.tape) if each["type"] == "response.output_item.done"]
    told = [(item["status"], item["content"][0]["text"]) for item in ends]
    assert told == [("incomplete", "of all the "), ("completed", "[Halted by policy halt.]")]
    assert payloads(run.tape)[-1]["response"]["output"] == ends


def test_a_failure_ends_the_response() -> None:
    composer = OpenAIResponsesComposer({"id": "r"})
    composer.passed([], parse(b'data: {"type":"response.created","sequence_number":4}\n\n')[0])
    begun = composer.compose([BlockStarted(0, BlockKind.CONTENT), BlockDelta(0, "Hi")])
    end = composer.fail(StreamFailed("it broke", "upstream_error"))
    told = payloads(b"".join(begun) + end)
    assert [payload["sequence_number"] for payload in told] == list(range(5, 5 + len(told)))
    assert [payload["type"] for payload in told[3:]] == [
        "error",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.failed",
    ]
    assert told[-1]["response"]["error"] == {"code": "server_error", "message": "it broke"}


def test_a_response_that_ends_without_a_reason_is_incomplete() -> None:
    composer = OpenAIResponsesComposer({"id": "r"}, source="openai_chat")
    tape = b"".join(composer.compose([BlockStarted(0, BlockKind.THINKING), BlockDelta(0, "hm")]) + composer.end())
    legal.check_responses(payloads(tape))
    assert payloads(tape)[-1]["type"] == "response.incomplete"


def test_the_keep_alive_is_an_event_once_the_response_is_created() -> None:
    composer = OpenAIResponsesComposer({})
    assert composer.keep_alive() == b": keep-alive\n\n"
    for chunk in stream(CREATED, IN_PROGRESS):
        composer.passed([], chunk)
    assert composer.keep_alive() == b'event: keepalive\ndata: {"type":"keepalive","sequence_number":1}\n\n'
    [composed, *_] = payloads(composer.fail(StreamFailed("it broke")))
    assert composed["sequence_number"] == 2
    assert OpenAIResponsesBodyComposer({}).keep_alive() == b" "


def test_a_keep_alive_among_events_that_are_all_composed_has_a_number_of_its_own() -> None:
    composer = OpenAIResponsesComposer({"id": "r"}, source="openai_chat")
    frames = composer.compose([BlockStarted(0, BlockKind.CONTENT), BlockDelta(0, "hi")])
    tape = b"".join([*frames, composer.keep_alive(), *composer.end()])
    assert "keepalive" in [payload["type"] for payload in payloads(tape)]
    legal.check_responses(payloads(tape))


def test_a_message_of_two_parts_stays_one_item() -> None:
    whole = message("a", "b")
    aggregator = OpenAIResponsesAggregator()
    events = [event for chunk in chunks(CREATED, done(whole), finish(whole)) for event in aggregator.aggregate(chunk)]
    composer = OpenAIResponsesComposer(aggregator.head, "openai_responses")
    tape = b"".join(composer.compose(events) + composer.end())
    legal.check_responses(payloads(tape))
    assert [part["text"] for part in payloads(tape)[-1]["response"]["output"][0]["content"]] == ["a", "b"]
