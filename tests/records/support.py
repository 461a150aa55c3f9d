"""Entries as the relay makes them, journals of them, and a writer that moves those."""

import asyncio
import logging
import uuid
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from streamviz.core.aggregator import Chunk
from streamviz.core.context import UPSTREAM, Frame
from streamviz.records.block_record import BlockRecord
from streamviz.records.database import conninfo
from streamviz.records.journal.journal import Journal
from streamviz.records.journal.room import Limits
from streamviz.records.recorder import AnyEntry, ChunksReceived, FramesSent, StreamClosed, StreamOpened, VerdictsGiven
from streamviz.records.verdict_record import VerdictRecord
from streamviz.records.writer.process import Writer

NOON = 1_790_000_000_000_000  # µs since the epoch


def opened(stream_id: uuid.UUID, **changes: Any) -> StreamOpened:
    """An accepted request, with these fields changed."""
    usual: dict[str, Any] = {
        "stream_id": stream_id,
        "session_id": uuid.uuid5(stream_id, "session"),
        "session_label": "Hello",
        "key_id": None,
        "client": "127.0.0.1",
        "user_agent": "test",
        "endpoint": "/v1/chat/completions",
        "wire_format": "openai_chat",
        "is_streaming": True,
        "requested_model": "sim/content",
        "upstream_model": "content",
        "provider": "openai",
        "requested_at": NOON,
        "request": b"{}",
    }
    return StreamOpened(**usual | changes)


def received(stream_id: uuid.UUID, raws: Sequence[bytes], first: int = 0) -> ChunksReceived:
    """Chunks that arrived together, at the time of the first: chunk n is due at n µs after noon."""
    return ChunksReceived.of(stream_id, [Chunk(first + n, NOON + first, raw, raw) for n, raw in enumerate(raws)])


def sent(stream_id: uuid.UUID, frames: Sequence[Frame], first: int = 0) -> FramesSent:
    """Frames that were sent together."""
    return FramesSent.of(stream_id, first, NOON + first, frames)


def passed(seqs: Sequence[int]) -> list[Frame]:
    """Upstream's chunks as frames."""
    return [Frame(b"whatever came", seq, UPSTREAM) for seq in seqs]


def block(ordinal: int = 0, **changes: Any) -> BlockRecord:
    """A complete content block, with these fields changed."""
    usual: dict[str, Any] = {
        "ordinal": ordinal,
        "kind": "content",
        "choice": 0,
        "index": None,
        "upstream_id": "content",
        "name": "",
        "label": "",
        "text": "Hello",
        "length": 5,
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
    """The end of a completed stream, with these fields changed."""
    usual: dict[str, Any] = {
        "stream_id": stream_id,
        "upstream_model": "content",
        "provider": "openai",
        "outcome": "completed",
        "finish_reason": "stop",
        "status": 200,
        "error": "",
        "usage": b'{"prompt_tokens":1,"completion_tokens":2}',
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
        "blocks": [],
    }
    return StreamClosed(**usual | changes)


def judged(stream_id: uuid.UUID, *verdicts: VerdictRecord) -> VerdictsGiven:
    """Verdicts of policies."""
    return VerdictsGiven(stream_id, list(verdicts))


ROOM = Limits(most_bytes=2**40, most_seconds=3600.0, refuses=True)


class OwnJournal(Journal):
    """A journal that its test need not close, because `close_journals` does so after the test."""

    def __init__(self, root: Path, limits: Limits) -> None:
        super().__init__(root, limits)
        _OPEN.append(self)

    def close(self) -> None:
        _OPEN.remove(self)
        super().close()


_OPEN: list[OwnJournal] = []


def close_journals() -> None:
    """Close the journals that are open: each has three file descriptors, and a process may have only so many."""
    for journal in [*_OPEN]:
        journal.close()


def journal_of(root: Path, entries: Sequence[AnyEntry], limits: Limits = ROOM) -> Journal:
    """A running worker's journal with these entries in it."""
    journal = OwnJournal(root, limits)
    for entry in entries:
        journal.append(entry)
        journal.flush()
    return journal


def move(root: Path) -> None:
    """Move everything in the journals into Postgres, with a writer started for that."""
    Writer(root, conninfo).finish()


def write(*flushes: Sequence[AnyEntry]) -> None:
    """Store entries of one worker, each sequence by a new writer."""
    with TemporaryDirectory() as folder:
        journal = journal_of(Path(folder), [])
        for entries in flushes:
            for entry in entries:
                journal.append(entry)
            journal.flush()
            move(Path(folder))
        journal.close()


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
