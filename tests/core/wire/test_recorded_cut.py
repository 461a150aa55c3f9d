"""All recorded streams of all formats, split in various ways and cut off anywhere."""

import random
from bisect import bisect_right
from itertools import accumulate

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamState, ToolCallStreamBlock
from streamviz.core.call_runners import Runner
from streamviz.core.wire import AGGREGATORS
from tests.core.support import parse
from tests.recordings import RECORDED_FORMATS, recorded, telling

CUTS = 10
BYTE_FOR_BYTE = 20_000


@pytest.mark.parametrize("format", RECORDED_FORMATS)
def test_the_pieces_in_which_bytes_come_make_no_difference(format: str) -> None:
    # An aggregator sees only these chunks: if they are the same, so are its events.
    for path in telling(format):
        data = path.read_bytes()
        whole = parse(data)
        assert b"".join(chunk.raw for chunk in whole) == data, path.stem
        assert parse(data, 7) == whole, path.stem
        assert parse(data[:BYTE_FOR_BYTE], 1) == parse(data[:BYTE_FOR_BYTE]), path.stem


@pytest.mark.parametrize("format", RECORDED_FORMATS)
def test_a_stream_that_is_cut_gives_a_prefix(format: str) -> None:
    rng = random.Random(7)
    for path in recorded(format):
        data = path.read_bytes()
        chunks = parse(data)
        ends = list(accumulate(len(chunk.raw) for chunk in chunks))
        whole = state_of(format, chunks)
        for at in (rng.randrange(len(data)) for _ in range(CUTS)):
            before = bisect_right(ends, at)
            rest = parse(data[ends[before - 1] if before else 0 : at])
            cut = state_of(format, chunks[:before] + rest)
            assert len(cut.blocks) <= len(whole.blocks)
            for got, want in zip(cut.blocks, whole.blocks, strict=False):
                assert got.kind is want.kind, (path.stem, at)
                assert want.text.startswith(got.text), (path.stem, at)
                assert got.is_sealed, (path.stem, at)


def test_what_an_item_is_announced_with_is_how_it_begins() -> None:
    """Except a call that its client may run, all of which is judged."""
    for path in telling("openai_responses"):
        chunks = parse(path.read_bytes())
        announced = [at for at, chunk in enumerate(chunks, 1) if b'_item.added"' in chunk.raw and b"_call" in chunk.raw]
        whole = state_of("openai_responses", chunks).blocks if announced else []
        for at in announced:
            for got, want in zip(state_of("openai_responses", chunks[:at]).blocks, whole, strict=False):
                is_clients = isinstance(got, ToolCallStreamBlock) and got.runner is Runner.CLIENT
                assert is_clients or want.text.startswith(got.text), (path.stem, at)


def state_of(format: str, chunks: list[Chunk]) -> StreamState:
    aggregator = AGGREGATORS[format]()
    for chunk in chunks:
        aggregator.aggregate(chunk)
    aggregator.close()
    return aggregator.state
