"""Nothing that a policy forbids is in what the SDKs hand out of LiteLLM's chat streams.

Policies see what upstream's chat chunks become in the client's format, as a stream or as one whole answer. EVASIONS
sets how many are tried, as in `tests/core/test_evasions.py`.
"""

import json
from collections.abc import Iterator

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import encode
from streamviz.core.sse import SSEParser, write_event
from streamviz.core.wire import AGGREGATORS
from streamviz.core.wire.translator import Translator
from streamviz.upstream.chat_chunk import typed_chunk
from tests.core.evasions import JSON, SSE, Evasion, evasion
from tests.core.test_evasions import FIRST, KINDS, LOOKED_AT, NUMBER, is_meant, passed

TARGETS = ("anthropic_messages", "openai_responses", "gemini", "openai_chat")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def chat_chunks(data: bytes) -> Iterator[bytes]:
    """The chunks of a chat stream, as a provider's SDK yields them."""
    parser = SSEParser()
    for event in (*parser.feed(data), *parser.close()):
        try:
            payload = json.loads(event.data or b"")
        except ValueError:
            continue
        if isinstance(payload, dict) and "choices" in payload:
            yield typed_chunk(payload, id="chatcmpl-1", created=1).json()


def translated(made: Evasion, target: str) -> list[bytes]:
    """What clients of a format get of a chat stream, until it breaks off."""
    if target == "openai_chat":
        return [write_event(data) for data in chat_chunks(made.data)]
    translator = Translator("openai_chat", target)
    frames: list[bytes] = []
    try:
        frames += [translator.take(Chunk(0, 0, data, data)) for data in chat_chunks(made.data)]
        frames.append(translator.end())
    except UpstreamError:
        pass
    return [frame for frame in frames if frame]


def as_answered(made: Evasion, target: str, *, is_streaming: bool) -> Evasion:
    """The same evasion as clients of another format get it."""
    frames = translated(made, target)
    if is_streaming or not frames:
        return Evasion(target, tuple(frames), True, SSE)
    aggregator = AGGREGATORS[target]()
    for event in SSEParser().feed(b"".join(frames)):
        aggregator.aggregate(Chunk(0, 0, event.raw, event.data, event.name))
    return Evasion(target, (encode(aggregator.build()),), False, JSON)


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_that_is_forbidden_is_in_what_the_sdk_hands_out(kind: str) -> None:
    aim, looked_at = KINDS[kind][0], list[bool]()
    for number in range(FIRST, FIRST + NUMBER):
        chat = evasion("openai_chat", str(number), is_call=aim.is_call, tool=aim.tool, mark=aim.mark)
        made = as_answered(chat, TARGETS[number % len(TARGETS)], is_streaming=number % 5 > 0)
        if not made.frames:
            continue
        if number % LOOKED_AT == 0:
            looked_at.append(is_meant(made, aim))
        if found := await passed(made, kind, number):
            pytest.fail(f"{number}: {chat}\nas {made}\nat {found[0]}")
    assert sum(looked_at) >= len(looked_at) // 5, "most of them would have been an evasion of no policy at all"
