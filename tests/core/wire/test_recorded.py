"""All recorded streams of all formats: the blocks, usage and whole messages that they add up to."""

import json
import random
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.events import StreamEvent
from streamviz.core.summary import summary
from streamviz.core.usage import normalise
from streamviz.core.wire import AGGREGATORS
from tests.core.support import parse
from tests.core.wire import legal
from tests.core.wire.official import compose, payloads, take_in, told_of
from tests.recordings import RECORDED_FORMATS, differences, expected, recorded

CLIENT_FORMATS = ("openai_chat", "anthropic_messages", "openai_responses", "gemini")


@pytest.mark.parametrize("format", RECORDED_FORMATS)
def test_all_aggregate_to_what_is_expected(format: str) -> None:
    wrong = {}
    for path in recorded(format):
        aggregator, _ = take_in(format, path.read_bytes())
        if found := differences(path, summary(aggregator.state)):
            wrong[path.stem] = found
    assert not wrong


@pytest.mark.parametrize("format", RECORDED_FORMATS)
def test_usage_is_normalised_to_what_is_expected(format: str) -> None:
    for path in recorded(format):
        want = expected(path)
        got = None if want["usage"] is None else normalise(want["usage"])._asdict()
        known = {key: value for key, value in (want["usage_norm"] or {}).items() if got is not None and key in got}
        assert (got is None) == (want["usage_norm"] is None)
        assert {key: value for key, value in (got or {}).items() if key in known} == known, path.stem


@pytest.mark.parametrize("format", RECORDED_FORMATS)
def test_built_messages_are_read_as_the_same_blocks(format: str) -> None:
    for path in recorded(format):
        aggregator, _ = take_in(format, path.read_bytes())
        body = json.dumps(aggregator.build()).encode()
        again, _ = take_in(format, b"data: " + body + b"\n\n")
        want, got = told_of(aggregator.state), told_of(again.state)
        # Arguments that Gemini streams in pieces are only joined in the built message.
        calls = want.calls if format != "gemini" else got.calls
        assert got[:2] == want[:2], path.stem
        assert got.calls == calls, path.stem


@pytest.mark.parametrize("format", RECORDED_FORMATS)
def test_nothing_that_a_stranger_sends_raises(format: str) -> None:
    rng = random.Random(11)
    for path in recorded(format):
        aggregator = AGGREGATORS[format]()
        events: list[StreamEvent] = []
        for chunk in parse(path.read_bytes())[:200]:
            data = chunk.data and scramble(chunk.data, rng)
            events += aggregator.aggregate(Chunk(chunk.seq, chunk.received_at, chunk.raw, data, chunk.name))
        events += aggregator.close()
        aggregator.build()
        for target in CLIENT_FORMATS:
            legal.check(target, payloads(compose(aggregator, events, format, target)))


def scramble(data: bytes, rng: random.Random) -> bytes:
    """The payload with a few of its fields missing or holding values that they never should."""
    try:
        payload = json.loads(data)
    except ValueError:
        return data
    return json.dumps(_scramble(payload, rng)).encode()


def _scramble(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict):
        return {key: _scramble(inner, rng) for key, inner in value.items() if rng.random() > 0.03}
    if isinstance(value, list):
        return [_scramble(inner, rng) for inner in value]
    if rng.random() > 0.03:
        return value
    return rng.choice([None, True, -1, 10**12, 0.5, "", "tool_use", "message", [], [None], {}, {"type": []}, [[1]]])
