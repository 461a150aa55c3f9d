"""Streams whose frames contradict each other: the SDK never gets what a policy denies."""

import json
import random
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from openai import omit
from openai._models import construct_type
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import ResponseStreamEvent

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.chain import PolicyChain
from streamviz.core.composer import Composer
from streamviz.core.events import BlockKind
from streamviz.core.judgements import ChainContext
from streamviz.core.policy import Policy
from streamviz.core.processor import StreamProcessor
from streamviz.core.verdicts import Decision, Verdict
from streamviz.core.wire.openai_responses import OpenAIResponsesAggregator
from streamviz.core.wire.openai_responses_body_composer import OpenAIResponsesBodyComposer
from streamviz.core.wire.openai_responses_composer import OpenAIResponsesComposer
from tests.core.support import Opinion, active, chunks
from tests.core.wire.official import payloads
from tests.core.wire.test_openai_responses import CREATED, added, done, finish, say

# The SDK's own classes warn that their contents are odd.
pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")

POISON = "rm-rf"
STREAMS = 25
TYPES = ("function_call", "custom_tool_call", "mcp_call", "shell_call", "apply_patch_call", "gadget_call")
# The members of calls and messages that clients act on.
ACTED_ON = ("name", "arguments", "input", "action", "operation", "code", "delta", "text", "refusal", "command", "diff")


def call(index: int, rng: random.Random) -> list[Any]:
    """The frames of a call of a random type."""
    id, call_id, value = f"i_{index}", f"c{index}", json.dumps({"a": "ls"})
    at = {"item_id": id}
    match rng.choice(TYPES):
        case "shell_call":
            item = {"type": "shell_call", "id": id, "call_id": call_id, "action": {"commands": ["ls"]}}
            told = [say("shell_call_command.delta", index, **at, delta="ls", command_index=0)]
        case "apply_patch_call":
            item = {"type": "apply_patch_call", "id": id, "call_id": call_id, "operation": {"diff": "ls"}}
            told = [say("apply_patch_call_operation_diff.delta", index, **at, delta="ls")]
        case "gadget_call":
            item, told = {"type": "gadget_call", "id": id, "call_id": call_id, "input": {"a": "ls"}}, []
        case "custom_tool_call":
            item = {"type": "custom_tool_call", "id": id, "call_id": call_id, "name": "look", "input": value}
            told = [say("custom_tool_call_input.delta", index, **at, delta=value)]
            told.append(say("custom_tool_call_input.done", index, **at, input=value))
        case type:
            item = {"type": type, "id": id, "call_id": call_id, "name": "look", "arguments": value}
            told = [say(f"{type}_arguments.delta", index, **at, delta=value)]
            told.append(say(f"{type}_arguments.done", index, **at, arguments=value))
    empty = {key: "" for key in ("arguments", "input") if isinstance(item.get(key), str)}
    return [added({**item, **empty}, index), *told, done(item, index)]


def text(index: int) -> list[Any]:
    part = {"type": "output_text", "text": "hello", "annotations": []}
    message = {"type": "message", "id": f"m_{index}", "role": "assistant", "status": "completed", "content": [part]}
    at = {"item_id": f"m_{index}", "content_index": 0}
    return [
        added({**message, "content": []}, index),
        say("content_part.added", index, **at, part={**part, "text": ""}),
        say("output_text.delta", index, **at, delta="hello", logprobs=[]),
        say("output_text.done", index, **at, text="hello", logprobs=[]),
        say("content_part.done", index, **at, part=part),
        done(message, index),
    ]


def hostile(rng: random.Random) -> list[Chunk]:
    """A stream of some items in which frames are repeated, removed or changed, and some contain the poison."""
    frames = [frame for n in range(rng.randint(1, 3)) for frame in (call(n, rng) if rng.random() < 0.7 else text(n))]
    script = [CREATED, *frames, finish(*(frame["item"] for frame in frames if frame["type"].endswith("item.done")))]
    script = json.loads(json.dumps(script))
    for _ in range(rng.randint(1, 3)):
        _spoil(script, rng)
    numbered = [{**payload, "sequence_number": number} for number, payload in enumerate(script)]
    return chunks(*numbered)


def _spoil(script: list[Any], rng: random.Random) -> None:
    at = rng.randrange(1, len(script))
    match rng.randrange(5):
        case 0:
            script.insert(rng.randrange(1, len(script) + 1), json.loads(json.dumps(script[at])))
        case 1 if len(script) > 2:
            del script[at]
        case 2:
            field = rng.choice(["output_index", "content_index", "item_id"])
            script[at][field] = rng.choice([0, 1, 2, 5, None, "0", "i_0", "i_1"])
        case _:
            _poison(script[at], rng)


def _poison(payload: Any, rng: random.Random) -> None:
    found = [(inner, key) for inner in _objects(payload) for key in inner if key in ACTED_ON]
    if found:
        inner, key = rng.choice(found)
        value = inner[key]
        inner[key] = json.loads(json.dumps(value).replace("ls", POISON)) if "ls" in json.dumps(value) else POISON


def _objects(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(inner)


def against_poison(block: StreamBlock) -> Verdict | None:
    name = block.name if isinstance(block, ToolCallStreamBlock) else ""
    return Verdict(Decision.DENY, "", "[no]") if POISON in name + block.text else None


async def through(stream: list[Chunk], body: Any = None, policy: Policy | None = None) -> bytes:
    """What the client gets from a stream, or from `body`, an answer that was not streamed; denies the poison by
    default."""
    aggregator = OpenAIResponsesAggregator()
    context = ChainContext("run", lambda: 0, state=aggregator.state)
    composer: Composer = OpenAIResponsesComposer(aggregator.head) if body is None else OpenAIResponsesBodyComposer(body)
    chain = PolicyChain([active(policy or Opinion(against_poison, list(BlockKind)))], composer)
    processor = StreamProcessor(chain.on_chunk, aggregator, is_enforcing=chain.is_enforcing)
    await processor.take(stream, context)
    await processor.end(context)
    frames = [frame.raw for frame in context.outbox]
    if processor.broken_by is not None:
        frames.append(composer.fail(processor.broken_by))
    assert not any(judgement.failure for judgement in context.judgements)
    return b"".join(frames)


def acted_on(value: Any) -> str:
    """Everything in what a client was given that it may act on."""
    return json.dumps([inner[key] for inner in _objects(value) for key in inner if key in ACTED_ON])


@pytest.mark.parametrize("seed", range(4))
async def test_the_sdk_gets_nothing_that_was_denied(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(STREAMS):
        tape = await through(hostile(rng))
        assert POISON not in acted_on(payloads(tape)), tape.decode()
        read_by_sdk(tape)


@cache  # reading is slow, and what is left of different calls that are denied is often the same
def read_by_sdk(tape: bytes) -> None:
    """Assert that what the SDK assembles has no poison; it may raise if upstream's frames make no sense."""
    state = ResponseStreamState(input_tools=omit, text_format=omit)
    for payload in payloads(tape):
        if payload["type"] == "error":
            continue
        event: Any = construct_type(type_=ResponseStreamEvent, value=payload)
        try:
            told: Any = state.handle_event(event)
        except (RuntimeError, TypeError, AttributeError, AssertionError, IndexError):
            return
        with warnings.catch_warnings():
            # Incomplete items are read all the same.
            warnings.simplefilter("ignore")
            assert all(POISON not in acted_on(each.to_dict()) for each in told)


async def whole(body: Any, policy: Policy | None = None) -> bytes:
    """What a client that does not stream gets."""
    data = json.dumps(body).encode()
    return await through([Chunk(0, 0, data, data)], body, policy)


EVIL = {"type": "function_call", "id": "fc", "call_id": "c", "name": "look", "arguments": json.dumps({"a": POISON})}
ANSWER = {"id": "r", "object": "response", "status": "completed", "output": [EVIL]}
LABELS = ("", "response", "foo", "error", "response.created", "response.output_text.delta", "response.completed",
          "response.output_item.done", "response.shell_call_output_content.done")  # fmt: skip


@pytest.mark.parametrize("type", LABELS)
async def test_a_whole_answer_is_judged_whatever_type_it_claims(type: str) -> None:
    assert POISON not in acted_on(json.loads(await whole({**ANSWER, "type": type})))


@pytest.mark.parametrize("object", [None, "chat.completion"])
async def test_a_whole_answer_is_judged_whatever_object_it_claims(object: str | None) -> None:
    bare = {key: value for key, value in ANSWER.items() if key != "object"}
    assert POISON not in acted_on(json.loads(await whole({**bare, **({"object": object} if object else {})})))


async def test_what_is_allowed_of_an_answer_without_an_object_stays() -> None:
    said = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "hello"}]}
    output = json.loads(await whole({"id": "r", "status": "completed", "output": [said, EVIL]}))["output"]
    assert [item["content"][0]["text"] for item in output] == ["hello", "[no]"]


PART: Any = {"type": "output_text", "text": "", "annotations": []}
UNTOLD: Any = {"type": "message", "id": "m_9", "content": [PART]}


@pytest.mark.parametrize("is_more", [False, True], ids=["one", "two"])
@pytest.mark.parametrize(
    "first",
    [
        {"type": "response.content_part.added", "content_index": 0, "part": PART},
        {"type": "response.content_part.added", "content_index": 0, "part": PART, "item_id": "m_0"},
        {"type": "response.content_part.added", "output_index": 0, "content_index": 0, "part": PART},
        {"type": "response.content_part.added", "response": CREATED["response"]},
        {"type": "response.output_item.added", "item": UNTOLD},
        {"type": "response.created", "response": {**CREATED["response"], "output": [UNTOLD]}},
        {"type": "response.reasoning_text.delta", "delta": "a"},
    ],
)
async def test_a_text_that_is_replaced_is_not_in_the_end_of_another_item(first: Any, is_more: bool) -> None:
    def deny(block: StreamBlock) -> Verdict | None:
        return Verdict(Decision.DENY, "", "[removed]") if POISON in block.text else None

    announced = [added({**UNTOLD, "id": f"m_{place}", "content": []}, place) for place in range(1 + is_more)]
    ends = [say("output_text.done", 0, item_id="m_0", content_index=0, text=POISON, logprobs=[])]
    ends.append(say("content_part.done", 0, item_id="m_0", content_index=0, part={**PART, "text": POISON}))
    tape = await through(chunks(first, *announced, *ends), policy=Opinion(deny, list(BlockKind)))
    assert POISON not in tape.decode()


def test_a_response_within_an_event_is_read_and_marked() -> None:
    aggregator = OpenAIResponsesAggregator()
    aggregator.aggregate(chunks({**ANSWER, "type": "response.created"})[0])
    assert [block.text for block in aggregator.state.blocks] == [EVIL["arguments"]]
    assert "whole response" in aggregator.state.contradiction


@pytest.mark.parametrize(
    ("word", "field", "item"),
    [
        ("function_call_arguments", "arguments", {**EVIL, "arguments": "{}"}),
        ("custom_tool_call_input", "input", {"type": "custom_tool_call", "id": "fc", "call_id": "c", "name": "look"}),
        ("mcp_call_arguments", "arguments", {"type": "mcp_call", "id": "fc", "name": "look", "arguments": "{}"}),
        ("refusal", "refusal", {"type": "message", "id": "fc", "role": "assistant", "content": []}),
    ],
)
@pytest.mark.parametrize("beside", ["text", "refusal", "arguments", "input", "transcript"])
async def test_the_end_of_a_text_is_read_by_the_field_that_its_event_names(
    word: str, field: str, item: Any, beside: str
) -> None:
    frames = [say(f"{word}.done", 0, item_id="fc", **{beside: "{}", field: POISON})]
    frames += [say(f"{word}.done", 0, item_id="fc", **{field: "{}", beside: POISON})] if beside != field else []
    for frame in frames:
        tape = await through(chunks(CREATED, added({**item, field: ""} if word != "refusal" else item), frame))
        assert POISON not in acted_on(payloads(tape))


@pytest.mark.parametrize(("first", "second", "listed"), [(0, 1, "1"), (0, 1, "10"), (1, 0, "0"), (None, None, "1")])
@pytest.mark.parametrize(
    ("type", "word", "field"),
    [("function_call", "function_call_arguments", "arguments"), ("custom_tool_call", "custom_tool_call_input", "input"),
     ("mcp_call", "mcp_call_arguments", "arguments")],
)  # fmt: skip
async def test_a_denied_call_is_not_told_in_place_of_an_allowed_one(
    type: str, word: str, field: str, first: int | None, second: int | None, listed: str
) -> None:
    calls = [{"type": type, "id": f"i{n}", "call_id": f"c{n}", "name": name, field: "{}"}
             for n, name in enumerate(("look", POISON))]  # fmt: skip
    ends = [say(f"{word}.done", index, item_id=call["id"], name=call["name"], **{field: "{}"})
            for index, call in zip((first, second), calls, strict=True)]  # fmt: skip
    tape = await through(chunks(CREATED, *ends, finish(*(calls[int(each)] for each in listed))))
    assert POISON in acted_on(ends)
    assert POISON not in acted_on(payloads(tape))
    read_by_sdk(tape)


async def test_the_end_of_a_replaced_text_is_not_told_at_the_place_of_a_call() -> None:
    called = {"type": "mcp_call", "id": "i", "name": "look", "arguments": "{}"}
    at = {"item_id": "m", "content_index": 0}
    frames = [
        added({**called, "arguments": ""}, 1),
        done(called, 0),
        say("content_part.added", 1, **at, part=PART),
        say("output_text.done", 1, **at, text=POISON, logprobs=[]),
        say("content_part.done", 0, **at, part={**PART, "text": POISON}),
    ]
    tape = await through(chunks(CREATED, *frames, finish(called)))
    assert "[no]" in tape.decode()
    assert POISON not in acted_on(payloads(tape))


async def test_arguments_told_as_an_object_at_their_end_are_judged() -> None:
    frame = say("function_call_arguments.done", 0, item_id="fc", arguments={"a": POISON})
    tape = await through(chunks(CREATED, added({**EVIL, "arguments": ""}), frame))
    assert POISON not in tape.decode()


def test_only_the_formats_own_type_for_plain_text_makes_arguments_that() -> None:
    for type, is_free_text in (("custom_tool_call", True), ("custom", False), ("brand_new_call", False)):
        item = {"type": type, "id": "i", "call_id": "c", "name": "mail", "input": "x"}
        data = json.dumps({"object": "response", "status": "completed", "output": [item]}).encode()
        aggregator = OpenAIResponsesAggregator()
        aggregator.aggregate(Chunk(0, 0, data, data))
        [block] = aggregator.state.blocks
        assert isinstance(block, ToolCallStreamBlock)
        assert block.is_free_text is is_free_text
