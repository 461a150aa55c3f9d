"""How many chunks per second can be recorded, and what they cost: `python -m bench.record_writer`.

Journals recorded OpenAI chat streams, 50 at once, as the relay does, then has the writer move the journal into an empty
Postgres (its own, or DATABASE_URL's server). Prints CPU time per chunk for each of the three, which does not change on
a busy machine, and chunks per second, which does. `--streams` names the folder of recordings.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from itertools import chain, cycle, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import psycopg

from bench.recordings import OPENAI_CHAT, empty_database, recorded_streams

if TYPE_CHECKING:
    from streamviz.records.recorder import AnyEntry

AT_ONCE = 50
READS = (1, 10, 50)  # chunks that arrive in one read


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.record_writer", description=__doc__)
    parser.add_argument("--streams", type=Path, default=OPENAI_CHAT)
    parser.add_argument("--chunks", type=int, default=300_000)
    asked = parser.parse_args()
    with empty_database() as url:
        os.environ["DATABASE_URL"] = url
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "streamviz.settings")
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        streams = recorded_streams(asked.streams)
        print("| chunks per read | journal, CPU µs per chunk | bytes | writer | Postgres | chunks/s into Postgres |")
        print("|---|---:|---:|---:|---:|---:|")
        for read in READS:
            _measure(url, streams, read, asked.chunks)


def _measure(url: str, streams: list[list[bytes]], read: int, least: int) -> None:
    from streamviz.records.journal.journal import Journal
    from streamviz.records.journal.room import Limits
    from streamviz.records.journal.usage import usage
    from streamviz.records.writer.process import Writer

    with tempfile.TemporaryDirectory(prefix="streamviz-bench-") as folder:
        root = Path(folder)
        story, chunks = _story(streams, read, least)
        journal = Journal(root, Limits(2**40, 1e9, refuses=True))
        began = time.process_time()
        for entries in story:
            for entry in entries:
                journal.append(entry)
            journal.flush()
        journaled = time.process_time() - began
        journal.close()
        size = usage(root).size
        postgres, cpu, began = _postgres_cpu(url), time.process_time(), time.perf_counter()
        writer = Writer(root, lambda: url)
        while writer.turn():
            pass
        writer.finish()
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        postgres = _postgres_cpu(url) - postgres
    us = 1_000_000 / chunks
    each = f"{size / chunks:.0f} | {cpu * us:.1f} | {postgres * us:.1f}"
    print(f"| {read} | {journaled * us:.1f} | {each} | {chunks / seconds:,.0f} |", flush=True)


def _story(streams: list[list[bytes]], read: int, least: int) -> "tuple[list[list[AnyEntry]], int]":
    """The entries of each flush, in order, and the number of chunks: streams take turns, one read each."""
    story, chunks, again = [], 0, cycle(streams)
    while chunks < least:
        some = list(islice(again, AT_ONCE))
        chunks += sum(map(len, some))
        turns = zip_longest(*(_entries(stream, read) for stream in some))
        story += [entries for entries in chain.from_iterable(turns) if entries]
    return story, chunks


def _entries(stream: list[bytes], read: int) -> "Iterator[list[AnyEntry]]":
    from streamviz.core.context import Frame
    from streamviz.records.aggregation import aggregate
    from streamviz.records.block_record import BlockRecord
    from streamviz.records.ids import uuid7
    from streamviz.records.recorder import ChunksReceived, FramesSent, StreamClosed, StreamOpened
    from streamviz.records.runs import StoredChunk

    stream_id, session_id, at = uuid7(), uuid7(), time.time_ns() // 1000
    stored = [StoredChunk(n, at + n, len(raw), raw) for n, raw in enumerate(stream)]
    blocks = [BlockRecord.of(block) for block in aggregate("openai_chat", stored).blocks]
    models = ("gpt", "gpt", "openai")
    yield [
        StreamOpened(
            stream_id, session_id, "Bench", None, "127.0.0.1", "bench", "/v1/chat/completions", "openai_chat", True,
            *models, at, b"{}",
        )
    ]  # fmt: skip
    for first in range(0, len(stream), read):
        raws = stream[first : first + read]
        frames = [Frame(raw, first + n) for n, raw in enumerate(raws)]
        yield [
            ChunksReceived(stream_id, first, at + first, raws),
            FramesSent.of(stream_id, first, at + first + 60, frames),
        ]
    count = len(stream)
    yield [
        StreamClosed(
            stream_id, *models[1:], "completed", "stop", 200, "", b"{}", 1, 1, None, count, count, at, at, at + count,
            None, None, blocks,
        )
    ]  # fmt: skip


def _postgres_cpu(url: str) -> float:
    """CPU seconds of the Postgres server and its child processes so far."""
    time.sleep(1)  # A connection that was just closed counts once its process has exited.
    with psycopg.connect(url) as connection:
        [[pid]] = connection.execute("SELECT pg_backend_pid()").fetchall()
        # Look it up while the connection is open: its Postgres process exits with it.
        server = psutil.Process(pid).parent() if psutil.pid_exists(pid) else None
    if server is None:
        return 0.0
    times = server.cpu_times()
    return float(sum(times[:4]) + sum(map(_own_cpu, server.children())))


def _own_cpu(process: psutil.Process) -> float:
    """Zero if the process has exited meanwhile: its time is then counted in the server's."""
    try:
        return float(sum(process.cpu_times()[:2]))
    except psutil.NoSuchProcess:
        return 0.0


if __name__ == "__main__":
    main()
