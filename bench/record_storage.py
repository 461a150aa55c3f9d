"""What a chunk takes on disk, and what writing it costs: `python -m bench.record_storage`.

Stores the recorded OpenAI chat streams in an empty Postgres (its own, or DATABASE_URL's server) as the writer does, in
runs of several sizes and flushed at several intervals, and prints the bytes per chunk on disk and the chunks per second
for each. `--streams` names the folder of recordings.
"""

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import psycopg

from bench.recordings import OPENAI_CHAT, empty_database, recorded_streams

if TYPE_CHECKING:
    from streamviz.records.writer.pending import Batch

RUNS = (16, 32, 64, 128, 256)
# A model's usual pace, in chunks per second.
PACE = 40
INTERVALS = (1, 2, 5, 10)
TABLES = ("records_upstreamrun", "records_clientrun")
SIZE = """
SELECT sum(pg_table_size(relid)), sum(pg_indexes_size(relid))
FROM unnest(%s::text[]) AS parent, pg_partition_tree(parent::regclass)
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.record_storage", description=__doc__)
    parser.add_argument("--streams", type=Path, default=OPENAI_CHAT)
    parser.add_argument("--least", type=int, default=1, help="only streams of at least so many chunks")
    parser.add_argument("--chunks", type=int, default=200_000, help="how many to store each time, about")
    asked = parser.parse_args()
    with empty_database() as url:
        os.environ["DATABASE_URL"] = url
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "streamviz.settings")
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        streams = [stream for stream in recorded_streams(asked.streams) if len(stream) >= asked.least]
        raw = sum(len(chunk) for stream in streams for chunk in stream) / sum(map(len, streams))
        print(f"{len(streams)} streams, {sum(map(len, streams))} chunks of {raw:.0f} bytes\n")
        print("| run | flushed each | a row | upstream tape | client tape | index | of raw | chunks a second |")
        print("|---|---|---|---|---|---|---|---|")
        with psycopg.connect(url, autocommit=True) as connection:
            for run in RUNS:
                for interval in INTERVALS:
                    _measure(connection, streams, run, interval, raw, asked.chunks)


def _measure(
    connection: psycopg.Connection, streams: list[list[bytes]], run: int, interval: int, raw: float, least: int
) -> None:
    from streamviz.records.writer import tapes

    tapes.RUN = run
    for table in TABLES:
        connection.execute(f"TRUNCATE {table}")
    began = time.perf_counter()
    chunks, rows = _store(connection, streams, interval, least)
    seconds = time.perf_counter() - began
    sizes = [connection.execute(SIZE, [[table]]).fetchone() for table in TABLES]
    upstream, client = (float(size[0]) / chunks for size in sizes if size)
    index = sum(float(size[1]) for size in sizes if size) / chunks
    each = f"{interval} s | {chunks / rows:.0f} | {upstream:.1f} | {client:.1f} | {index:.1f}"
    print(f"| {run} | {each} | 1/{raw / (upstream + client + index):.1f} | {chunks / seconds:,.0f} |", flush=True)


def _store(connection: psycopg.Connection, streams: list[list[bytes]], interval: int, least: int) -> tuple[int, int]:
    """Store each stream in flushes of `interval` seconds; returns how many chunks that is, and in how many rows."""
    from streamviz.records.writer.store import copy_runs

    chunks = rows = 0
    while chunks < least:
        for start in range(0, len(streams), 32):
            batches = [batch for stream in streams[start : start + 32] for batch in _batches(stream, interval)]
            with connection.transaction(), connection.cursor() as cursor:
                copy_runs(cursor, batches)
            chunks += sum(batch.chunk_count for batch in batches)
            rows += sum(1 for batch in batches for piece in batch.chunks for _ in piece.runs())
    return chunks, rows


def _batches(stream: list[bytes], interval: int) -> "Iterator[Batch]":
    """A stream's chunks and frames as they become due: one chunk per read, at a usual pace."""
    from streamviz.core.context import Frame
    from streamviz.records.ids import uuid7
    from streamviz.records.recorder import ChunksReceived, FramesSent
    from streamviz.records.writer.pending import Batch

    stream_id, at = uuid7(), time.time_ns() // 1000
    for first in range(0, len(stream), PACE * interval):
        batch = Batch(stream_id, UUID(int=0))
        for seq, raw in enumerate(stream[first : first + PACE * interval], first):
            at += 1_000_000 // PACE + (hash(raw) & 0xFFF)
            batch.add(ChunksReceived(stream_id, seq, at, [raw]))
            batch.add(FramesSent.of(stream_id, seq, at + 60 + (hash(raw) & 0x3F), [Frame(raw, seq)]))
        yield batch


if __name__ == "__main__":
    main()
