"""What policies leave alone stays as upstream sent it, in streams and in whole answers, as the SDK reads them.

One block of each recorded stream is denied or replaced: which block and which of the two varies between streams.
"""

import json
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from openai import omit
from openai._models import construct_type
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import Response, ResponseStreamEvent

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock
from streamviz.core.chain import PolicyChain
from streamviz.core.composer import Composer
from streamviz.core.events import BlockKind
from streamviz.core.judgements import ChainContext
from streamviz.core.processor import StreamProcessor
from streamviz.core.verdicts import Decision, Verdict
from streamviz.core.wire.openai_responses import OpenAIResponsesAggregator
from streamviz.core.wire.openai_responses_body_composer import OpenAIResponsesBodyComposer
from streamviz.core.wire.openai_responses_composer import OpenAIResponsesComposer
from tests.core.support import Opinion, active, parse
from tests.core.wire import legal
from tests.core.wire.official import payloads
from tests.recordings import telling

SAID = "[changed by the test]"
ALL_KINDS = list(BlockKind)

Items = list[Any]


def sdk_stream(tape: bytes) -> Any:
    """The response that the SDK assembles from a stream."""
    state = ResponseStreamState(input_tools=omit, text_format=omit)
    last: Any = None
    for payload in payloads(tape):
        if payload["type"] != "error":
            event: Any = construct_type(type_=ResponseStreamEvent, value=payload)
            last = state.handle_event(event)[-1]
    with warnings.catch_warnings():
        # Types of item that the SDK does not know are read all the same.
        warnings.simplefilter("ignore")
        return last.response.to_dict()


def sdk_body(body: bytes) -> Any:
    response: Any = construct_type(type_=Response, value=json.loads(body))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return response.to_dict()


async def through(stream: Sequence[Chunk], ordinal: int, decision: Decision, body: Any = None) -> bytes:
    """The client's tape with one block denied or replaced."""

    def decide(block: StreamBlock) -> Verdict | None:
        text = json.dumps({"said": SAID}) if block.kind is BlockKind.TOOL_CALL else SAID
        return Verdict(decision, "", text) if block.ordinal == ordinal else None

    aggregator = OpenAIResponsesAggregator()
    composer: Composer = OpenAIResponsesComposer(aggregator.head)
    if body is not None:
        composer = OpenAIResponsesBodyComposer(body)
    context = ChainContext("run", lambda: 0, state=aggregator.state)
    chain = PolicyChain([active(Opinion(decide, ALL_KINDS))], composer)
    processor = StreamProcessor(chain.on_chunk, aggregator, is_enforcing=True)
    await processor.take(stream, context)
    await processor.end(context)
    assert processor.broken_by is None
    return b"".join(frame.raw for frame in context.outbox)


def blocks_of(stream: Sequence[Chunk]) -> list[StreamBlock]:
    aggregator = OpenAIResponsesAggregator()
    for chunk in stream:
        aggregator.aggregate(chunk)
    aggregator.close()
    return aggregator.state.blocks


def final_of(data: bytes) -> Any:
    return payloads(data)[-1].get("response")


def places_of(blocks: Sequence[StreamBlock], output: Items) -> list[tuple[int, int]]:
    """By ordinal: the index of a block's item in the output, and of its part there."""
    counts: dict[int, int] = {}
    found = []
    for block in blocks:
        place = block.index or 0
        found.append((place, counts.get(place, 0)))
        counts[place] = counts.get(place, 0) + 1
    return found


def kept(output: Items, at: tuple[int, int], *, is_denied: bool) -> Iterator[Any]:
    """All items except the changed one, of a changed message its other parts, and nothing of a denied call's output."""
    place, part = at
    changed = output[place]
    gone = {changed.get("call_id"), changed.get("id")} - {None} if is_denied else set()
    for number, item in enumerate(output):
        if number == place:
            rest = [each for position, each in enumerate(item.get("content") or []) if position != part]
            if item["type"] == "message" and rest:
                yield rest
        elif not (item["type"].endswith("_output") and {item.get("call_id"), item.get("id")} & gone):
            yield item


def is_whole(data: bytes) -> bool:
    """Whether upstream ended the response."""
    return bool(payloads(data)[-1].get("type") == "response.completed")


def is_read(data: bytes) -> bool:
    """Whether the SDK can read what upstream sent."""
    try:
        sdk_stream(data)
    except (RuntimeError, TypeError, AttributeError):
        return False
    return True


def is_legal(data: bytes) -> bool:
    """Whether upstream itself follows the format's rules."""
    try:
        legal.check_responses(payloads(data))
    except (AssertionError, KeyError, StopIteration, TypeError):
        return False
    return True


RECORDED = [path for path in telling("openai_responses") if is_whole(path.read_bytes())]
CASES = [
    pytest.param(path.read_bytes(), n // 2, Decision.DENY if n % 2 else Decision.REPLACE, id=path.stem)
    for n, path in enumerate(RECORDED)
]


@pytest.mark.parametrize(("data", "number", "decision"), CASES)
async def test_the_sdk_reads_what_is_allowed_as_before(data: bytes, number: int, decision: Decision) -> None:
    stream = parse(data)
    if not is_read(data):
        # What the SDK could not read before it need not read afterwards.
        return
    blocks, before, was_legal = blocks_of(stream), sdk_stream(data), is_legal(data)
    places = places_of(blocks, before["output"])
    block = blocks[number % len(blocks)]
    tape = await through(stream, block.ordinal, decision)
    after = sdk_stream(tape)
    assert is_legal(tape) or not was_legal
    assert_kept(before, after, places[block.ordinal], decision)
    assert_gone(block, blocks, tape)


@pytest.mark.parametrize(("data", "number", "decision"), CASES)
async def test_a_whole_answer_has_what_the_stream_has(data: bytes, number: int, decision: Decision) -> None:
    body = {**final_of(data), "output_text": None}
    raw = json.dumps(body).encode()
    stream = [Chunk(0, 0, raw, raw)]
    if not body["output"]:
        return
    blocks, before = blocks_of(stream), sdk_body(raw)
    places = places_of(blocks, before["output"])
    block = blocks[number % len(blocks)]
    after = await through(stream, block.ordinal, decision, body)
    assert_kept(before, sdk_body(after), places[block.ordinal], decision)
    assert_gone(block, blocks, b"data: " + after + b"\n\n")


def assert_kept(before: Any, after: Any, at: tuple[int, int], decision: Decision) -> None:
    is_denied = decision is Decision.DENY
    want = list(kept(before["output"], at, is_denied=is_denied))
    got = list(kept(after["output"], at, is_denied=False))
    assert got == want
    assert {key: value for key, value in after.items() if key not in ("output", "output_text")} == {
        key: value for key, value in before.items() if key not in ("output", "output_text")
    }
    assert SAID in json.dumps(after["output"][at[0]])


def assert_gone(block: StreamBlock, blocks: Sequence[StreamBlock], tape: bytes) -> None:
    """Assert that no frame contains the block's text, if that is long enough to be recognized."""
    others = "".join(other.text for other in blocks if other is not block)
    if len(block.text) < 20 or block.text in others:
        return
    texts = [text for payload in payloads(tape) for text in _texts(payload)]
    assert all(block.text not in text for text in texts)
    said = "".join(payload["delta"] for payload in payloads(tape) if isinstance(payload.get("delta"), str))
    assert block.text not in said


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from _texts(inner)
        case list():
            for inner in value:
                yield from _texts(inner)
