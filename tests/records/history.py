"""Streams in Postgres, each created in one line, at a time that a test chooses."""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from streamviz.core.verdicts import Mode
from streamviz.records.aggregation import aggregate
from streamviz.records.block_record import BlockRecord
from streamviz.records.database import conninfo
from streamviz.records.models import Policy
from streamviz.records.moments import as_microseconds
from streamviz.records.recorder import AnyEntry
from streamviz.records.runs import StoredChunk
from streamviz.records.writer.process import Writer
from tests.core.support import call, calls, delta, sse
from tests.records.support import block, closed, journal_of, judged, opened, passed, received, sent, verdict

NOW = datetime(2026, 9, 21, 12, tzinfo=UTC)


def id_at(moment: datetime, number: int = 0) -> uuid.UUID:
    """An id that a stream could have been given at that time."""
    value = (as_microseconds(moment) // 1000 << 80) | (0x7 << 76) | (0x2 << 62) | number
    return uuid.UUID(int=value)


def day(days_ago: float) -> datetime:
    """The moment `days_ago` days before NOW."""
    return NOW - timedelta(days=days_ago)


def tool_stream(
    text: str = "Let me look.", name: str = "read_file", arguments: str = '{"path":"src/app.py"}'
) -> list[bytes]:
    """Chunks of some text and a tool call."""
    return [
        sse(delta(content=text)),
        sse(calls(call(0, "call-1", name, ""))),
        sse(calls(call(0, None, None, arguments))),
        sse(delta(finish="tool_calls")),
        b"data: [DONE]\n\n",
    ]


def story(
    at: datetime,
    raws: Sequence[bytes] = (),
    *,
    session: str = "",
    number: int = 0,
    denied: int | None = None,
    **changes: Any,
) -> tuple[uuid.UUID, list[AnyEntry]]:
    """A stream's id and entries. Its blocks are what the chunks add up to; `denied` is the policy version that denied
    the last of them. `changes` apply to its opening or closing."""
    stream_id = id_at(at, number)
    start = as_microseconds(at)
    chunks = list(raws) or tool_stream()
    beginning = {
        name: changes.pop(name)
        for name in ("requested_model", "key_id", "request", "session_name", "asked", "parent", "relation")
        if name in changes
    }
    session_id = uuid.uuid5(uuid.NAMESPACE_URL, session or str(stream_id))
    head = opened(stream_id, session_id=session_id, session_label=session, requested_at=start, **beginning)
    entry = received(stream_id, chunks)
    stored = [StoredChunk(n, entry.received_at, len(raw), raw) for n, raw in enumerate(chunks)]
    blocks = [BlockRecord.of(each, released_at=each.completed_at) for each in aggregate("openai_chat", stored).blocks]
    frames = range(len(chunks) if denied is None else blocks[-1].first_seq)
    if denied is not None:
        blocks[-1] = block(**_as_dict(blocks[-1]) | {"held_at": blocks[-1].started_at, "released_at": None})
    times = {"upstream_first_at": start + 200_000, "client_first_at": start + 300_000, "ended_at": start + 2_000_000}
    counts = {"chunk_count": len(chunks), "frame_count": len(frames)}
    end = closed(stream_id, blocks=blocks, **{**times, **counts, **changes})
    judgement = [] if denied is None else [judged(stream_id, verdict(denied, ordinal=len(blocks) - 1))]
    return stream_id, [head, entry, *judgement, sent(stream_id, passed(frames)), end]


def _as_dict(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__struct_fields__}


def store(*stories: tuple[uuid.UUID, list[AnyEntry]]) -> list[uuid.UUID]:
    """Store these in Postgres, through a journal; returns their ids."""
    with TemporaryDirectory() as folder:
        journal_of(Path(folder), [entry for _, entries in stories for entry in entries]).close()
        Writer(Path(folder), conninfo).finish()
    return [stream_id for stream_id, _ in stories]


def make_policy(name: str = "guard") -> int:
    """Create an enforced policy; returns the primary key of its version."""
    policy = Policy(name=name, kind="tool_rule", mode=Mode.ENFORCE.value)
    policy.save()
    return policy.versions.get().pk
