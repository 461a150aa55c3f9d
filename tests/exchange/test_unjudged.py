"""A stream on which no policy acts: what its chunks say beside its blocks is not looked for."""

from typing import Any

import pytest

from streamviz.core.blocks import StreamState
from streamviz.core.bounds import Bounds
from streamviz.core.verdicts import Mode
from streamviz.core.wire import WIRE_FORMATS
from tests.core.support import active, delta, deny_names, parse
from tests.exchange.support import Play, event
from tests.recordings import RECORDED_FORMATS, recorded

HIDDEN = "some text where no policy looks"
TEXT = {"type": "text", "text": ""}
ITEM = {"id": "i", "type": "message", "role": "assistant", "content": []}
BESIDE = {
    "openai_chat": (
        event(delta(content="hi", aside=HIDDEN)),
        event(delta(content="hi") | {"id": HIDDEN}),
    ),
    "anthropic_messages": (
        event({"type": "content_block_start", "index": 0, "content_block": {**TEXT, "aside": HIDDEN}}),
        event({"type": "message_start", "message": {"id": HIDDEN, "content": []}}),
    ),
    "openai_responses": (
        event({"type": "response.output_item.added", "output_index": 0, "item": {**ITEM, "aside": HIDDEN}}),
        event({"type": "response.created", "response": {"id": HIDDEN, "output": []}}),
    ),
    "gemini": (
        event({"candidates": [{"content": {"parts": [{"text": "hi", "aside": HIDDEN}]}}]}),
        event({"candidates": [{"content": {"parts": [{"text": "hi"}]}}], "responseId": HIDDEN}),
    ),
}
CASES = [(format, chunk) for format, chunks in BESIDE.items() for chunk in chunks]


@pytest.mark.parametrize(("format", "chunk"), CASES)
def test_text_beside_the_blocks_is_a_contradiction_only_where_a_policy_acts(format: str, chunk: bytes) -> None:
    unjudged = Play(format).opened().received(chunk)
    assert unjudged.sent == chunk
    assert not unjudged.stream.state.is_suspect
    shadow = Play(format, [active(deny_names("rm"), Mode.SHADOW)]).opened().received(chunk)
    assert shadow.sent == chunk
    assert "contradicts itself" in shadow.stream.state.contradiction
    assert HIDDEN.encode() not in Play(format, [active(deny_names("rm"))]).opened().received(chunk).sent


def read(format: str, data: bytes, *, is_judged: bool) -> tuple[list[Any], StreamState]:
    aggregator = WIRE_FORMATS[format].new_aggregator(Bounds(2**25, 2**25, 100_000, 1_000, 100_000))
    aggregator.is_judged = is_judged
    told = [list(aggregator.aggregate(chunk)) for chunk in parse(data)]
    return [*told, aggregator.close()], aggregator.state


@pytest.mark.parametrize("format", RECORDED_FORMATS)
def test_recorded_streams_have_the_same_events_judged_or_not(format: str) -> None:
    for path in recorded(format):
        (told, state), (others, other) = (
            read(format, path.read_bytes(), is_judged=is_judged) for is_judged in (True, False)
        )
        assert (told, state.usage, state.contradiction) == (others, other.usage, other.contradiction), path
