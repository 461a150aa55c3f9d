"""The Live page under load: `python -m bench.live`. Prints a table in markdown.

Measures how long a chunk takes from upstream to a browser's socket, what watching costs the clients of the same
streams, and how much memory it takes when one of the browsers has stopped reading. The server has a CPU to itself; all
other processes, both streamviz's and the load generators, share another.
"""

import argparse
import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import median

import aiohttp
import psutil
from yarl import URL

from bench import gateways
from bench.load import percentile
from bench.wire import STAMP

_TAIL = re.compile(rb'id="r-([0-9a-f]{32})-tail"><bdi>([^<]*)</bdi>')
_MEASURED_EACH = 5  # parsing every browser's messages would load the machine more than streamviz does
_WARM_UP_SECONDS = 3.0
_DIRECT_STREAMS = 4
_READ_ON_SECONDS = 10.0
_CONFIRM_US = 200_000  # as the page does
_MEMORY_STEPS = 10
_OTHERS_CPU, _SERVERS_CPU = gateways.cpus()


@dataclass
class Watched:
    """What all browsers saw: the latency of each chunk (µs), how often text was skipped, and how many bytes were sent
    to the browser that did not read, before its connection was closed with a code."""

    latencies: list[int] = field(default_factory=list)
    messages: int = 0
    size: int = 0
    behind: int = 0
    unread: int = 0
    sent_away: int | None = None


async def watch(url: URL, cookies: dict[str, str], browsers: int, seconds: float, begin: Callable[[], None]) -> Watched:
    """Open the Live page in `browsers` browsers, and in one more that reads nothing after its first message.

    `begin` is called once all are connected.
    """
    seen = Watched()
    async with aiohttp.ClientSession(cookies=cookies, cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
        address = url.with_path("/ws/live/")
        async with client.ws_connect(address, origin=str(url.origin()), max_msg_size=0) as stopped:
            assert (await stopped.receive()).type is aiohttp.WSMsgType.TEXT
            tasks = [asyncio.create_task(_browse(client, address, seen, number)) for number in range(browsers)]
            await asyncio.sleep(_WARM_UP_SECONDS)
            await asyncio.to_thread(begin)
            await asyncio.sleep(_WARM_UP_SECONDS)
            seen.latencies.clear()
            await asyncio.sleep(seconds)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await _read_on(stopped, seen)
    return seen


async def _read_on(socket: aiohttp.ClientWebSocketResponse, seen: Watched) -> None:
    """Read everything that is still queued for a browser that has not read for a long time."""
    with contextlib.suppress(TimeoutError, aiohttp.ClientError, ConnectionError):
        async with asyncio.timeout(_READ_ON_SECONDS):
            while (message := await socket.receive()).type is aiohttp.WSMsgType.TEXT:
                seen.unread += len(message.data)
    seen.sent_away = socket.close_code


async def _browse(client: aiohttp.ClientSession, address: URL, seen: Watched, number: int) -> None:
    newest: dict[bytes, int] = {}
    confirmed_at = 0.0
    async with client.ws_connect(address, origin=str(address.origin()), max_msg_size=0) as socket:
        async for message in socket:
            now = time.monotonic_ns() // 1000
            text = str(message.data)
            first, kind, _ = text.split(maxsplit=2)
            seen.messages += 1
            seen.size += len(text)
            seen.behind += kind == "behind"
            if number % _MEASURED_EACH == 0:
                seen.latencies += _new_chunks(text.encode(), newest, now)
            if now - confirmed_at > _CONFIRM_US:
                confirmed_at = now
                await socket.send_json({"seen": int(first)})


def _new_chunks(text: bytes, newest: dict[bytes, int], now: int) -> list[int]:
    """The ages (µs) of the chunks that this message is the first to show."""
    found = []
    for row, tail in _TAIL.findall(text):
        stamps = [int(stamp) for stamp in STAMP.findall(tail)]
        if row in newest:
            found += [now - stamp for stamp in stamps if stamp > newest[row]]
        if stamps:
            newest[row] = max(stamps)
    return found


def start_load(
    gateway: gateways.Gateway, kind: str, streams: int, seconds: float, spread: float = 0.0
) -> "subprocess.Popen[str]":
    """Start `streams` clients for `seconds`, at different moments within `spread` seconds; returns once all have
    begun."""
    asked = [str(gateway.port), kind, str(streams), str(seconds), gateway.key or "none", str(spread)]
    load = subprocess.Popen([sys.executable, "-m", "bench.load", *asked], stdout=subprocess.PIPE, text=True)
    time.sleep(spread)
    return load


def start_loads(
    upstream: gateways.Gateway, ours: gateways.Gateway, streams: int, seconds: float, spread: float
) -> list["subprocess.Popen[str]"]:
    """Start a few streams that bypass the gateway, to measure this machine's own latency, and those that go through
    streamviz; returns once all have begun."""
    direct = start_load(upstream, "long", _DIRECT_STREAMS, spread + seconds, 1.0)
    return [direct, start_load(ours, "long", streams, seconds, spread)]


def _result(load: "subprocess.Popen[str]") -> dict[str, int]:
    said, _ = load.communicate()
    found: dict[str, int] = json.loads(said)
    return found


class Server(threading.Thread):
    """Samples the memory (MB) of the server and of the process that has the browsers' websockets during a measurement;
    also notes the server's CPU load and the share of CPU time that the machine's host took away."""

    def __init__(self, gateway: gateways.Gateway, seconds: float) -> None:
        super().__init__(daemon=True)
        assert gateway.server
        self._process = gateway.server
        self._step = seconds / _MEMORY_STEPS
        self.megabytes: list[float] = []
        self.screens_megabytes: list[float] = []
        self.load = 0.0
        self.stolen = 0.0

    def run(self) -> None:
        began, before = time.monotonic(), sum(self._process.cpu_times()[:2])
        psutil.cpu_times_percent()  # the next call reports the time since this one
        for _ in range(_MEMORY_STEPS):
            time.sleep(self._step)
            self.megabytes.append(_megabytes(self._process))
            self.screens_megabytes += [
                _megabytes(child) for child in self._process.children() if "screens" in child.cmdline()
            ]
        self.load = (sum(self._process.cpu_times()[:2]) - before) / (time.monotonic() - began)
        self.stolen = getattr(psutil.cpu_times_percent(), "steal", 0.0) / 100

    def watched(self) -> "Server":
        """Start this thread and return it."""
        self.start()
        return self


def separate(server: psutil.Process) -> None:
    """Give the server a CPU to itself; its child process with the websockets goes to the CPU of all others."""
    if _OTHERS_CPU is None or _SERVERS_CPU is None:
        return
    for process, cpu in [(server, _SERVERS_CPU), *((child, _OTHERS_CPU) for child in server.children())]:
        for thread in process.threads():
            os.sched_setaffinity(thread.id, {cpu})


def _megabytes(process: psutil.Process) -> float:
    return float(process.memory_info().rss / 2**20)


@dataclass
class Round:
    """The same load twice: while nobody watches, and while browsers do. Each result is that of the direct streams, then
    of those through streamviz."""

    alone: list[dict[str, int]]
    watched: list[dict[str, int]]
    seen: Watched
    idle: Server
    busy: Server


def measure(
    upstream: gateways.Gateway, ours: gateways.Gateway, cookies: dict[str, str], asked: argparse.Namespace
) -> Round:
    """Run one round."""
    server = ours.server
    assert server
    separate(server)
    loads = start_loads(upstream, ours, asked.streams, asked.seconds, asked.spread)
    idle = Server(ours, asked.seconds).watched()
    alone = [_result(load) for load in loads]
    loads.clear()
    busy = Server(ours, asked.seconds)

    def begin() -> None:
        separate(server)  # the process with its websockets has started by now
        loads.extend(start_loads(upstream, ours, asked.streams, asked.seconds + _WARM_UP_SECONDS, asked.spread))
        busy.start()

    seen = asyncio.run(watch(URL(ours.sign_in_link), cookies, asked.browsers, asked.seconds, begin))
    return Round(alone, [_result(load) for load in loads], seen, idle, busy)


def added(results: list[dict[str, int]]) -> float:
    """How much higher the p99 is through streamviz than directly (ms)."""
    direct, through = results
    return (through["latency_p99"] - direct["latency_p99"]) / 1000


def latency_rows(rounds: list[Round]) -> Iterator[tuple[str, float, float]]:
    """Rows of the table: name, p50 and p99 (ms), each the median of all rounds."""
    browsers = [[(percentile(each.seen.latencies, percent) or 0) / 1000 for percent in (50, 99)] for each in rounds]
    yield "chunk to browser's socket", *map(median, zip(*browsers, strict=True))
    for when, of in (("nobody watches", lambda each: each.alone), ("watched", lambda each: each.watched)):
        for number, name in enumerate(("direct to client", "chunk to client")):
            results = [of(each)[number] for each in rounds]
            p50, p99 = (median(each[key] for each in results) / 1000 for key in ("latency_p50", "latency_p99"))
            yield f"{name}, {when}", p50, p99


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.live", description=__doc__)
    parser.add_argument("--streams", type=int, default=100, help="streams at once, of 50 chunks a second each")
    parser.add_argument("--browsers", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--spread", type=float, default=0.0, help="streams begin within so many seconds, not in step")
    parser.add_argument("--rounds", type=int, default=1, help="how often all is measured: the table has the medians")
    asked = parser.parse_args()
    if _OTHERS_CPU is not None:
        os.sched_setaffinity(0, {_OTHERS_CPU})  # inherited by every process started from here on
    with gateways.upstream(None) as upstream, gateways.streamviz(upstream.port, None) as ours:
        cookies = gateways.sign_in(ours.sign_in_link)
        rounds = [measure(upstream, ours, cookies, asked) for _ in range(asked.rounds)]
    print(f"{asked.streams} streams of 50 chunks a second, {asked.browsers} browsers and one that reads nothing\n")
    print("| | p50 ms | p99 ms |\n|---|---:|---:|")
    for name, p50, p99 in latency_rows(rounds):
        print(f"| {name} | {p50:.1f} | {p99:.1f} |")
    for each in rounds:
        alone, watched = added(each.alone), added(each.watched)
        print(f"\nadded p99: {alone:.1f} ms while nobody watches, {watched:.1f} watched, {watched / alone:.2f} times")
        print_round(each)


def print_round(each: Round) -> None:
    """Print the results of one round that are not in the table."""
    seen, idle, busy = each.seen, each.idle, each.busy
    print(f"the server's CPU: {idle.load:.0%} while nobody watches, {busy.load:.0%} while watched")
    print(f"taken away by the host: {idle.stolen:.1%} while nobody watches, {busy.stolen:.1%} while watched")
    for name, megabytes in (
        ("the server's memory while nobody watches", idle.megabytes),
        ("the server's memory while watched", busy.megabytes),
        ("that of the process with the websockets", busy.screens_megabytes),
    ):
        print(f"{name}, MB: {' '.join(f'{each:.0f}' for each in megabytes)}")
    print(f"{seen.messages} messages of {seen.size / max(1, seen.messages) / 1000:.0f} kB, {seen.behind} times behind")
    print(f"the browser that reads nothing: {seen.unread / 1000:.0f} kB waited for it, closed with {seen.sent_away}")


if __name__ == "__main__":
    main()
