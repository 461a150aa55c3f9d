"""`make bench`: compare streamviz with the LiteLLM proxy and a direct connection; prints tables in markdown."""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from bench import gateways
from bench.rounds import run
from bench.table import tables
from bench.watcher import WATCHING


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="the figures are the medians of so many rounds")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each load lasts")
    asked = parser.parse_args()
    load_cpu, gateway_cpu = gateways.cpus()
    with ExitStack() as stack:
        gateways.say("Starting the upstream, streamviz and the LiteLLM proxy")
        direct = stack.enter_context(gateways.upstream(load_cpu))
        ours = stack.enter_context(gateways.streamviz(direct.port, gateway_cpu))
        theirs = stack.enter_context(gateways.litellm_proxy(direct.port, gateway_cpu))
        stack.enter_context(_watched(ours.sign_in_link))
        measured = run((direct, ours, theirs), asked.rounds, asked.seconds, load_cpu)
    print(tables(measured))


@contextmanager
def _watched(link: str) -> Iterator[None]:
    """Keep the Live page open while the block runs."""
    watcher = subprocess.Popen([sys.executable, "-m", "bench.watcher", link], stdout=subprocess.PIPE, cwd=gateways.ROOT)
    try:
        if watcher.stdout is None or watcher.stdout.readline().decode().strip() != WATCHING:
            sys.exit("bench: the Live page could not be watched")
        yield
    finally:
        watcher.kill()
        watcher.wait()


if __name__ == "__main__":
    main()
