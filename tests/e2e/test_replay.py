"""Every recorded stream through the running server, in its own format: the client gets what upstream sent."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from streamviz.core.wire import AGGREGATORS
from tests.core.support import parse
from tests.e2e.proxied import MESSAGES, Proxied, Recorded
from tests.recordings import recorded
from tests.services import Streamviz
from tests.simulator.process import PATHS

FORMATS = tuple(PATHS)
BLOCKS = "SELECT kind, text FROM records_block WHERE stream_id = %s ORDER BY ordinal"


@pytest.fixture(scope="module")
def replaying(replaying_server: Streamviz) -> Iterator[Proxied]:
    """A streamviz whose simulator replays the recorded streams."""
    with Proxied(replaying_server) as found:
        yield found


def take_in(wire_format: str, data: bytes) -> Any:
    aggregator = AGGREGATORS[wire_format]()
    for chunk in parse(data):
        aggregator.aggregate(chunk)
    aggregator.close()
    return aggregator


def is_cut(aggregator: Any) -> bool:
    """Whether a recording ends before upstream gave a reason, so the client cannot tell that it is complete."""
    state = aggregator.state
    return state.is_truncated and not aggregator.has_end_mark and state.failure is None


def replay(replaying: Proxied, wire_format: str, slug: str) -> bytes:
    said = {"input": "Hello"} if wire_format == "openai_responses" else {"messages": MESSAGES}
    body = {"model": f"sim/replay:{wire_format}/{slug}", "stream": True, **said}
    return replaying.post(body, PATHS[wire_format], x_session_id=f"{wire_format}/{slug}").body


def differences(replaying: Proxied, wire_format: str, path: Path, came: bytes, kept: Recorded) -> list[str]:
    """What is wrong with the replay of one recording."""
    data = path.read_bytes()
    added = came.removeprefix(data)
    aggregator = take_in(wire_format, data)
    blocks = replaying.query(BLOCKS, kept.id)
    found = {
        "the client lacks bytes": not came.startswith(data),
        "the client got more than upstream sent": bool(added) is not is_cut(aggregator),
        "what was added is no error": bool(added) and b"upstream closed the stream" not in added,
        "the upstream tape differs": b"".join(replaying.chunks(kept)) != data,
        "the client tape differs": replaying.client_tape(kept) != came,
        "the blocks differ": blocks != [(b.kind, b.text.replace("\0", "\ufffd")) for b in aggregator.state.blocks],
        "a chunk did not pass": replaying.passed(kept) != list(range(kept.chunk_count)),
        "the outcome is wrong": bool(added) and kept.outcome != "upstream_error",
    }
    return [words for words, is_so in found.items() if is_so]


@pytest.mark.parametrize("wire_format", FORMATS)
def test_every_recorded_stream_passes_untouched_and_is_kept_so(replaying: Proxied, wire_format: str) -> None:
    paths = recorded(wire_format)
    with ThreadPoolExecutor(8) as threads:
        came = dict(zip(paths, threads.map(lambda path: replay(replaying, wire_format, path.stem), paths), strict=True))
    wrong = {}
    for path in paths:
        kept = replaying.recorded(f"{wire_format}/{path.stem}")
        if found := differences(replaying, wire_format, path, came[path], kept):
            wrong[path.stem] = found
    assert not wrong
