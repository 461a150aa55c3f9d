"""The policy chain: hold, judge, release unchanged or rewrite, in order, leaking nothing that was denied."""

import itertools
import json
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.context import UPSTREAM
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject
from streamviz.core.judgements import ModelSaid
from streamviz.core.policy import ActivePolicy
from streamviz.core.policy_settings import BlockScope
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import Decision, Mode, Verdict
from streamviz.core.wire.openai_chat_body_composer import OpenAIChatBodyComposer
from streamviz.policies import build
from tests.core.sdk import Reader
from tests.core.support import (
    Opinion,
    Run,
    active,
    call,
    calls,
    chunks,
    delta,
    deny_names,
    parse,
    run,
    sse,
    take_in,
    told,
)
from tests.recordings import recorded

SECRET = '{"command":"rm -rf /"}'
USAGE = {"choices": [], "usage": {"total_tokens": 9}}


@pytest.fixture(scope="module")
def sdk() -> Reader:
    return Reader()


def rm(index: int | None = 0, id: str = "x") -> JsonObject:
    return call(index, id, "rm", SECRET)


def ls(index: int | None = 0, id: str = "y") -> JsonObject:
    return call(index, id, "ls", "{}")


def allowing() -> ActivePolicy:
    return active(deny_names())


def denying() -> ActivePolicy:
    return active(deny_names("rm"))


def assert_nothing_of_it(tape: bytes) -> None:
    for word in ("rm -rf", '"rm"', '"x"'):
        assert word.encode() not in tape
        assert json.dumps(word)[1:-1].encode() not in tape


# Hold and release


async def test_text_goes_through_at_once_and_a_call_waits() -> None:
    text, start, rest, finish = chunks(
        delta(content="a"), calls(call(0, "y", "ls", "{")), calls(call(0, arguments="}")), delta(finish="tool_calls")
    )
    it = Run([allowing()])
    assert await it.take(text) == text.raw
    assert await it.take(start) == text.raw
    assert await it.take(rest) == text.raw
    assert await it.take(finish) == text.raw + start.raw + rest.raw + finish.raw
    [hold] = it.context.holds.values()
    assert (hold.policies, hold.is_denied) == (("rule",), False)
    assert hold.released_at is not None
    assert hold.released_at > hold.since


async def test_a_denied_call_is_held_until_its_place_in_the_stream_has_come() -> None:
    judge = active(build("llm_judge", {"model": "m", "instructions": "It is bad."}), name="judge")
    it = Run([judge, active(deny_names("rm"), name="rule")])
    await it.take(*chunks(calls(call(0, "y", "ls", "{}")), calls(rm(1)), delta(finish="tool_calls")))
    first, second = it.context.holds.values()
    [asked, other] = it.context.questions
    it.chain.answer(other, ModelSaid('{"score": 1, "reason": ""}'), it.processor.state, it.context)
    assert second.is_denied
    assert (first.ended_at, second.ended_at) == (None, None)
    it.chain.answer(asked, ModelSaid('{"score": 0, "reason": ""}'), it.processor.state, it.context)
    assert first.released_at == first.ended_at is not None
    assert second.ended_at is not None
    assert second.released_at is None


@pytest.mark.parametrize("how", ["abandoned", "halted"])
async def test_the_end_of_the_stream_ends_a_hold(how: str) -> None:
    halts = Opinion(lambda block: Verdict(Decision.HALT) if "stop" in block.text else None, [BlockKind.CONTENT])
    it = Run([active(halts), active(deny_names())])
    await it.take(*chunks(delta(content="stop"), calls(call(0, "x", "ls", "{"))))
    if how == "abandoned":
        it.chain.abandon(it.context)
    else:
        await it.finish()
        assert it.context.halted_by == "rule"
    assert all(hold.ended_at is not None and hold.released_at is None for hold in it.context.holds.values())
    assert len(it.context.holds) == 2


async def test_what_is_allowed_arrives_byte_for_byte_in_order() -> None:
    stream = b": hello\n\n" + b"".join(map(sse, (
        delta(content="a"), calls(call(0, "x", "ls", "{")), delta(content="b"), calls(call(1, "y", "ls", "{")),
        calls(call(0, arguments="}")), delta(content="c"), delta(finish="tool_calls"), USAGE, "[DONE]",
    )))  # fmt: skip
    it = await Run([allowing()]).finish(parse(stream))
    assert it.tape == stream
    assert [frame.seq for frame in it.context.outbox] == list(range(10))
    assert {frame.origin for frame in it.context.outbox} == {UPSTREAM}


async def test_nothing_overtakes_a_held_call() -> None:
    start, text = chunks(calls(call(0, "y", "ls", "{}")), delta(content="a"))
    it = Run([allowing()])
    assert await it.take(start, text) == b""


async def test_a_call_with_no_end_before_the_end_of_input_is_judged() -> None:
    it = await run([denying()], calls(rm()))
    assert [judgement.verdict.decision for judgement in it.context.judgements] == [Decision.DENY]
    assert_nothing_of_it(it.tape)
    it = await run([allowing()], calls(rm()))
    assert it.tape == sse(calls(rm()))


async def test_a_call_is_judged_only_when_it_is_whole() -> None:
    opinion = deny_names()
    await run([active(opinion)], calls(call(0, "x", "f", "1")), calls(call(1, "y", "g", "2")),
              calls(call(0, arguments="3")), delta(finish="tool_calls"))  # fmt: skip
    assert opinion.judged == ["13", "2"]


async def test_two_calls_in_one_chunk_are_both_judged() -> None:
    opinion = deny_names("rm")
    it = await run([active(opinion)], calls(ls(0), rm(1), finish="tool_calls"))
    assert opinion.judged == ["{}", SECRET]
    assert told(it.client_state) == [("tool_call", "y", "ls", "{}"), ("content", "[not allowed]")]
    assert_nothing_of_it(it.tape)


# Denial


async def test_a_denied_call_is_replaced_by_a_text_once(sdk: Reader) -> None:
    it = await run([denying()], delta(role="assistant", content=""), calls(call(0, "x", "rm", '{"command":')),
                   calls(call(0, arguments='"rm ')), calls(call(0, arguments='-rf /"}')),
                   delta(finish="tool_calls"), USAGE, "[DONE]")  # fmt: skip
    assert_nothing_of_it(it.tape)
    assert it.tape.count(b"[not allowed]") == 1
    assert it.tape.endswith(b"data: [DONE]\n\n")
    assert sdk.stream(it.tape) == ({0: [("content", "[not allowed]")]}, {0: "stop"})
    assert it.client_state.usage == {"total_tokens": 9}
    assert it.context.holds[0].is_denied
    assert {frame.origin for frame in it.context.outbox} == {UPSTREAM, "rule"}


async def test_what_it_says_names_the_policy_when_the_verdict_has_no_text() -> None:
    it = await run([active(deny_names("rm", text=""), name="no-rm")], calls(rm()))
    assert told(it.client_state) == [("content", "[Denied by policy no-rm.]")]


@pytest.mark.parametrize("reason", ["length", "content_filter", "stop"])
async def test_a_finish_reason_other_than_tool_calls_is_left_alone(reason: str, sdk: Reader) -> None:
    it = await run([denying()], calls(rm()), delta(finish=reason), "[DONE]")
    assert sdk.stream(it.tape)[1] == {0: reason}


async def test_the_finish_reason_is_left_alone_while_a_call_remains(sdk: Reader) -> None:
    it = await run([denying()], calls(rm(0)), calls(ls(1)), delta(finish="tool_calls"), "[DONE]")
    messages, reasons = sdk.stream(it.tape)
    assert reasons == {0: "tool_calls"}
    assert messages == {0: [("content", "[not allowed]"), ("tool_call", "y", "ls", "{}")]}


async def test_a_finish_reason_in_the_chunk_of_the_call_is_corrected(sdk: Reader) -> None:
    it = await run([denying()], calls(rm(), finish="tool_calls"), "[DONE]")
    assert sdk.stream(it.tape)[1] == {0: "stop"}


async def test_each_choice_has_its_own_finish_reason(sdk: Reader) -> None:
    it = await run([denying()], calls(rm()), delta(1, tool_calls=[ls()]), delta(0, finish="tool_calls"),
                   delta(1, finish="tool_calls"), "[DONE]")  # fmt: skip
    messages, reasons = sdk.stream(it.tape)
    assert reasons == {0: "stop", 1: "tool_calls"}
    assert messages[1] == [("tool_call", "y", "ls", "{}")]


async def test_later_calls_are_numbered_without_a_gap() -> None:
    it = await run(
        [denying()], calls(ls(0, "a")), calls(rm(1)), calls(ls(2, "b")), calls(ls(3, "c")), delta(finish="stop")
    )
    client = [block for block in it.client_state.blocks if isinstance(block, ToolCallStreamBlock)]
    assert [(block.index, block.id) for block in client] == [(0, "a"), (1, "b"), (2, "c")]


async def test_interleaved_calls_of_which_one_is_denied() -> None:
    started = [calls(call(0, "x", "rm", SECRET[:9])), calls(call(1, "y", "ls", "{"))]
    rest = calls(call(0, arguments=SECRET[9:]), call(1, arguments="}"))
    it = await run([denying()], *started, rest, delta(finish="tool_calls"))
    assert_nothing_of_it(it.tape)
    assert told(it.client_state) == [("content", "[not allowed]"), ("tool_call", "y", "ls", "{}")]


async def test_text_around_a_denied_call_stays_in_its_place(sdk: Reader) -> None:
    it = await run(
        [denying()], delta(content="a"), calls(rm(), content="b"), delta(content="c"), delta(finish="stop"), "[DONE]"
    )
    assert sdk.stream(it.tape)[0] == {0: [("content", "ab[not allowed]c")]}


async def test_a_call_that_a_provider_repeats_in_a_message_does_not_leak() -> None:
    """Writer and Perplexity send a message with each delta; clients need not read it, but it is in the bytes."""
    payloads: list[Any] = [calls(rm()), delta(content=""), delta(finish="length")]
    for payload in payloads:
        payload["choices"][0]["message"] = {"role": "assistant", "tool_calls": [rm()]}
    it = await run([denying()], *payloads, {"choices": [], "message": {"tool_calls": [rm()]}}, "[DONE]")
    assert_nothing_of_it(it.tape)
    assert it.client_state.finish_reason == "length"


async def test_a_comment_and_the_end_mark_go_through_beside_what_is_composed() -> None:
    it = await Run([denying()]).finish(parse(sse(calls(rm())) + b": ping\n\n" + sse("[DONE]")))
    assert it.tape.endswith(b": ping\n\ndata: [DONE]\n\n")


@pytest.mark.parametrize("policies", [[], [denying()]], ids=["no policy", "enforcing"])
async def test_a_chunk_that_cannot_be_read_ends_the_stream_before_it(policies: list[ActivePolicy]) -> None:
    """A client may be able to read what we cannot, such as deep nesting, so none of it goes through."""
    deep: Any = SECRET
    for _ in range(250):
        deep = [deep]
    it = await run(policies, delta(content="a"), calls(call(0, "x", "rm", deep)), delta(content="b"))
    assert_nothing_of_it(it.tape)
    assert it.tape == sse(delta(content="a"))
    assert it.processor.is_broken


async def test_what_was_held_when_an_unreadable_chunk_came_is_judged_all_the_same() -> None:
    it = await run([denying()], delta(content="a"), calls(rm(0)), "{broken", calls(ls(1)))
    assert_nothing_of_it(it.tape)
    assert told(it.client_state) == [("content", "a[not allowed]")]


@pytest.mark.parametrize("decision", [Decision.DENY, Decision.REPLACE])
async def test_a_held_text_is_replaced_too(decision: Decision, sdk: Reader) -> None:
    policy = Opinion(lambda block: Verdict(decision, "why", "[gone]"), [BlockKind.CONTENT])
    it = await run([active(policy)], delta(content="sec"), delta(content="ret"), delta(finish="stop"), "[DONE]")
    assert b"sec" not in it.tape
    assert sdk.stream(it.tape) == ({0: [("content", "[gone]")]}, {0: "stop"})


# Modes, order and failures


async def test_shadow_changes_nothing_and_records_the_verdict() -> None:
    policy = active(deny_names("rm"), Mode.SHADOW)
    stream = chunks(calls(rm()), delta(finish="tool_calls"))
    it = Run([policy])
    assert await it.take(stream[0]) == stream[0].raw
    assert (await it.finish(stream[1:])).tape == b"".join(chunk.raw for chunk in stream)
    [judgement] = it.context.judgements
    assert (judgement.policy, judgement.ordinal, judgement.verdict.decision) == (policy, 0, Decision.DENY)
    assert it.context.holds == {}


async def test_policies_run_in_their_order_until_one_denies() -> None:
    first, second, third = deny_names(), deny_names("rm"), deny_names()
    it = await run([active(first, name="1"), active(second, name="2"), active(third, name="3")], calls(rm(), ls(1)))
    assert [(judgement.policy.name, judgement.ordinal) for judgement in it.context.judgements] == [
        ("1", 0), ("2", 0), ("1", 1), ("2", 1), ("3", 1),
    ]  # fmt: skip
    assert third.judged == ["{}"]
    assert it.context.holds[0].policies == ("1", "2", "3")


async def test_a_verdict_on_what_nobody_held_is_recorded_and_changes_nothing() -> None:
    class Late(Opinion):
        def holds(self, block: StreamBlock) -> bool:
            return False

    it = await run([active(Late(lambda block: Verdict(Decision.DENY)))], calls(rm()))
    assert it.tape == sse(calls(rm()))
    assert len(it.context.judgements) == 1


def raising(block: StreamBlock) -> Verdict:
    raise RuntimeError("it broke")


def nonsense(block: StreamBlock) -> Any:
    return "deny"


@pytest.mark.parametrize(("decide", "failure"), [(raising, "RuntimeError: it broke"), (nonsense, "TypeError")])
async def test_a_policy_that_fails_denies_unless_it_fails_open(decide: Any, failure: str) -> None:
    it = await run([active(Opinion(decide))], calls(rm()), delta(finish="tool_calls"))
    assert_nothing_of_it(it.tape)
    assert it.client_state.finish_reason == "stop"
    [judgement] = it.context.judgements
    assert judgement.failure.startswith(failure)
    assert judgement.verdict.decision is Decision.DENY

    it = await run([active(Opinion(decide), fail_open=True)], calls(rm()))
    assert it.tape == sse(calls(rm()))
    [judgement] = it.context.judgements
    assert judgement.failure.startswith(failure)
    assert judgement.verdict.decision is Decision.ALLOW


@pytest.mark.parametrize("fail_open", [False, True])
async def test_a_policy_that_fails_to_say_whether_it_holds_holds_unless_it_fails_open(fail_open: bool) -> None:
    class Broken(Opinion):
        def holds(self, block: StreamBlock) -> bool:
            raise RuntimeError("it broke")

    [chunk] = chunks(calls(rm()))
    it = Run([active(Broken(lambda block: None), fail_open=fail_open)])
    assert await it.take(chunk) == (chunk.raw if fail_open else b"")


async def test_one_policy_serves_many_streams_and_keeps_nothing_of_them() -> None:
    policy = denying()
    runs = [Run([policy]) for _ in range(50)]
    streams = [chunks(calls(rm() if number % 2 else ls()), delta(finish="tool_calls")) for number in range(50)]
    for pair in zip(*streams, strict=True):
        for it, chunk in zip(runs, pair, strict=True):
            await it.take(chunk)
    for number, it in enumerate(runs):
        assert (b"[not allowed]" in it.tape) == bool(number % 2)


# Whole answers


async def answer(policies: list[ActivePolicy], body: JsonObject) -> Run:
    raw = json.dumps(body).encode()
    return await Run(policies, OpenAIChatBodyComposer(body)).finish([Chunk(0, 0, raw, raw)])


def body(*tool_calls: JsonObject, finish: str | None = "tool_calls") -> JsonObject:
    message = {"role": "assistant", "content": "a", "tool_calls": list(tool_calls)}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "usage": {"total_tokens": 9},
            "choices": [{"index": 0, "message": message, "finish_reason": finish}]}  # fmt: skip


async def test_a_whole_answer_passes_the_same_chain(sdk: Reader) -> None:
    allowed = body(ls(None))
    assert (await answer([denying()], allowed)).tape == json.dumps(allowed).encode()

    it = await answer([denying()], body(rm(None), ls(None)))
    assert_nothing_of_it(it.tape)
    completion = sdk.body(it.tape)
    [choice] = completion.choices
    assert choice.message.content == "a[not allowed]"
    assert [one.id for one in choice.message.tool_calls or []] == ["y"]
    assert choice.finish_reason == "tool_calls"
    assert completion.usage is not None


@pytest.mark.parametrize("finish", ["tool_calls", None])
async def test_a_whole_answer_of_which_all_calls_are_denied(finish: str | None) -> None:
    it = await answer([denying()], body(rm(None), finish=finish))
    assert_nothing_of_it(it.tape)
    [choice] = json.loads(it.tape)["choices"]
    assert choice["finish_reason"] == ("stop" if finish else None)
    assert choice["message"] == {"role": "assistant", "content": "a[not allowed]"}


# Recorded and generated streams


def deny_ordinals(gone: set[int]) -> Opinion:
    return Opinion(lambda block: Verdict(Decision.DENY if block.ordinal in gone else Decision.ALLOW, "", "[no]"))


def text_of(run: Run, kind: BlockKind) -> str:
    return "".join(block.text for block in run.client_state.blocks if block.kind is kind)


async def test_recorded_streams_of_which_nothing_is_denied_stay_byte_for_byte() -> None:
    """Except for the messages that some providers send along with deltas."""
    for path in recorded("openai_chat"):
        data = path.read_bytes()
        it = await Run([active(Opinion(lambda block: None, list(BlockKind)))]).finish(parse(data))
        if it.tape != data:
            assert list(map(without_messages, payloads_in(it.tape))) == list(map(without_messages, payloads_in(data)))
            assert b'"message":{' in data.replace(b" ", b""), path.stem


def payloads_in(data: bytes) -> list[Any]:
    return [json.loads(chunk.data) for chunk in parse(data) if chunk.data and chunk.data != b"[DONE]"]


def without_messages(payload: Any) -> Any:
    choices = [{name: value for name, value in each.items() if name != "message"} for each in payload["choices"]]
    return {**payload, "choices": choices}


async def test_recorded_streams_with_denied_calls_leak_nothing_and_satisfy_the_sdk(sdk: Reader) -> None:
    denied = 0
    for path in recorded("openai_chat"):
        stream = parse(path.read_bytes())
        state = take_in(stream).state
        every_call = [block for block in state.blocks if isinstance(block, ToolCallStreamBlock)]
        chance = random.Random(path.stem)
        gone = {block.ordinal for block in every_call if chance.random() < 0.6}
        if not gone or state.failure:
            continue
        denied += len(gone)
        kept = [block for block in every_call if block.ordinal not in gone]
        it = await Run([active(deny_ordinals(gone))]).finish(stream)
        for block in every_call:
            # An id that occurs before its call (in encrypted thinking) went out before there was a call to hold.
            known = b"".join(chunk.raw for chunk in stream[: block.first_seq]) + repr(kept).encode()
            if block.ordinal in gone and block.id.encode() not in known:
                assert block.id.encode() not in it.tape, path.stem
        messages, _ = sdk.stream(it.tape)
        calls_read = [part[1:] for message in messages.values() for part in message if part[0] == "tool_call"]
        assert sorted(calls_read) == sorted((block.id, block.name, block.arguments) for block in kept), path.stem
        assert text_of(it, BlockKind.CONTENT).replace("[no]", "") == "".join(
            block.text for block in state.blocks if block.kind is BlockKind.CONTENT
        ), path.stem
        assert it.client_state.usage == state.usage, path.stem
    assert denied > len(recorded("openai_chat")) / 9


PIECES = st.sampled_from(["text", "thinking", 0, 1, 2])


@given(
    st.lists(st.lists(PIECES, min_size=1, max_size=3), min_size=1, max_size=8), st.sets(st.integers(0, 2)), st.data()
)
async def test_generated_streams_leak_nothing_and_lose_nothing(
    made: list[list[Any]], denied: set[int], data: st.DataObject
) -> None:
    marks = map("<{}>".format, itertools.count())
    payloads: list[JsonObject] = []
    sent: dict[Any, str] = {}
    indices: dict[int, int] = {}
    for pieces in made:
        fields: dict[str, Any] = {}
        for where in pieces:
            mark = next(marks)
            if where == "text":
                fields["content"] = fields.get("content", "") + mark
            elif where == "thinking":
                fields["reasoning_content"] = fields.get("reasoning_content", "") + mark
            else:
                # Calls are numbered in the order in which they begin, as providers do it and the SDK expects it.
                index = indices.setdefault(where, len(indices))
                first = where not in sent
                piece = call(index, f"id-{where}" if first else None, f"name-{where}" if first else None, mark)
                fields.setdefault("tool_calls", []).append(piece)
            sent[where] = sent.get(where, "") + mark
        payloads.append(delta(**fields))
    policy = active(deny_names(*(f"name-{number}" for number in denied)))
    finish = data.draw(st.sampled_from(["tool_calls", "length", None]))
    it = await run([policy], *payloads, delta(finish=finish), "[DONE]")

    messages, reasons = Reader().stream(it.tape)
    [parts] = messages.values()
    read = {part[0] if part[0] != "tool_call" else part[1]: part[-1] for part in parts}
    wanted = {f"id-{where}": text for where, text in sent.items() if where in {0, 1, 2} - denied}
    assert {key: text for key, text in read.items() if key.startswith("id-")} == wanted
    assert read.get("content", "").replace("[not allowed]", "") == sent.get("text", "")
    assert read.get("thinking", "") == sent.get("thinking", "")
    for number in denied & sent.keys():
        assert f"name-{number}".encode() not in it.tape
        for mark in sent[number].strip("<>").split("><"):
            assert f"<{mark}>".encode() not in it.tape
    all_denied = bool(denied & sent.keys()) and not wanted
    assert reasons == {0: "stop" if finish == "tool_calls" and all_denied else finish}


SEVERAL = json.dumps({"tool_uses": [{"recipient_name": "functions.rm", "parameters": {"path": "/"}}]})


@pytest.mark.parametrize("name", ["parallel", "multi_tool_use.parallel"])
@pytest.mark.parametrize("is_whole", [False, True])
async def test_a_call_that_stands_for_others_does_not_go_out(name: str, is_whole: bool) -> None:
    """Vercel's SDK carries out the calls within, which no policy has judged as such."""
    end = delta(finish="tool_calls")
    pieces = (
        [call(0, "a", name, SEVERAL)] if is_whole else [call(0, "a", name, SEVERAL[:9]), call(0, None, "", SEVERAL[9:])]
    )
    stream = [delta(content="Hi"), *(calls(piece) for piece in pieces), end]
    made = await run([active(deny_names("rm"))], *stream)
    assert made.context.state.contradiction == "upstream calls several tools in one call"
    assert b"Hi" in made.tape
    assert b"parallel" not in made.tape
    shadow = await run([active(deny_names("rm"), mode=Mode.SHADOW)], *stream)
    assert b"parallel" in shadow.tape


async def test_such_a_call_does_not_go_out_if_only_some_tools_are_judged() -> None:
    of_rm = replace(active(deny_names("rm")), scope=BlockScope(tools=("rm",)))
    made = await run([of_rm], calls(call(0, "a", "parallel", SEVERAL)), delta(finish="tool_calls"))
    assert b"parallel" not in made.tape
    made = await run([of_rm], calls(ls()), delta(finish="tool_calls"))
    assert b'"ls"' in made.tape


async def test_a_whole_answer_with_such_a_call_does_not_go_out_either() -> None:
    message = {"role": "assistant", "tool_calls": [{**call(id="a", name="parallel", arguments=SEVERAL)}]}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    data = json.dumps(body).encode()
    made = Run([active(deny_names("rm"))], OpenAIChatBodyComposer(body))
    await made.finish([Chunk(0, 0, data, data)])
    assert made.tape == b""


async def test_a_tool_that_the_client_calls_so_is_judged_as_any_other() -> None:
    made = Run([active(deny_names("rm"))])
    made.context.request = ModelCall("openai_chat", {"tools": [{"type": "function", "function": {"name": "parallel"}}]})
    await made.finish(chunks(calls(call(0, "a", "parallel", SEVERAL)), delta(finish="tool_calls")))
    assert b"tool_uses" in made.tape
