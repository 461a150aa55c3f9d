"""Properties of every stream, format and set of policies: nothing denied leaks, nothing allowed is lost."""

import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock, StreamState, ToolCallStreamBlock
from streamviz.core.chain import PolicyChain
from streamviz.core.composer import Composer
from streamviz.core.context import StreamingContext
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_object, decode, encode
from streamviz.core.judgements import ChainContext, ModelSaid
from streamviz.core.policy import ActivePolicy, Consult, Policy
from streamviz.core.processor import StreamProcessor, pass_through
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import Decision, Mode, Verdict
from streamviz.core.wire import AGGREGATORS
from streamviz.core.wire.anthropic_messages_body_composer import AnthropicMessagesBodyComposer
from streamviz.core.wire.anthropic_messages_composer import AnthropicMessagesComposer
from streamviz.core.wire.gemini_body_composer import GeminiBodyComposer
from streamviz.core.wire.gemini_composer import GeminiComposer
from streamviz.core.wire.openai_chat_body_composer import OpenAIChatBodyComposer
from streamviz.core.wire.openai_chat_composer import OpenAIChatComposer
from streamviz.core.wire.openai_responses_body_composer import OpenAIResponsesBodyComposer
from streamviz.core.wire.openai_responses_composer import OpenAIResponsesComposer
from streamviz.policies import build
from tests.core.support import Opinion, active, call, delta, parse, sse
from tests.core.wire import legal
from tests.core.wire.official import compose, payloads, read_back, told_of
from tests.core.wire.official import take_in as take_in_format
from tests.recordings import sample
from tests.thorough import examples

FORMATS = ("openai_chat", "anthropic_messages", "openai_responses", "gemini")
COMPOSERS: dict[str, type[Any]] = {
    "openai_chat": OpenAIChatComposer,
    "anthropic_messages": AnthropicMessagesComposer,
    "openai_responses": OpenAIResponsesComposer,
    "gemini": GeminiComposer,
}
GONE, NO, STOP = "[gone]", "[no]", "[stop]"
CHANGED = '{"changed": true}'


class Slow(Policy):
    """Asks a judge about each tool call, who denies some of them."""

    def __init__(self, against: set[int]) -> None:
        self._against = against

    def holds(self, block: StreamBlock) -> bool:
        return block.kind is BlockKind.TOOL_CALL

    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Consult | None:
        if block.kind is not BlockKind.TOOL_CALL:
            return None
        decision = Decision.DENY if block.ordinal in self._against else Decision.ALLOW
        return Consult("m", "", "", lambda answer: Verdict(decision, "", NO))


class Plan(NamedTuple):
    """A random set of policies, and what they should do."""

    policies: list[ActivePolicy]
    denied: set[int]
    changed: set[int]
    pattern: str


def plan(state: StreamState, chance: random.Random) -> Plan:
    """Policies for this stream, in random order: rules, judges, changes of arguments, text rules, limits, shadows."""
    calls = [block.ordinal for block in state.blocks if block.kind is BlockKind.TOOL_CALL]
    by_rule, by_judge = ({ordinal for ordinal in calls if chance.random() < 0.4} for _ in range(2))
    words = [
        word for block in state.blocks if block.kind is BlockKind.CONTENT for word in re.findall(r"\w{4,}", block.text)
    ]
    pattern = chance.choice(words) if words else ""
    rule = Opinion(lambda block: Verdict(Decision.DENY, "", NO) if block.ordinal in by_rule else None)
    enforcing = [(active(rule, name="rule"), by_rule), (active(Slow(by_judge), name="judge"), by_judge)]
    chosen = [each for each in enforcing if chance.random() < 0.7]
    policies = [each for each, _ in chosen]
    denied = {ordinal for _, against in chosen for ordinal in against}
    if pattern and chance.random() < 0.7:
        text_rule = build("text_rule", {"patterns": [re.escape(pattern)], "replacement": GONE})
        policies.append(active(text_rule, name="text"))
    else:
        pattern = ""
    everything = Opinion(lambda block: Verdict(Decision.DENY, "", "[shadow]"), list(BlockKind))
    changed = {ordinal for ordinal in calls if chance.random() < 0.3}
    if changed and chance.random() < 0.5:
        changes = Opinion(
            lambda block: (
                Verdict(Decision.REPLACE, "", CHANGED) if block.ordinal in changed else Verdict(Decision.ALLOW)
            )
        )
        policies.append(active(changes, name="changes"))
    else:
        changed = set()
    bounds = {"tool_calls": 10_000, "blocks": 10_000, "output_tokens": 10**9}
    others = [
        active(build("limits", {"stream": bounds}), name="limits"),
        active(everything, Mode.SHADOW, name="shadow"),
        active(Slow(set(calls)), Mode.SHADOW, name="slow shadow"),
        active(Opinion(lambda block: None, list(BlockKind)), name="holder"),
    ]
    policies += [each for each in others if chance.random() < 0.4]
    chance.shuffle(policies)
    return Plan(policies, denied, changed - denied, pattern)


class Result(NamedTuple):
    tape: bytes
    context: ChainContext


async def through(
    format: str, stream: Sequence[Chunk], policies: Iterable[ActivePolicy], chance: random.Random
) -> Result:
    """The client's tape and the context; judges answer at random times and in random order."""
    aggregator = AGGREGATORS[format]()
    composer: Composer = COMPOSERS[format](aggregator.head)
    context = ChainContext("run", lambda: 0, ModelCall(format, _asked(stream)), state=aggregator.state)
    chain = PolicyChain(list(policies), composer)
    processor = StreamProcessor(chain.on_chunk if policies else pass_through, aggregator)

    def answer(share: float) -> None:
        numbers = [number for number in context.questions if chance.random() < share]
        chance.shuffle(numbers)
        for number in numbers:
            chain.answer(number, ModelSaid(""), aggregator.state, context)

    at = 0
    while at < len(stream):
        size = chance.randint(1, 4)
        await processor.take(stream[at : at + size], context)
        at += size
        answer(0.3)
    await processor.end(context)
    while context.questions:
        answer(0.5)
    return Result(b"".join(frame.raw for frame in context.outbox), context)


def _asked(stream: Sequence[Chunk]) -> JsonObject:
    """The request, as far as the answer repeats it."""
    payloads = (as_object(decode(chunk.data)) for chunk in stream if chunk.data and chunk.data.startswith(b"{"))
    return next((as_object(payload["response"]) for payload in payloads if "response" in payload), {})


def assert_as_planned(format: str, data: bytes, state: StreamState, made: Plan, tape: bytes) -> None:
    upstream, client = told_of(state, is_one_text=True), read_back(format, tape)
    legal.check(format, payloads(tape))
    assert client.thinking == read_back(format, data).thinking
    kept = [block for block in state.blocks if block.choice == 0 and block.ordinal not in made.denied]
    calls = [block for block in kept if isinstance(block, ToolCallStreamBlock)]
    changed = {block.id for block in calls if block.ordinal in made.changed}
    kept_ids = {block.id for block in calls}
    assert client.calls == [
        (id, name, json.loads(CHANGED) if id in changed else arguments)
        for id, name, arguments in upstream.calls if id in kept_ids
    ]  # fmt: skip
    texts = [block.text for block in kept if block.kind in (BlockKind.CONTENT, BlockKind.REFUSAL)]
    if made.pattern:
        contents = [
            block.kind is BlockKind.CONTENT for block in kept if block.kind in (BlockKind.CONTENT, BlockKind.REFUSAL)
        ]
        texts = [text.replace(made.pattern, GONE) if is_content else text
                 for text, is_content in zip(texts, contents, strict=True)]  # fmt: skip
    assert client.content.replace(NO, "") == "".join(texts)
    aggregator, _ = take_in_format(format, tape)
    assert aggregator.state.usage == state.usage
    reason = state.finish_reasons.get(0)
    had_calls = any(block.kind is BlockKind.TOOL_CALL for block in state.blocks if block.choice == 0)
    if had_calls and not calls:
        reason = COMPOSERS[format].finish_without_calls.get(reason, reason)
        reason = COMPOSERS[format].finish_without_any.get(reason, reason)
    assert aggregator.state.finish_reasons.get(0) == reason
    assert_gone(format, state, data, made, tape)


def assert_gone(format: str, state: StreamState, data: bytes, made: Plan, tape: bytes) -> None:
    """Assert that neither ids nor arguments of the removed calls are on the tape, within a chunk or across chunks."""
    gone = made.denied | made.changed
    kept = "".join(block.id + block.text for block in state.blocks if block.ordinal not in gone)
    kept += "".join(block.id for block in state.blocks if block.ordinal in made.changed)
    client = "".join(block.text for block in take_in_format(format, tape)[0].state.blocks)
    chunks, texts = parse(data), list(texts_of(tape))
    for block in state.blocks:
        if block.ordinal not in gone or not isinstance(block, ToolCallStreamBlock):
            continue
        # What upstream said before there was a call to hold (such as in encrypted thinking) went out before.
        before = b"".join(chunk.raw for chunk in chunks[: block.first_seq]).decode()
        if len(block.id) > 8 and block.id not in kept + before:
            assert block.id.encode() not in tape
        if len(block.text) > 12 and block.text not in kept + before:
            assert block.text not in client
            assert all(block.text not in text for text in texts)


def texts_of(tape: bytes) -> Iterator[str]:
    """Every text anywhere in the frames, including fields that no client reads."""
    level: list[Any] = payloads(tape)
    while level:
        match level.pop():
            case str(text):
                yield text
            case dict(members):
                level += members.values()
            case list(items):
                level += items


def is_sound(format: str, data: bytes, state: StreamState) -> bool:
    """Whether the SDK accepts the stream itself, so that if it rejects our output, that is our fault."""
    if state.failure is not None or not state.finish_reasons:
        return False
    try:
        legal.check(format, payloads(data))
        told, own = read_back(format, data), told_of(state, is_one_text=True)
    except Exception:
        return False
    # It may not: two calls with the same id, calls that the provider runs, thinking that the SDK does not read.
    return (
        told.content == own.content
        and told.calls == own.calls
        and len({each[0] for each in own.calls}) == len(own.calls)
    )


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
async def test_recorded_streams_come_out_as_random_policies_decide(format: str) -> None:
    denied = replaced = checked = 0
    for path in sample(format, 40):
        data = path.read_bytes()
        aggregator, _ = take_in_format(format, data)
        state = aggregator.state
        if not is_sound(format, data, state):
            continue
        chance = random.Random(path.stem)
        made = plan(state, chance)
        tape, _ = await through(format, parse(data), made.policies, chance)
        try:
            assert_as_planned(format, data, state, made, tape)
        except Exception as error:
            raise AssertionError(f"{path.stem}: {error}") from error
        checked += 1
        denied += len(made.denied)
        replaced += bool(made.pattern)
        if not made.denied and not made.pattern and not made.changed:
            assert tape == data, path.stem
    assert checked > len(sample(format, 40)) / 2
    assert denied + replaced > checked / 3


PIECES = st.lists(st.sampled_from(["text", "text", "thinking", 0, 1, 2]), min_size=1, max_size=14)


def generated(made: list[Any]) -> bytes:
    """A chat stream with its pieces in this order."""
    data, indices = b"", dict[int, int]()
    for number, where in enumerate(made):
        if where == "text":
            payload = delta(content=f"some word{number} more ")
        elif where == "thinking":
            payload = delta(reasoning_content=f"thought{number} ")
        else:
            is_first = where not in indices
            index = indices.setdefault(where, len(indices))
            arguments = f'{{"a":"secret{where}' if is_first else f"+{number}"
            name = f"tool{where}" if is_first else None
            payload = delta(tool_calls=[call(index, f"call-id-{where}" if is_first else None, name, arguments)])
        data += sse(payload)
    closing = [call(index, arguments='"}') for index in indices.values()]
    data += sse(delta(tool_calls=closing)) if closing else b""
    finish = delta(finish="tool_calls" if indices else "stop")
    return (
        data
        + sse(finish)
        + sse({**delta(), "choices": [], "usage": {"total_tokens": 9, "prompt_tokens": 4, "completion_tokens": 5}})
        + sse("[DONE]")
    )


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=examples(40))
@given(made=PIECES, seed=st.integers(0, 10_000))
async def test_generated_streams_come_out_as_random_policies_decide(format: str, made: list[Any], seed: int) -> None:
    data = generated(made)
    if format != "openai_chat":
        data = compose(*take_in_format("openai_chat", data), "openai_chat", format)
    aggregator, _ = take_in_format(format, data)
    chance = random.Random(seed)
    planned = plan(aggregator.state, chance)
    tape, context = await through(format, parse(data), planned.policies, chance)
    assert_as_planned(format, data, aggregator.state, planned, tape)
    for block in aggregator.state.blocks:
        if block.ordinal in planned.denied and isinstance(block, ToolCallStreamBlock):
            for word in (block.id, block.name, f"secret{block.name[-1]}"):
                assert word.encode() not in tape
    if planned.pattern:
        assert planned.pattern.encode() not in tape
    assert not planned.denied or any(each.verdict.decision is Decision.DENY for each in context.judgements)


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=examples(40))
@given(made=PIECES, seed=st.integers(0, 10_000))
async def test_halted_streams_end_legally(format: str, made: list[Any], seed: int) -> None:
    data = generated(made)
    if format != "openai_chat":
        data = compose(*take_in_format("openai_chat", data), "openai_chat", format)
    chance = random.Random(seed)
    word = chance.choice(["word", "word1", "more", "secret0", "thought"])
    halts = build("text_rule", {"patterns": [word], "action": "halt", "text": STOP, "in": ["content", "thinking"]})
    against = Opinion(
        lambda block: Verdict(Decision.HALT, "", STOP) if word in block.text else None, [BlockKind.TOOL_CALL]
    )
    tape, context = await through(format, parse(data), [active(halts), active(against)], chance)
    if word.encode() not in data:
        assert tape == data
        return
    assert context.is_terminated
    assert word.encode() not in tape
    client = read_back(format, tape)
    legal.check(format, payloads(tape))
    endings = {"openai_chat": "content_filter", "anthropic_messages": "refusal", "openai_responses": "incomplete"}
    endings["gemini"] = "SAFETY"
    assert client.finish_reason == endings[format]


@pytest.mark.parametrize("format", FORMATS)
async def test_with_all_policies_off_the_bytes_are_untouched(format: str) -> None:
    for path in sample(format, 40):
        data = path.read_bytes()
        aggregator, _ = take_in_format(format, data)
        if aggregator.state.failure is None:
            assert (await through(format, parse(data), [], random.Random(1))).tape == data, path.stem


BODIES: dict[str, type[Any]] = {
    "openai_chat": OpenAIChatBodyComposer,
    "anthropic_messages": AnthropicMessagesBodyComposer,
    "openai_responses": OpenAIResponsesBodyComposer,
    "gemini": GeminiBodyComposer,
}


async def verdicts_on(
    format: str, stream: Sequence[Chunk], policies: Sequence[ActivePolicy], composer: Composer
) -> tuple[list[tuple[Any, ...]], bytes]:
    """The policies' verdicts and what the client gets, with each judge answered immediately."""
    aggregator = AGGREGATORS[format]()
    context = ChainContext("run", lambda: 0, state=aggregator.state)
    chain = PolicyChain(policies, composer)
    processor = StreamProcessor(chain.on_chunk, aggregator)
    await processor.take(stream, context)
    await processor.end(context)
    while context.questions:
        chain.answer(min(context.questions), ModelSaid(""), aggregator.state, context)
    kinds = {block.ordinal: block.kind for block in aggregator.state.blocks}
    said = [
        (each.policy.name, None if each.ordinal is None else kinds[each.ordinal], each.verdict.decision,
         each.verdict.reason) for each in context.judgements
    ]  # fmt: skip
    return sorted(said, key=str), b"".join(frame.raw for frame in context.outbox)


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=examples(40))
@given(seed=st.integers(0, 10_000), calls=st.integers(0, 3))
async def test_a_whole_answer_gets_the_same_verdicts_as_a_stream(format: str, seed: int, calls: int) -> None:
    made = ["thinking", "text", *range(calls)]
    data = generated(made)
    if format != "openai_chat":
        data = compose(*take_in_format("openai_chat", data), "openai_chat", format)
    aggregator, _ = take_in_format(format, data)
    policies = plan(aggregator.state, random.Random(seed)).policies
    head = aggregator.head
    body = encode(aggregator.build())
    whole = decode(body)
    assert isinstance(whole, dict)
    streamed, _ = await verdicts_on(format, parse(data), policies, COMPOSERS[format](head))
    at_once, tape = await verdicts_on(format, [Chunk(0, 0, body, body)], policies, BODIES[format](whole))
    assert at_once == streamed
    if all(decision is Decision.ALLOW for _, _, decision, _ in streamed):
        assert tape == body
