"""Prepares both tapes of a finished stream, so that any moment of them can be shown: those of a short stream in turns,
in the server; those of a long one in a separate process, `python -m streamviz.dashboard.preparing`, so that no client
waits for it.

That process has no settings, no database and no credentials: it gets the rows of the record, answers once, and ends.
"""

import asyncio
import pickle
import sys
from array import array
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from streamviz.core.context import Frame
from streamviz.core.lint.linter import Note
from streamviz.core.tape_alignment import align
from streamviz.core.tapes import Held, Row, Sent, Tapes
from streamviz.core.timeline import NOBODY, Timeline
from streamviz.core.unasked_usage import UnaskedUsage
from streamviz.core.wire import AGGREGATORS
from streamviz.cores import give_way
from streamviz.evaluation.pool import ROOT, bare_environment
from streamviz.live.presentation.tape_rows import Bare
from streamviz.records.aggregation import events_of, lint
from streamviz.records.runs import StoredChunk, StoredFrame, chunks_in, frames_in

_BARE = 300
_CHUNKS_A_STEP = 16
# A larger chunk is read in a thread.
_LARGE_BYTES = 64 * 1024
_NICENESS = 10
# Far more than the longest stream takes that is prepared.
_LONGEST_SECONDS = 120.0

Rest = Callable[[], Awaitable[None]]


class Failed(Exception):
    """The process ended without an answer, or took too long."""


class Recorded(NamedTuple):
    """What the record has of a stream: the arguments of `chunks_in` and of `frames_in`, row by row. `is_whole`:
    upstream's answer was not cut off."""

    wire_format: str
    hides_usage: bool
    is_whole: bool
    upstream: Sequence[tuple[int, int, list[int], list[int], bytes | None]]
    client: Sequence[tuple[int, int, list[int], int | None, str, list[int], bytes]]
    holds: Sequence[Held]

    def chunks(self) -> list[StoredChunk]:
        """The upstream tape."""
        return [chunk for row in self.upstream for chunk in chunks_in(*row)]

    def frames(self) -> list[StoredFrame]:
        """The client tape."""
        return [frame for row in self.client for frame in frames_in(*row)]


class Compared(NamedTuple):
    """What became of each chunk on its way, and what upstream's format does not allow."""

    rows: list[Row]
    notes: list[Note]


class Prepared(NamedTuple):
    """Both tapes, and the beginnings of what says nothing of the answer. Only the separate process sets `compared`."""

    tapes: Tapes
    bare: Bare
    compared: Compared | None = None


async def prepared(recorded: Recorded, rest: Rest) -> Prepared:
    """Aggregate both tapes, with a rest after every few chunks."""
    chunks, frames = recorded.chunks(), recorded.frames()
    upstream, bare_chunks = await _timeline(recorded.wire_format, chunks, rest)
    is_same = len(frames) == len(chunks) and all(frame.seq == frame.number for frame in frames)
    if is_same and not recorded.hides_usage:
        client, bare_frames = upstream.timed(array("q", (frame.sent_at for frame in frames))), bare_chunks
    else:
        had = _as_client_had(frames, chunks, recorded.hides_usage)
        client, bare_frames = await _timeline(recorded.wire_format, had, rest)
    sent = [Sent(frame.sent_at, frame.seq, frame.origin if frame.seq is None else "") for frame in frames]
    lost = frozenset(chunk.seq for chunk in chunks if chunk.raw is None)
    return Prepared(Tapes(upstream, client, sent, recorded.holds, lost), Bare(bare_chunks, bare_frames))


async def prepared_elsewhere(recorded: Recorded) -> Prepared:
    """The same in a separate process, and compared. Raises Failed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "streamviz.dashboard.preparing"),
        cwd=ROOT,
        env=bare_environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,  # it may quote what a stranger wrote
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(_LONGEST_SECONDS):
            answer, _ = await process.communicate(await asyncio.to_thread(pickle.dumps, recorded))
    except TimeoutError:
        raise Failed(f"it took longer than {_LONGEST_SECONDS:g} s") from None
    finally:
        with suppress(ProcessLookupError):
            process.kill()
    if process.returncode:
        raise Failed(f"the process ended with {process.returncode}")
    made: Prepared = await asyncio.to_thread(pickle.loads, answer)
    return made


async def _timeline(wire_format: str, chunks: Iterable[StoredChunk], rest: Rest) -> tuple[Timeline, dict[int, bytes]]:
    """The aggregated tape, and the beginnings of the chunks that say nothing."""
    timeline, bare = Timeline(AGGREGATORS[wire_format]()), dict[int, bytes]()
    for chunk in chunks:
        if chunk.length > _LARGE_BYTES:
            await asyncio.to_thread(timeline.add, chunk.seq, chunk.received_at, events_of(chunk))
        else:
            timeline.add(chunk.seq, chunk.received_at, events_of(chunk))
        if timeline.owner(chunk.seq) == NOBODY and not timeline.told(chunk.seq):
            bare[chunk.seq] = (chunk.raw or b"")[:_BARE]
        if not chunk.seq % _CHUNKS_A_STEP:
            await rest()
    await asyncio.to_thread(timeline.close)
    return timeline, bare


def _as_client_had(
    frames: Iterable[StoredFrame], chunks: Iterable[StoredChunk], hides_usage: bool
) -> Iterable[StoredChunk]:
    """The frames as if they were chunks, numbered and timed as they were sent."""
    raws = {chunk.seq: chunk.raw for chunk in chunks}
    unasked = UnaskedUsage()
    for frame in frames:
        raw = frame.made if frame.seq is None else raws.get(frame.seq) or b""
        if hides_usage:
            raw = b"".join(left.raw for left in unasked.left_of([Frame(raw, frame.seq)]))
        yield StoredChunk(frame.number, frame.sent_at, len(raw), raw)


async def _without_rest() -> None:
    """Nobody else is in this process."""


def main() -> None:
    """Answer the request on standard input."""
    give_way(_NICENESS)
    recorded: Recorded = pickle.load(sys.stdin.buffer)  # noqa: S301 - the server wrote it
    made = asyncio.run(prepared(recorded, _without_rest))
    notes = lint(recorded.wire_format, recorded.chunks(), recorded.is_whole)
    made = made._replace(compared=Compared(align(made.tapes), notes))
    sys.stdout.buffer.write(pickle.dumps(made))


if __name__ == "__main__":
    # Pickles name a class by its module, which must not be __main__.
    from streamviz.dashboard import preparing

    preparing.main()
