"""Rounds of the benchmark: every gateway with every load, in turn, so that a slow minute of the machine affects all."""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from bench.gateways import ROOT, Gateway, say
from bench.load import LONGEST_STREAM_SECONDS

STREAMS = (1, 10, 50, 100)
KINDS = ("paced", "flooding")


class Load(NamedTuple):
    """A number of concurrent streams, `paced` or `flooding`."""

    kind: str
    streams: int


LOADS = [Load(kind, streams) for kind in KINDS for streams in STREAMS]
Figures = dict[str, float | None]
Measured = dict[tuple[str, Load], Figures]


def run(gateways: Sequence[Gateway], rounds: int, seconds: float, cpu: int | None) -> Measured:
    """The medians of all rounds. Exits if a stream failed, as only what works can be measured."""
    all_rounds: defaultdict[tuple[str, Load], list[Figures]] = defaultdict(list)
    for gateway in gateways:
        for kind in KINDS:
            _measure(gateway, Load(kind, 1), 1.0, cpu)  # warm it up
    for number in range(1, rounds + 1):
        for load in LOADS:
            say(f"round {number} of {rounds}: {load.streams} {load.kind}")
            direct: Figures = {}
            for gateway in gateways:
                figures = _measure(gateway, load, seconds, cpu)
                direct = direct or figures
                all_rounds[gateway.name, load].append(_with_added(figures, direct))
    return {key: _medians(figures) for key, figures in all_rounds.items()}


def _measure(gateway: Gateway, load: Load, seconds: float, cpu: int | None) -> Figures:
    pinned = [] if cpu is None else ["taskset", "--cpu-list", str(cpu)]
    command = [sys.executable, "-m", "bench.load", str(gateway.port), load.kind, str(load.streams), str(seconds)]
    before = gateway.cpu_seconds()
    done = subprocess.run(
        [*pinned, *command, gateway.key or "none"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
        timeout=seconds + 2 * LONGEST_STREAM_SECONDS,
    )
    after = gateway.cpu_seconds()
    seen = json.loads(done.stdout)
    if seen["errors"]:
        sys.exit(f"bench: {gateway.name} failed at {load}: {seen['errors']}")
    figures: Figures = {name: value for name, value in seen.items() if name != "errors"}
    for name, spent in zip(
        ("cpu", "cpu_all"), (now - then for now, then in zip(after, before, strict=True)), strict=True
    ):
        figures[name] = spent * 1e6 / seen["chunks"]
    return figures


def _with_added(figures: Figures, direct: Figures) -> Figures:
    """The figures, plus what the gateway added to the time that the same stream took directly in the same round."""
    added: Figures = {}
    for name in ("ttft_p50", "ttft_p99", "latency_p50", "latency_p99"):
        value, without = figures[name], direct[name]
        added[f"added_{name}"] = None if value is None or without is None else value - without
    return figures | added


def _medians(rounds: list[Figures]) -> Figures:
    medians: Figures = {}
    for name in rounds[0]:
        values = [value for figures in rounds if (value := figures[name]) is not None]
        medians[name] = median(values) if values else None
    return medians
