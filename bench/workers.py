"""What a second worker on a second core is worth: `python -m bench.workers`. Prints a table in markdown.

Compares one worker on one core with two on two. Upstream, clients, writer and Postgres of each run on the same cores as
its workers, so both pay their overhead per stream, and neither borrows a core for it. The capacity of each is found by
bisection: the most paced streams, not in step, of which 99% of the chunks arrive within the limit. They are measured
in turn, each idle while the other runs. Needs a machine with two cores and no other load; takes some 5 minutes.
"""

import argparse
import json
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median

import psutil

from bench import gateways
from bench.gateways import Gateway

SPREAD_SECONDS = 3.0
STEPS = 5
LEAST, MOST = 8, 72  # streams per worker


@dataclass
class Arm:
    """A number of workers on a number of cores, and how many streams they carried in each round."""

    workers: int
    cpus: str
    upstream: Gateway
    ours: Gateway
    servers: list[psutil.Process]
    carried: list[int] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.workers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=7.0, help="how long each load is measured")
    parser.add_argument("--limit", type=float, default=50.0, help="in which 99 %% of the chunks are to arrive (ms)")
    asked = parser.parse_args()
    first, second = gateways.cpus()
    if first is None or second is None:
        sys.exit("bench: this takes a Linux machine with two cores")
    with ExitStack() as stack:
        arms = [_started(stack, 1, str(second)), _started(stack, 2, f"{first},{second}")]
        print("| workers | streams | chunk p50 ms | p99 ms | servers' CPU per chunk µs | all | the busier's share |")
        print("|---|---:|---:|---:|---:|---:|---:|")
        for arm in arms:
            _probe(arm, LEAST, asked.seconds)  # warm it up
        for _ in range(asked.rounds):
            for arm in arms:
                arm.carried.append(_capacity(arm, asked.seconds, asked.limit * 1000))
    one, two = arms
    ratios = [twice / once for once, twice in zip(one.carried, two.carried, strict=True)]
    print(f"\nWithin {asked.limit:g} ms: one worker {one.carried}, two {two.carried} streams in each round;", end=" ")
    print(f"{median(two.carried) / median(one.carried):.2f} times as many ({min(ratios):.2f} to {max(ratios):.2f}).")


def _started(stack: ExitStack, workers: int, cpus: str) -> Arm:
    gateways.say(f"Starting {workers} on {cpus}")
    upstream = stack.enter_context(gateways.upstream(cpus))
    ours = stack.enter_context(gateways.streamviz(upstream.port, cpus, WORKERS=str(workers)))
    assert ours.server
    below = [each for each in ours.server.children() if each.cmdline()[-1:] == ["serve"]]
    return Arm(workers, cpus, upstream, ours, below or [ours.server])


def _capacity(arm: Arm, seconds: float, limit: float) -> int:
    """The most streams whose p99 (µs) is within the limit."""
    least, most = LEAST, MOST
    for _ in range(STEPS):
        middle = (least + most) // 2
        if _probe(arm, middle * arm.workers, seconds) <= limit:
            least = middle
        else:
            most = middle
    return least * arm.workers


def _probe(arm: Arm, streams: int, seconds: float) -> float:
    """The p99 (µs) of a chunk's time from upstream to its client, with `streams` streams."""
    command = ["taskset", "--cpu-list", arm.cpus, sys.executable, "-m", "bench.load", str(arm.ours.port), "paced"]
    asked = [str(streams), str(seconds), arm.ours.key, str(SPREAD_SECONDS)]
    with subprocess.Popen([*command, *asked], cwd=gateways.ROOT, stdout=subprocess.PIPE) as load:
        time.sleep(SPREAD_SECONDS)
        before, all_before = _spent(arm), sum(arm.ours.cpu_seconds())
        assert load.stdout
        seen = json.loads(load.stdout.read())
    if seen["errors"]:
        sys.exit(f"bench: {streams} streams with {arm.workers} workers failed: {seen['errors']}")
    spent = [now - then for now, then in zip(_spent(arm), before, strict=True)]
    in_all = sum(arm.ours.cpu_seconds()) - all_before
    chunks = seen["chunks_s"] * seconds / 1e6
    cells = [f"{seen['latency_p50'] / 1000:.1f}", f"{seen['latency_p99'] / 1000:.1f}"]
    cells += [f"{sum(spent) / chunks:.0f}", f"{in_all / chunks:.0f}", f"{max(spent) / sum(spent):.0%}"]
    print(f"| {arm.workers} | {streams} | {' | '.join(cells)} |", flush=True)
    return float(seen["latency_p99"])


def _spent(arm: Arm) -> list[float]:
    """CPU seconds of each server so far."""
    return [times.user + times.system for times in (server.cpu_times() for server in arm.servers)]


if __name__ == "__main__":
    main()
