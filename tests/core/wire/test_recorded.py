"""All recorded streams of all formats: the same blocks however the bytes come, and readable when composed again."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.events import StreamEvent
from streamviz.core.usage import normalise
from streamviz.core.wire import AGGREGATORS
from tests.core.support import as_answer, compare, needs_recordings, parse, recorded
from tests.core.wire import legal
from tests.core.wire.official import Told, compose, payloads, read_back, take_in, told_of

FORMATS = tuple(AGGREGATORS)
# The tests of openai_chat feed its own streams in pieces and cut.
OTHER_FORMATS = ("anthropic_messages", "openai_responses", "gemini")
CLIENT_FORMATS = ("openai_chat", "anthropic_messages", "openai_responses")

pytestmark = needs_recordings


def expected(path: Path) -> Any:
    return json.loads(path.with_suffix("").with_suffix(".expected.json").read_text())


def events_of(format: str, chunks: list[Chunk]) -> list[StreamEvent]:
    aggregator = AGGREGATORS[format]()
    return [event for chunk in chunks for event in aggregator.aggregate(chunk)] + aggregator.close()


@pytest.mark.parametrize("format", FORMATS)
def test_all_aggregate_to_what_is_expected(format: str) -> None:
    differences = {}
    for path in recorded(format):
        aggregator, _ = take_in(format, path.read_bytes())
        if found := compare().differences(expected(path), as_answer(aggregator.state), format):
            differences[path.stem] = found
    assert not differences


@pytest.mark.parametrize("format", FORMATS)
def test_usage_is_normalised_to_what_is_expected(format: str) -> None:
    for path in recorded(format):
        want = expected(path)
        counts = normalise(want["usage"])
        got = None if counts is None else counts._asdict()
        known = {key: value for key, value in (want["usage_norm"] or {}).items() if got is not None and key in got}
        assert (got is None) == (want["usage_norm"] is None)
        assert {key: value for key, value in (got or {}).items() if key in known} == known, path.stem


@pytest.mark.parametrize("format", OTHER_FORMATS)
def test_the_pieces_in_which_bytes_come_make_no_difference(format: str) -> None:
    for path in recorded(format):
        data = path.read_bytes()
        whole = events_of(format, parse(data))
        # Byte by byte costs much and tells little of long streams; their beginnings and ends stand for them.
        short = data if len(data) < 20_000 else data[:10_000] + data[-10_000:]
        assert events_of(format, parse(data, 7)) == whole, path.stem
        assert events_of(format, parse(short, 1)) == events_of(format, parse(short)), path.stem


@pytest.mark.parametrize("format", OTHER_FORMATS)
def test_a_stream_that_is_cut_gives_a_prefix(format: str) -> None:
    rng = random.Random(7)
    for path in recorded(format):
        chunks = parse(path.read_bytes())
        data = b"".join(chunk.raw for chunk in chunks)
        whole, _ = take_in(format, data)
        for at in {rng.randrange(len(data)) for _ in range(50 if len(data) < 20_000 else 5)}:
            cut, _ = take_in(format, data[:at])
            assert len(cut.state.blocks) <= len(whole.state.blocks)
            for got, want in zip(cut.state.blocks, whole.state.blocks, strict=False):
                assert got.kind is want.kind, (path.stem, at)
                assert want.text.startswith(got.text), (path.stem, at)


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", CLIENT_FORMATS)
def test_composed_streams_are_legal_and_read_back_by_the_sdk(source: str, target: str) -> None:
    for path in recorded(source):
        aggregator, events = take_in(source, path.read_bytes())
        data = compose(aggregator, events, source, target)
        want = told_of(aggregator.state, is_one_text=target != "openai_chat")
        assert_same(want, read_back(target, data), path.stem, is_own=source == target != "openai_chat")
        legal.check(target, payloads(data))


@pytest.mark.parametrize("format", FORMATS)
def test_built_messages_are_read_as_the_same_blocks(format: str) -> None:
    for path in recorded(format):
        aggregator, _ = take_in(format, path.read_bytes())
        body = json.dumps(aggregator.build()).encode()
        again, _ = take_in(format, b"data: " + body + b"\n\n")
        want, got = told_of(aggregator.state), told_of(again.state)
        # Arguments that Gemini streams in pieces are put together only in the built message.
        calls = want.calls if format != "gemini" else got.calls
        assert got[:2] == want[:2], path.stem
        assert got.calls == calls, path.stem


@pytest.mark.parametrize("format", FORMATS)
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
    """The payload with a few of its fields gone, or holding what they never should."""
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


def assert_same(want: Told, got: Told, name: str, *, is_own: bool) -> None:
    assert got.content == want.content, name
    assert got.thinking == want.thinking, name
    # Where upstream gives a call no id, one is made: clients answer by it.
    assert [call[1:] for call in got.calls] == [call[1:] for call in want.calls], name
    for (got_id, *_), (want_id, *_) in zip(got.calls, want.calls, strict=True):
        assert got_id == (want_id or got_id), name
        assert got_id, name
    if is_own:
        assert got.others == want.others, name
        assert got.finish_reason == want.finish_reason or want.finish_reason is None, name
