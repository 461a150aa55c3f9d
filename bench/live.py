"""The Live page under load: `python -m bench.live`. Prints a table in markdown.

How long a chunk takes from upstream to a browser's socket, what watching costs the clients of the same streams, and
what memory it takes, with one browser among them that has stopped reading. The server has a CPU to itself; all other
processes, streamviz's and those that measure, share another.
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
_MEASURED_EACH = 5  # to look into all messages of all browsers would load the machine more than streamviz does
_WARM_UP_SECONDS = 3.0
_DIRECT_STREAMS = 4
_READ_ON_SECONDS = 10.0
_CONFIRM_US = 200_000  # as the page does
_MEMORY_STEPS = 10
_OTHERS_CPU, _SERVERS_CPU = gateways.cpus()


@dataclass
class Watched:
    """What all browsers saw: how long each chunk took (µs), how often text was left out, and what was sent to the one
    that read nothing (bytes) before it was sent away with a code."""

    latencies: list[int] = field(default_factory=list)
    messages: int = 0
    size: int = 0
    behind: int = 0
    unread: int = 0
    sent_away: int | None = None


async def watch(url: URL, cookies: dict[str, str], browsers: int, seconds: float, begin: Callable[[], None]) -> Watched:
    """So many browsers on the Live page, and one more that reads nothing after its first message.

    `begin` is called once all are there.
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
    """What waits for one that has not read for long, to its end."""
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
    """How old the chunks are that this message is the first to show."""
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
    """So many clients at once, for so long; returns once all have begun, at different moments of `spread` seconds."""
    asked = [str(gateway.port), kind, str(streams), str(seconds), gateway.key or "none", str(spread)]
    load = subprocess.Popen([sys.executable, "-m", "bench.load", *asked], stdout=subprocess.PIPE, text=True)
    time.sleep(spread)
    return load


def start_loads(
    upstream: gateways.Gateway, ours: gateways.Gateway, streams: int, seconds: float, spread: float
) -> list["subprocess.Popen[str]"]:
    """A few streams that go by no gateway, which tell how late a chunk is on this machine by itself, and those that go
    through ours; returns once all have begun."""
    direct = start_load(upstream, "long", _DIRECT_STREAMS, spread + seconds, 1.0)
    return [direct, start_load(ours, "long", streams, seconds, spread)]


def _result(load: "subprocess.Popen[str]") -> dict[str, int]:
    said, _ = load.communicate()
    found: dict[str, int] = json.loads(said)
    return found


class Server(threading.Thread):
    """Notes the memory (MB) of the server, and of the process that has the browsers' websockets, from time to time
    while they are measured, how busy the server is, and what share of its CPUs' time the machine's host took away."""

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
        psutil.cpu_times_percent()  # the next call tells of the time since this one
        for _ in range(_MEMORY_STEPS):
            time.sleep(self._step)
            self.megabytes.append(_megabytes(self._process))
            self.screens_megabytes += [
                _megabytes(child) for child in self._process.children() if "screens" in child.cmdline()
            ]
        self.load = (sum(self._process.cpu_times()[:2]) - before) / (time.monotonic() - began)
        self.stolen = getattr(psutil.cpu_times_percent(), "steal", 0.0) / 100

    def watched(self) -> "Server":
        """Itself, begun."""
        self.start()
        return self


def separate(server: psutil.Process) -> None:
    """Give the server a CPU to itself: its websockets' process, which it starts, goes where all others are."""
    if _OTHERS_CPU is None or _SERVERS_CPU is None:
        return
    for process, cpu in [(server, _SERVERS_CPU), *((child, _OTHERS_CPU) for child in server.children())]:
        for thread in process.threads():
            os.sched_setaffinity(thread.id, {cpu})


def _megabytes(process: psutil.Process) -> float:
    return float(process.memory_info().rss / 2**20)


@dataclass
class Round:
    """The same load twice: while nobody watches, and while browsers do. Each result is that of the streams that go
    direct and of those that go through."""

    alone: list[dict[str, int]]
    watched: list[dict[str, int]]
    seen: Watched
    idle: Server
    busy: Server


def measure(
    upstream: gateways.Gateway, ours: gateways.Gateway, cookies: dict[str, str], asked: argparse.Namespace
) -> Round:
    """One round."""
    server = ours.server
    assert server
    separate(server)
    loads = start_loads(upstream, ours, asked.streams, asked.seconds, asked.spread)
    idle = Server(ours, asked.seconds).watched()
    alone = [_result(load) for load in loads]
    loads.clear()
    busy = Server(ours, asked.seconds)

    def begin() -> None:
        separate(server)  # its websockets' process is there now
        loads.extend(start_loads(upstream, ours, asked.streams, asked.seconds + _WARM_UP_SECONDS, asked.spread))
        busy.start()

    seen = asyncio.run(watch(URL(ours.sign_in_link), cookies, asked.browsers, asked.seconds, begin))
    return Round(alone, [_result(load) for load in loads], seen, idle, busy)


def added(results: list[dict[str, int]]) -> float:
    """By how much the p99 of what goes through is above that of what goes direct (ms)."""
    direct, through = results
    return (through["latency_p99"] - direct["latency_p99"]) / 1000


def latency_rows(rounds: list[Round]) -> Iterator[tuple[str, float, float]]:
    """The table: what, its p50 and its p99 (ms), each the median of all rounds."""
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
        os.sched_setaffinity(0, {_OTHERS_CPU})  # and all that is started from here on
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
    """What of one round is not in the table."""
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
