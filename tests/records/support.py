"""Entries as the relay makes them, and a writer's whole life around them."""

import asyncio
import logging
import uuid
from collections.abc import Sequence
from typing import Any

from streamviz.core.aggregator import Chunk
from streamviz.core.context import UPSTREAM, Frame
from streamviz.records.database import conninfo
from streamviz.records.recorder import (
    BlockRecord,
    ChunksReceived,
    Entry,
    FramesSent,
    StreamClosed,
    StreamOpened,
    VerdictRecord,
)
from streamviz.records.writer import Writer

NOON = 1_790_000_000_000_000  # µs since the epoch


def opened(stream_id: uuid.UUID, **changes: Any) -> StreamOpened:
    """A request that was accepted, with these fields changed."""
    usual: dict[str, Any] = {
        "id": stream_id,
        "session_id": uuid.uuid5(stream_id, "session"),
        "session_label": "Hello",
        "key_id": None,
        "client": "127.0.0.1",
        "user_agent": "test",
        "endpoint": "/v1/chat/completions",
        "wire_format": "openai_chat",
        "is_streaming": True,
        "requested_model": "sim/content",
        "requested_at": NOON,
        "request": b"{}",
    }
    return StreamOpened(**usual | changes)


def received(stream_id: uuid.UUID, raws: Sequence[bytes], first: int = 0) -> ChunksReceived:
    """Chunks that came together; chunk n at n µs past noon."""
    return ChunksReceived(stream_id, [Chunk(first + n, NOON + first + n, raw, raw) for n, raw in enumerate(raws)])


def sent(stream_id: uuid.UUID, frames: Sequence[Frame], first: int = 0) -> FramesSent:
    """Frames that left together."""
    return FramesSent(stream_id, first, NOON + first, frames)


def passed(seqs: Sequence[int]) -> list[Frame]:
    """Chunks of upstream's as frames."""
    return [Frame(b"whatever came", seq, UPSTREAM) for seq in seqs]


def block(ordinal: int = 0, **changes: Any) -> BlockRecord:
    """A whole content block, with these fields changed."""
    usual: dict[str, Any] = {
        "ordinal": ordinal,
        "kind": "content",
        "choice": 0,
        "index": None,
        "upstream_id": "content",
        "name": "",
        "label": "",
        "text": "Hello",
        "signature": "",
        "first_seq": 0,
        "last_seq": 1,
        "started_at": NOON,
        "completed_at": NOON + 1,
        "held_at": None,
        "released_at": NOON + 1,
        "held_by": (),
        "is_truncated": False,
    }
    return BlockRecord(**usual | changes)


def verdict(policy_version_id: int, **changes: Any) -> VerdictRecord:
    """A denial of the first block, with these fields changed."""
    usual: dict[str, Any] = {
        "number": 0,
        "ordinal": 0,
        "policy_version_id": policy_version_id,
        "mode": "enforce",
        "decision": "deny",
        "reason": "not that",
        "failure": "",
        "at": NOON,
        "took": 12,
    }
    return VerdictRecord(**usual | changes)


def closed(stream_id: uuid.UUID, **changes: Any) -> StreamClosed:
    """A stream that completed, with these fields changed."""
    usual: dict[str, Any] = {
        "id": stream_id,
        "upstream_model": "content",
        "provider": "openai",
        "outcome": "completed",
        "finish_reason": "stop",
        "status": 200,
        "error": "",
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
        "input_tokens": 1,
        "output_tokens": 2,
        "cost": 0.25,
        "chunk_count": 2,
        "frame_count": 2,
        "upstream_first_at": NOON,
        "client_first_at": NOON + 1,
        "ended_at": NOON + 2,
        "itl_p50": 3,
        "itl_p95": 4,
        "blocks": (),
        "verdicts": (),
    }
    return StreamClosed(**usual | changes)


async def write(*flushes: Sequence[Entry]) -> None:
    """Write entries, each sequence by a writer of its own."""
    for entries in flushes:
        writer = Writer(conninfo)
        for entry in entries:
            writer.append(entry)
        writer.start()
        await writer.stop()


class Heard(logging.Handler):
    """Lets an async test wait for a line of the log."""

    def __init__(self, logger: str, part: str) -> None:
        super().__init__()
        self._logger = logging.getLogger(logger)
        self._part = part
        self.event = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if self._part in record.getMessage():
            self.event.set()

    def __enter__(self) -> "Heard":
        self._logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self)
