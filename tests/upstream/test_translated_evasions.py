"""Nothing that a policy forbids is in what the SDKs hand out of a chat stream that was put into another format.

What upstream's chat chunks come to by then is the stream that policies see; EVASIONS says how many, as in
`tests/core/test_evasions.py`.
"""

import json
from collections.abc import Iterator

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.errors import UpstreamError
from streamviz.core.sse import SSEParser
from streamviz.core.wire.translator import Translator
from streamviz.upstream.chat_stream import typed_chunk
from tests.core.evasions import SSE, Evasion, evasion, reached
from tests.core.test_evasions import FIRST, KINDS, NUMBER, passed

TARGETS = ("anthropic_messages", "openai_responses", "gemini")
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def chat_chunks(data: bytes) -> Iterator[bytes]:
    """The chunks of a chat stream, as a provider's SDK gives them on."""
    parser = SSEParser()
    for event in (*parser.feed(data), *parser.close()):
        try:
            payload = json.loads(event.data or b"")
        except ValueError:
            continue
        if isinstance(payload, dict) and "choices" in payload:
            yield typed_chunk(payload, id="chatcmpl-1", created=1).json()


def translated(made: Evasion, target: str) -> Evasion:
    """The same evasion as clients of another format have it, up to where it breaks off."""
    translator = Translator("openai_chat", target)
    frames: list[bytes] = []
    try:
        frames += [translator.take(Chunk(0, 0, data, data)) for data in chat_chunks(made.data)]
        frames.append(translator.end())
    except UpstreamError:
        pass
    return Evasion(target, tuple(filter(None, frames)), True, SSE)


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_that_is_forbidden_is_in_what_the_sdk_hands_out(kind: str) -> None:
    aim, meant = KINDS[kind][0], 0
    for number in range(FIRST, FIRST + NUMBER):
        chat = evasion("openai_chat", str(number), is_call=aim.is_call, tool=aim.tool, mark=aim.mark)
        made = translated(chat, TARGETS[number % len(TARGETS)])
        if not made.frames or not aim.found(reached(made)):
            continue  # it is in nothing that the client has
        meant += 1
        if found := await passed(made, kind, number):
            pytest.fail(f"{number}: {chat}\nas {made}\nat {found[0]}")
    assert meant > NUMBER // 5, "most of them would have been an evasion of no policy at all"
