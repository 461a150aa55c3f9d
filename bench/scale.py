"""What a given number of requests per second takes, and what saturates first: `python -m bench.scale`.

The costs of a stream are measured, by the benchmarks of docs/performance.md and by `python -m bench.scale_costs`. The
capacity of each part of a fleet is assumed, and the rest is arithmetic. docs/scale.md says which figure is which.
`--requests`, `--machines`, `--cores`, `--chunks`, `--seconds` and `--watched` change the load and the fleet.
"""

import argparse
from collections.abc import Iterable
from dataclasses import dataclass, fields
from math import ceil

DAY = 86_400
# Above this load a core builds up queues: chunks are late before the rest of it is used.
BUSY = 0.7
REMINDERS_A_SECOND = 0.5
UPDATES_A_SECOND = 10.0


@dataclass(frozen=True)
class Costs:
    """Measured costs: CPU in µs, sizes in bytes; `chunk_…` per chunk (docs/performance.md: 100 paced streams, one chunk
    per read), `stream_…` per stream of 53 chunks (`bench.scale_costs`)."""

    chunk_server_us: float = 298.0
    chunk_writer_us: float = 27.0
    chunk_postgres_us: float = 19.0
    chunk_journal: float = 413.0
    chunk_raw: float = 304.0
    chunk_stored: float = 48.9
    stream_wal: float = 8_523
    stream_rows: float = 4_582
    stream_archived: float = 916
    stream_part: float = 188


@dataclass(frozen=True)
class Load:
    """Requests per second, chunks per request, seconds that each lasts, and screens processes that have a browser."""

    requests: float = 10_000
    chunks: int = 53
    seconds: float = 10.0
    watched: int = 20


@dataclass(frozen=True)
class Fleet:
    """Machines, each with servers on all cores but one, which the writer and the screens share; and how many days
    chunks and streams stay in Postgres."""

    machines: int = 100
    cores: int = 8
    chunk_days: int = 3
    stream_days: int = 30

    @property
    def servers(self) -> int:
        """The number of server processes."""
        return self.machines * (self.cores - 1)

    @property
    def processes(self) -> int:
        """The processes that exchange messages: the servers, and one screens process for each."""
        return 2 * self.servers


@dataclass(frozen=True)
class Bearable:
    """The capacity of one unit of each resource: assumptions, to be replaced by your own figures. `postgres_cores` and
    `redis_messages` are counts (messages per second), `postgres_disk` is in bytes, the rest in bytes per second."""

    postgres_cores: float = 32
    redis_messages: float = 200_000
    postgres_wal: float = 200e6
    journal_disk: float = 100e6
    network: float = 1.25e9 / 2
    postgres_disk: float = 8e12


@dataclass(frozen=True)
class Use:
    """How much of a resource is used, and how much one unit or all of the fleet's units can bear, in `unit`."""

    name: str
    used: float
    bears: float
    unit: str

    @property
    def share(self) -> float:
        """1 means that all of it is used."""
        return self.used / self.bears

    @property
    def needed(self) -> int:
        """By what factor the resource must be multiplied."""
        return max(1, ceil(self.share))


def uses(costs: Costs, load: Load, fleet: Fleet, bearable: Bearable) -> list[Use]:
    """Everything that can saturate, the fullest first. `bears` is for the fleet as given: its machines, one Postgres
    and one Redis."""
    chunks = load.requests * load.chunks
    days = fleet.chunk_days * load.chunks * costs.chunk_stored + fleet.stream_days * costs.stream_rows
    heard = fleet.processes * REMINDERS_A_SECOND * (fleet.processes - 1)
    shown = fleet.servers * load.watched * UPDATES_A_SECOND
    found = [
        Use("servers' CPU", chunks * costs.chunk_server_us / 1e6, fleet.servers * BUSY, "cores"),
        Use("writers' CPU", chunks * costs.chunk_writer_us / 1e6, fleet.machines * BUSY, "cores"),
        Use("journal's disk", chunks * costs.chunk_journal, fleet.machines * bearable.journal_disk, "B/s"),
        Use("network", 2 * chunks * costs.chunk_raw, fleet.machines * bearable.network, "B/s"),
        Use("Postgres' CPU", chunks * costs.chunk_postgres_us / 1e6, bearable.postgres_cores * BUSY, "cores"),
        Use("Postgres' WAL", load.requests * costs.stream_wal, bearable.postgres_wal, "B/s"),
        Use("Postgres' disk", load.requests * DAY * days, bearable.postgres_disk, "B"),
        Use("Redis", heard + shown, bearable.redis_messages, "messages/s"),
    ]
    return sorted(found, key=lambda use: -use.share)


@dataclass(frozen=True)
class Totals:
    """Figures that are not a share of a capacity: concurrent streams per server, streams per day, and what a day adds
    to the archive and its index (bytes)."""

    open_streams: float
    streams_a_day: float
    archived_a_day: float
    index_a_day: float


def totals(costs: Costs, load: Load, fleet: Fleet) -> Totals:
    """Totals of an evenly loaded fleet."""
    a_day = load.requests * DAY
    at_once = load.requests * load.seconds / fleet.servers
    return Totals(at_once, a_day, a_day * costs.stream_archived, a_day * costs.stream_part)


def postgres_needed(found: Iterable[Use]) -> int:
    """The number of nodes that streams must be split across."""
    return max(use.needed for use in found if use.name.startswith("Postgres"))


def amount(value: float, unit: str) -> str:
    """Format a value for people to read."""
    if unit not in ("B", "B/s"):
        return f"{value:,.0f} {unit}"
    for power, prefix in ((12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if value >= 10**power:
            return f"{value / 10**power:,.1f} {prefix}{unit}"
    return f"{value:,.0f} {unit}"


def table(found: Iterable[Use]) -> str:
    """The table as in docs/scale.md."""
    lines = ["| | used | there is | share | needed |", "|---|---:|---:|---:|---:|"]
    for use in found:
        cells = (use.name, amount(use.used, use.unit), amount(use.bears, use.unit))
        lines.append(f"| {' | '.join(cells)} | {use.share:.0%} | {use.needed}× |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    for kind in (Load, Fleet):
        for field in fields(kind):
            parser.add_argument(f"--{field.name.replace('_', '-')}", type=float, default=field.default)
    asked = vars(parser.parse_args())
    load = Load(asked["requests"], int(asked["chunks"]), asked["seconds"], int(asked["watched"]))
    fleet = Fleet(*(int(asked[field.name]) for field in fields(Fleet)))
    found = uses(Costs(), load, fleet, Bearable())
    sums = totals(Costs(), load, fleet)
    print(table(found))
    print(f"\nFirst to reach its limit: {found[0].name}. Nodes of Postgres: {postgres_needed(found)}.")
    print(f"Streams at once on a server: {sums.open_streams:,.0f}; of a day: {sums.streams_a_day:,.0f}.")
    print(f"Archived a day: {amount(sums.archived_a_day, 'B')}, its index {amount(sums.index_a_day, 'B')}.")


if __name__ == "__main__":
    main()
