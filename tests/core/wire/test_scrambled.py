"""Recorded streams with fields lost or replaced, and blocks denied: nothing raises, and nothing denied goes out."""

import random
from typing import Any

import pytest

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.chain import PolicyChain
from streamviz.core.json_value import JsonObject
from streamviz.core.judgements import ChainContext
from streamviz.core.processor import StreamProcessor
from streamviz.core.verdicts import Decision, Verdict
from streamviz.core.wire import AGGREGATORS, COMPOSERS
from tests.core.support import About, active, parse
from tests.core.wire.test_recorded import scramble
from tests.recordings import recorded

DENIED = Verdict(Decision.DENY, "no", "[denied]")


async def through(format: str, stream: list[Chunk], ordinal: int) -> ChainContext:
    aggregator: Aggregator[Chunk, JsonObject] = AGGREGATORS[format]()
    chain = PolicyChain([active(About(ordinal, DENIED))], COMPOSERS[format](aggregator.head))
    context = ChainContext("run", lambda: 0)
    processor = StreamProcessor(chain.on_chunk, aggregator)
    await processor.take(stream, context)
    await processor.end(context)
    return context


@pytest.mark.parametrize("format", ["openai_chat", "anthropic_messages", "gemini"])
@pytest.mark.parametrize("seed", range(2))
async def test_scrambled_streams_go_through_without_what_is_denied(format: str, seed: int) -> None:
    rng = random.Random(seed)
    denied = 0
    for path in recorded(format):
        stream = [scrambled(chunk, rng) for chunk in parse(data_of(path))[:120]]
        context = await through(format, stream, rng.randrange(4))
        denied += any(b"[denied]" in frame.raw for frame in context.outbox)
    assert denied > len(recorded(format)) / 9


def data_of(path: Any) -> bytes:
    data: bytes = path.read_bytes()
    return data


def scrambled(chunk: Chunk, rng: random.Random) -> Chunk:
    data = chunk.data and scramble(chunk.data, rng)
    return Chunk(chunk.seq, chunk.received_at, chunk.raw, data, chunk.name)
