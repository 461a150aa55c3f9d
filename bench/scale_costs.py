"""What a stream costs Postgres and the archive, in bytes: `python -m bench.scale_costs`.

Stores made-up streams of `--chunks` chunks as the writer does, in a Postgres of its own (or DATABASE_URL's server), and
archives all of them into memory. Prints bytes per stream: of the write-ahead log, of the tables and their indexes
without those of the chunks, of the archive's objects and of their index.
"""

import argparse
import os
from datetime import UTC, datetime, timedelta

import psycopg

from bench.recordings import empty_database

_TABLES = """
SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class
WHERE relkind = 'r' AND relname ~ %s AND relname !~ %s
"""
_RUNS = "^records_(upstream|client)run"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scale_costs", description=__doc__)
    parser.add_argument("--streams", type=int, default=5_000)
    parser.add_argument("--chunks", type=int, default=53, help="of each stream")
    asked = parser.parse_args()
    with empty_database() as url:
        os.environ["DATABASE_URL"] = url
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "streamviz.settings")
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        with psycopg.connect(url, autocommit=True) as connection:
            _measure(connection, asked.streams, asked.chunks)


def _measure(connection: psycopg.Connection, streams: int, chunks: int) -> None:
    from streamviz.records.archive.bucket import Bucket
    from streamviz.records.archive.moving import Archiving
    from streamviz.records.models import Policy
    from streamviz.records.rules import Archive
    from streamviz.records.seeding import Size, seed

    class Memory(Bucket):
        """Counts what it is given and stores nothing."""

        def put(self, key: str, data: bytes) -> None:
            """Drop the data."""

    policy = Policy(name="made-up", kind="tool_rule")
    policy.save()
    now = datetime.now(UTC)
    rows, wal = _size(connection, "^records_", _RUNS), _wal(connection)
    size = Size(streams, streams * chunks, 10, 1)
    seed(connection, size, now, 1, policy.versions.get().pk, lambda _: None)
    wal = _wal(connection) - wal
    rows, runs = _size(connection, "^records_", _RUNS) - rows, _size(connection, _RUNS, "^$")
    index = _size(connection, "^records_archive", "^$")
    moved = Archiving(connection, Memory(Archive("memory", "", "", "", 1))).round((now + timedelta(days=2)).date())
    index = _size(connection, "^records_archive", "^$") - index
    (stored,) = connection.execute("SELECT sum(chunk_count) FROM records_stream").fetchone() or (0,)
    print("| a stream | chunks | WAL | rows and indexes | runs | archived | its index |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    figures = (stored, wal, rows, runs, moved.size, index)
    print(f"| bytes | {' | '.join(f'{figure / streams:,.0f}' for figure in figures)} |")


def _wal(connection: psycopg.Connection) -> int:
    [(position,)] = connection.execute("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint")
    return int(position)


def _size(connection: psycopg.Connection, like: str, unlike: str) -> int:
    [(size,)] = connection.execute(_TABLES, [like, unlike])
    return int(size)


if __name__ == "__main__":
    main()
