"""What no verdict changes in a chat stream stays upstream's: the SDK reads it as before, and nothing else."""

import json
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, encode
from streamviz.core.verdicts import Decision, Verdict
from streamviz.core.wire.openai_chat_body_composer import OpenAIChatBodyComposer
from streamviz.core.wire.openai_chat_message import build_message
from streamviz.core.wire.thought_signatures import SKIP
from tests.core.support import HEAD, About, Run, active, aggregate, call, calls, chunks, delta, parse, run, take_in
from tests.core.wire.official import payloads
from tests.core.wire.test_openai_chat_sdk import put_together
from tests.recordings import telling

DENIED = Verdict(Decision.DENY, "no", "[denied]")
MASKED = Verdict(Decision.REPLACE, "", "[masked]")
# A message's fields besides its role that providers repeat and the SDK then joins.
FIELDS = {
    BlockKind.CONTENT: ("annotations",),
    BlockKind.REFUSAL: ("refusal",),
    BlockKind.THINKING: ("reasoning_content", "reasoning", "reasoning_details"),
    BlockKind.MEDIA: ("images", "audio"),
}


def plain(calls: Any) -> list[Any]:
    """Calls without their indices."""
    found = json.loads(json.dumps(calls or []), object_hook=known)
    return [{key: value for key, value in each.items() if key != "index"} for each in found]


def known(found: Any) -> Any:
    """The members of a message that are not null."""
    return {key: value for key, value in found.items() if value is not None}


def assert_as_before(before: Any, after: Any, denied: StreamBlock, blocks: list[StreamBlock]) -> None:
    """Assert that a message is read as before, except for one of its blocks."""
    kept = [block.id for block in blocks if block is not denied]
    for kind, fields in FIELDS.items():
        if kind is not denied.kind:
            assert {name: after.get(name) for name in fields} == {name: before.get(name) for name in fields}
    assert plain(after.get("tool_calls")) == [each for each in plain(before.get("tool_calls")) if each["id"] in kept]
    texts = [block.text for block in blocks if block.kind is BlockKind.CONTENT and block is not denied]
    assert (after.get("content") or "").replace("[denied]", "") == "".join(texts)


@pytest.mark.parametrize("path", telling("openai_chat"), ids=lambda path: path.stem)
async def test_all_other_blocks_are_read_as_before(path: Any) -> None:
    stream = parse(path.read_bytes())
    state = take_in(stream).state
    before = put_together(payloads(path.read_bytes()))
    for denied in state.blocks[: 6 if before and not state.failure else 0]:
        it = await Run([active(About(denied.ordinal, DENIED))]).finish(stream)
        after = put_together(payloads(it.tape))
        own = [block for block in state.blocks if block.choice == denied.choice]
        for choice, message in before.items():
            if choice == denied.choice and not isinstance(message.get("content"), list):
                assert_as_before(message, after[choice], denied, own)
        last = [payload for payload in payloads(it.tape) if payload.get("usage")]
        assert [each["usage"] for each in last] == [p["usage"] for p in payloads(path.read_bytes()) if p.get("usage")]


@pytest.mark.parametrize("path", telling("openai_chat"), ids=lambda path: path.stem)
async def test_whole_answers_say_what_streams_say(path: Any) -> None:
    stream = parse(path.read_bytes())
    aggregator = take_in(stream)
    body = build_message(aggregator.state, aggregator.head)
    for denied in aggregator.state.blocks[:6]:
        if aggregator.state.failure or denied.kind.is_opaque:
            continue
        it = await Run([active(About(denied.ordinal, DENIED))]).finish(stream)
        whole = await through_body(body, [block.text for block in take_in(whole_chunk(body)).state.blocks], denied)
        if whole is not None:
            assert said(it.client_state.blocks) == said(take_in(whole_chunk(whole)).state.blocks)


def said(blocks: list[StreamBlock]) -> Any:
    """All text of each choice, by kind, and its calls."""
    texts: dict[tuple[int, str], str] = {}
    for block in blocks:
        if block.kind in (BlockKind.CONTENT, BlockKind.THINKING, BlockKind.REFUSAL):
            key = (block.choice, str(block.kind))
            texts[key] = texts.get(key, "") + block.text.replace("[denied]", "")
    made = [(block.choice, block.name, block.text) for block in blocks if isinstance(block, ToolCallStreamBlock)]
    return {key: text for key, text in texts.items() if text}, sorted(made)


def whole_chunk(body: JsonObject) -> list[Chunk]:
    data = json.dumps(body).encode()
    return [Chunk(0, 0, data, data)]


async def through_body(body: JsonObject, texts: list[str], denied: StreamBlock) -> Any:
    """The answer without the block; None if its blocks do not correspond to the stream's."""
    if texts.count(denied.text) != 1:
        return None
    policy = active(About(texts.index(denied.text), DENIED))
    return json.loads((await Run([policy], OpenAIChatBodyComposer(body)).finish(whole_chunk(body))).tape)


async def changed_body(verdict: Verdict, ordinal: int, **message: Any) -> tuple[bytes, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "tool_calls"}
    extra = message.pop("beside", {})
    choice["message"].pop("beside", None)  # type: ignore[attr-defined]
    body: JsonObject = {**HEAD, "object": "chat.completion", "choices": [{**choice, **extra}], "also": "secret"}
    tape = (await Run([active(About(ordinal, verdict))], OpenAIChatBodyComposer(body)).finish(whole_chunk(body))).tape
    return tape, json.loads(tape)["choices"][0]


LOGPROBS = {"content": [{"token": "my ", "logprob": 0.0}, {"token": "secret", "logprob": 0.0}]}
REPEATED = {
    "annotations": [{"url_citation": {"title": "my secret"}}],
    "audio": {"transcript": "my secret"},
    "provider_specific_fields": {"citations": ["my secret"]},
    "unknown": "my secret",
}


async def test_a_changed_text_of_a_whole_answer_is_repeated_nowhere() -> None:
    beside = {"logprobs": LOGPROBS, "text": "my secret"}
    tape, choice = await changed_body(MASKED, 0, content="my secret", beside=beside, **REPEATED)
    assert b"secret" not in tape
    assert choice["message"] == {"role": "assistant", "content": "[masked]"}


@pytest.mark.parametrize("verdict", [DENIED, MASKED])
async def test_changed_thinking_of_a_whole_answer_is_repeated_nowhere(verdict: Verdict) -> None:
    thinking = {
        "reasoning_content": "my secret",
        "reasoning": "my secret",
        "thinking": "my secret",
        "reasoning_details": [{"type": "reasoning.text", "text": "my secret", "signature": "over secret"}],
        "thinking_blocks": [{"type": "thinking", "thinking": "my secret", "signature": "over secret"}],
        "provider_specific_fields": {"thinking_blocks": [{"thinking": "my secret"}], "reasoning_content": "my secret"},
    }
    tape, choice = await changed_body(verdict, 0, content="a", **thinking)
    assert b"secret" not in tape
    if verdict is MASKED:
        assert choice["message"] == {"role": "assistant", "reasoning_content": "[masked]", "content": "a"}


async def test_a_whole_answer_without_a_call_keeps_the_rest_of_it() -> None:
    thinking = {
        "reasoning_content": "hm",
        "thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "s"}],
        "provider_specific_fields": {"thinking_blocks": [{"thinking": "hm"}], "unknown": 1},
    }
    other = {**call(id="b", name="look", arguments="{}"), "extra_content": {"google": {"thought_signature": "s"}}}
    said = [{"token": "a", "bytes": [97]}, {"token": "ü", "bytes": [195, 188]}]
    beside = {"logprobs": {"content": said, "refusal": None}}
    tools = [call(id="a", name="rm", arguments="{}"), other]
    _, choice = await changed_body(
        DENIED, 2, content="aü", tool_calls=tools, annotations=[1], beside=beside, **thinking
    )
    specific = {"thinking_blocks": [{"thinking": "hm"}]}
    assert choice["message"] == {
        **thinking, "role": "assistant", "content": "aü[denied]", "tool_calls": [other], "annotations": [1],
        "provider_specific_fields": specific,
    }  # fmt: skip
    assert choice["logprobs"] == beside["logprobs"]


async def test_tokens_that_are_not_those_of_the_text_go_with_the_call() -> None:
    tools = [call(id="a", name="rm", arguments="secret")]
    tape, choice = await changed_body(DENIED, 1, content="my ", tool_calls=tools, beside={"logprobs": LOGPROBS})
    assert b"secret" not in tape
    assert "logprobs" not in choice


OTHER = {**call(1, "b", "look", "{}"), "extra_content": {"google": {"thought_signature": "sig"}}}


async def test_an_allowed_call_beside_a_denied_one_keeps_all_that_it_says() -> None:
    payload = calls(call(0, "a", "rm", '{"secret":1}'), OTHER, content="text", finish="tool_calls")
    it = await run([active(About(1, DENIED))], {**payload, "usage": {"total_tokens": 3}})
    assert b"secret" not in it.tape
    first, second, last = payloads(it.tape)
    assert first["choices"][0]["delta"] == {"content": "text", "tool_calls": [{**OTHER, "index": 0}]}
    assert second["choices"][0]["delta"]["content"] == "[denied]"
    assert (last["choices"][0]["finish_reason"], last["usage"]) == ("tool_calls", {"total_tokens": 3})


async def test_what_repeats_a_denied_call_is_not_carried() -> None:
    evil = call(0, "a", "rm", '{"secret":1}')
    late = {**HEAD, "choices": [{"index": 0, "delta": {"content": "x", "unknown": "secret"}, "text": "secret",
            "message": {"tool_calls": [evil]}, "logprobs": LOGPROBS}], "also": "secret"}  # fmt: skip
    it = await run([active(About(0, DENIED))], calls(evil), calls({**OTHER}), late, delta(finish="tool_calls"))
    assert b"secret" not in it.tape
    assert [block.text for block in it.client_state.blocks] == ["[denied]", "{}", "x"]


async def test_what_describes_a_changed_text_goes_with_it() -> None:
    late = delta(annotations=[{"title": "secret"}], audio={"transcript": "secret"})
    it = await run([active(About(0, MASKED))], delta(content="my secret"), calls({**OTHER}), late, delta(finish="stop"))
    assert b"secret" not in it.tape


async def test_a_function_call_of_old_stays_one() -> None:
    said = {"name": "old", "arguments": "{}"}
    stream = [calls(call(0, "a", "rm", "{}")), delta(function_call=said), delta(finish="function_call")]
    for ordinal, want in ((0, said), (1, None)):
        it = await run([active(About(ordinal, DENIED))], *stream)
        after = put_together(payloads(it.tape))[0]
        assert after.get("function_call") == want
    replaced = await run([active(About(1, Verdict(Decision.REPLACE, "", "[]")))], *stream)
    assert put_together(payloads(replaced.tape))[0]["function_call"] == {"name": "old", "arguments": "[]"}


async def test_a_custom_call_that_is_replaced_stays_one() -> None:
    custom = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "sh", "input": "secret"}}
    it = await run([active(About(0, MASKED))], calls(custom), delta(finish="tool_calls"))
    [made] = put_together(payloads(it.tape))[0]["tool_calls"]
    assert known(made) == {"index": 0, "id": "a", "type": "custom", "custom": {"name": "sh", "input": "[masked]"}}


async def test_the_role_that_went_through_is_not_told_again() -> None:
    stream = [delta(role="assistant", content=""), calls(call(0, "a", "rm", "{}")), delta(finish="tool_calls")]
    it = await run([active(About(0, DENIED))], *stream)
    assert known(put_together(payloads(it.tape))[0]) == {"role": "assistant", "content": "[denied]"}


async def test_many_choices_cost_no_more_than_many_blocks() -> None:
    choices = [{"index": number, "message": {"content": "a"}, "finish_reason": "stop"} for number in range(4000)]
    body: JsonObject = {**HEAD, "choices": choices}
    it = await Run([active(About(0, DENIED))], OpenAIChatBodyComposer(body)).finish(whole_chunk(body))
    assert len(json.loads(it.tape)["choices"]) == 4000
    assert len(aggregate(body).blocks) == 4000
    assert chunks(body)


def google(signature: str) -> Any:
    return {"extra_content": {"google": {"thought_signature": signature}}}


@pytest.mark.parametrize(
    ("verdict", "wanted"),
    [(DENIED, [("ls", SKIP)]), (Verdict(Decision.REPLACE, "", "{}"), [("rm", SKIP), ("ls", None)])],
)
@pytest.mark.parametrize("is_at_once", [True, False])
async def test_a_signature_that_went_with_a_call_is_made_up_for(
    verdict: Verdict, wanted: Any, is_at_once: bool
) -> None:
    first, second = {**call(0, "c1", "rm", '{"a":1}'), **google("U0lH")}, call(1, "c2", "ls", "{}")
    stream = [calls(first, second)] if is_at_once else [calls(first), calls(second)]
    it = await run([active(About(0, verdict))], *stream, delta(finish="tool_calls"), "[DONE]")
    [message] = put_together(payloads(it.tape)).values()
    choice = {"index": 0, "message": {"tool_calls": [first, second]}, "finish_reason": "tool_calls"}
    body: JsonObject = {**HEAD, "choices": [choice]}
    data = encode(body)
    answer = await Run([active(About(0, verdict))], OpenAIChatBodyComposer(body)).finish([Chunk(0, 0, data, data)])
    assert signed_in(json.loads(answer.tape)["choices"][0]["message"]["tool_calls"]) == wanted
    # Within one chunk, what is kept precedes what is rewritten.
    is_turned = is_at_once and verdict is not DENIED
    assert signed_in(message["tool_calls"]) == ([("ls", SKIP), ("rm", None)] if is_turned else wanted)


def signed_in(calls: Any) -> list[tuple[str, str | None]]:
    signatures = [(each.get("extra_content") or {}).get("google", {}).get("thought_signature") for each in calls]
    return [(each["function"]["name"], signature) for each, signature in zip(calls, signatures, strict=True)]
