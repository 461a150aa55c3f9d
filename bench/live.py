"""The Live page under load: `python -m bench.live`. Prints a table in markdown.

How long a chunk takes from upstream to a browser's socket, what watching costs the clients of the same streams, and
what memory it takes, with one browser among them that has stopped reading.
"""

import argparse
import asyncio
import json
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field

import aiohttp
from yarl import URL

from bench import gateways
from bench.load import percentile
from bench.wire import STAMP

_TAIL = re.compile(rb'id="r-([0-9a-f]{32})-tail"><bdi>([^<]*)</bdi>')
_MEASURED_EACH = 5  # to look into all messages of all browsers would load the machine more than streamviz does
_WARM_UP_SECONDS = 3.0


@dataclass
class Watched:
    """What all browsers saw: how long each chunk took (µs), and how often text was left out."""

    latencies: list[int] = field(default_factory=list)
    messages: int = 0
    behind: int = 0


async def watch(link: str, browsers: int, seconds: float) -> Watched:
    """So many browsers on the Live page, and one more that reads nothing after its first message."""
    url, seen = URL(link), Watched()
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
        async with client.get(url) as page:
            page.raise_for_status()
        address = url.with_path("/ws/live/")
        async with client.ws_connect(address, origin=str(url.origin()), max_msg_size=0) as stopped:
            await stopped.receive()
            tasks = [asyncio.create_task(_browse(client, address, seen, number)) for number in range(browsers)]
            await asyncio.sleep(_WARM_UP_SECONDS)
            seen.latencies.clear()
            await asyncio.sleep(seconds)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    return seen


async def _browse(client: aiohttp.ClientSession, address: URL, seen: Watched, number: int) -> None:
    newest: dict[bytes, int] = {}
    async with client.ws_connect(address, origin=str(address.origin()), max_msg_size=0) as socket:
        async for message in socket:
            now = time.monotonic_ns() // 1000
            text = str(message.data)
            first, kind, _ = text.split(maxsplit=2)
            seen.messages += 1
            seen.behind += kind == "behind"
            if number % _MEASURED_EACH == 0:
                seen.latencies += _new_chunks(text.encode(), newest, now)
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


def _load(gateway: gateways.Gateway, streams: int, seconds: float) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "bench.load", str(gateway.port), "long", str(streams), str(seconds), gateway.key]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _result(load: "subprocess.Popen[str]") -> dict[str, int]:
    said, _ = load.communicate()
    found: dict[str, int] = json.loads(said)
    return found


def _megabytes(gateway: gateways.Gateway) -> float:
    assert gateway.server
    return float(gateway.server.memory_info().rss) / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.live", description=__doc__)
    parser.add_argument("--streams", type=int, default=100, help="streams at once, of 50 chunks a second each")
    parser.add_argument("--browsers", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=30.0)
    asked = parser.parse_args()
    with gateways.upstream(None) as upstream, gateways.streamviz(upstream.port, None) as ours:
        _result(_load(ours, asked.streams, _WARM_UP_SECONDS))
        alone = _result(_load(ours, asked.streams, asked.seconds))
        before = _megabytes(ours)
        load = _load(ours, asked.streams, asked.seconds + 2 * _WARM_UP_SECONDS)
        seen = asyncio.run(watch(ours.sign_in_link, asked.browsers, asked.seconds))
        after = _megabytes(ours)
        watched = _result(load)
    print(f"{asked.streams} streams of 50 chunks a second, {asked.browsers} browsers and one that reads nothing\n")
    print("| | p50 ms | p99 ms |\n|---|---|---|")
    for name, values in (("chunk to browser's socket", seen.latencies),):
        print(f"| {name} | {(percentile(values, 50) or 0) / 1000:.0f} | {(percentile(values, 99) or 0) / 1000:.0f} |")
    for name, load_seen in (("chunk to client, nobody watches", alone), ("chunk to client, watched", watched)):
        print(f"| {name} | {load_seen['latency_p50'] / 1000:.1f} | {load_seen['latency_p99'] / 1000:.1f} |")
    print(
        f"\nmemory {before:.0f} MB before, {after:.0f} MB after; {seen.messages} messages, {seen.behind} times behind"
    )


if __name__ == "__main__":
    main()
