"""Outages, one after the other, while clients call without a pause."""

import asyncio
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from functools import partial
from typing import Self

import aiohttp
import httpx

from bench.fleet import Fleet, running, servers, state
from tests.e2e.load import Tape
from tests.e2e.machine import Machine, check_record
from tests.e2e.proxied import until
from tests.services import ROOT

SHORT, LONG = "content?chunks=60&pace=15", "content?chunks=600&pace=15"  # about 1 s and 9 s
Outage = Callable[["Clients"], str]
HEADER = ("while", "requests", "refused", "cut off", "longest wait between chunks (s)", "/readyz meanwhile")


class Clients:
    """Clients that call again and again until `finish`; every fifth client asks for long streams."""

    def __init__(self, url: str, key: str, number: int) -> None:
        self.tapes: list[Tape] = []
        self._url, self._key, self._number = f"{url}/v1/chat/completions", key, number
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    def start(self) -> Self:
        self._thread.start()
        return self

    def wait_until_answered(self) -> None:
        until(lambda: any(tape.received for tape in self.tapes), 60)

    def finish(self) -> list[Tape]:
        """All tapes, once the streams that are still running have ended."""
        self._is_over.set()
        self._thread.join()
        return self.tapes

    async def _run(self) -> None:
        connector = aiohttp.TCPConnector(limit=0, ssl=False)
        headers = {"authorization": f"Bearer {self._key}"}
        async with aiohttp.ClientSession(connector=connector, headers=headers) as http:
            await asyncio.gather(*(self._call_again(http, LONG if n % 5 == 4 else SHORT) for n in range(self._number)))

    async def _call_again(self, http: aiohttp.ClientSession, model: str) -> None:
        while not self._is_over.is_set():
            tape = Tape(str(uuid.uuid4()))
            self.tapes.append(tape)
            try:
                await self._call(http, model, tape)
            except (aiohttp.ClientError, OSError) as error:
                tape.error = repr(error)
            if not tape.is_whole:
                await asyncio.sleep(0.1)  # as real clients wait before they retry

    async def _call(self, http: aiohttp.ClientSession, model: str, tape: Tape) -> None:
        body = {"model": f"sim/{model}", "stream": True, "messages": [{"role": "user", "content": "Hello"}]}
        async with http.post(self._url, json=body, headers={"x-session-id": tape.session}) as response:
            tape.status, read_at = response.status, time.monotonic()
            async for data in response.content.iter_any():
                now = time.monotonic()
                tape.longest_wait, read_at = max(tape.longest_wait, now - read_at), now
                tape.received += data
            if tape.status != httpx.codes.OK:
                tape.error, tape.received = bytes(tape.received[:200]).decode(), bytearray()


def measure(clients: int, requests: int, seconds: float, only: str, commit: str, streams: int) -> None:
    """Print a row for each outage whose name contains `only`, then whether the record has what clients got. Machines
    are restarted in turn until `requests` have been made; Redis and a writer are down for `seconds`. The record has
    `streams` streams at first. If a `commit` is given, all machines start on it and are then upgraded."""
    with running(commit) as fleet:
        if streams:
            amounts = ("--streams", str(streams), "--chunks", str(20 * streams), "--days", "14")
            fleet.machines[0].manage("seed_history", *amounts)
        upgrade: dict[str, Outage] = {"machines are upgraded by turns": partial(_upgrade_by_turns, fleet)}
        outages = (upgrade if commit else {}) | _outages(fleet, requests, seconds)
        _measure(fleet, {name: outage for name, outage in outages.items() if only in name}, clients)


def _measure(fleet: Fleet, outages: dict[str, Outage], number: int) -> None:
    everything: list[Tape] = []
    print(_row(HEADER), _row(["---"] * len(HEADER)), sep="\n")
    for name, outage in outages.items():
        clients = Clients(fleet.url, fleet.machines[0].key, number).start()
        try:
            clients.wait_until_answered()
            meanwhile = outage(clients)
        finally:
            tapes = clients.finish()
        everything += tapes
        print(_row([name, *_figures(tapes), meanwhile]), flush=True)
        for tape in tapes:
            if not tape.is_whole:
                print(f"{name}: {tape.status} after {len(tape.received)} bytes: {tape.error}", file=sys.stderr)
        until(lambda: all(state(machine) == "ok" for machine in fleet.machines), 600)
    fleet.machines[0].wait_until_stored(sum(bool(tape.received) for tape in everything))
    print("\nEvery byte that a client received is on record:", check_record(fleet.machines[0], everything))


def _outages(fleet: Fleet, requests: int, seconds: float) -> dict[str, Outage]:
    """The outages by name; each returns what /readyz reported meanwhile."""
    first = fleet.machines[0]

    def away(end: Callable[[], object], begin: Callable[[], object], seconds: float) -> Outage:
        def outage(_: Clients) -> str:
            end()
            meanwhile = _state_after(first, seconds)
            begin()
            return meanwhile

        return outage

    return {
        "nothing happens": lambda _: _state_after(first, 10),
        "machines restart by turns": partial(_restart_by_turns, fleet, requests),
        "a server is killed": partial(_kill_a_server, first),
        f"Redis is away for {seconds:g} s": away(fleet.redis.kill, fleet.redis.start, seconds),
        f"a writer is away for {seconds:g} s": away(first.kill_writer, first.start_writer, seconds),
        "Postgres restarts": away(fleet.postgres.stop, fleet.postgres.start, 5),
        "PgBouncer restarts": away(fleet.stop_bouncer, fleet.start_bouncer, 5),
    }


def _restart_by_turns(fleet: Fleet, requests: int, clients: Clients) -> str:
    while len(clients.tapes) < requests:
        for machine in fleet.machines:
            fleet.restart(machine)
    return _state_after(fleet.machines[0], 0)


def _upgrade_by_turns(fleet: Fleet, _: Clients) -> str:
    """Migrate the database while all servers still run the old version, then upgrade one machine after the other."""
    first = fleet.machines[0]
    first.root = ROOT
    began = time.monotonic()
    first.manage("migrate")
    took = time.monotonic() - began
    meanwhile = _state_after(first, 5)
    for machine in fleet.machines:
        fleet.upgrade(machine)
    return f"{meanwhile}; migrated in {took:.1f} s, then {_state_after(first, 5)}"


def _kill_a_server(machine: Machine, clients: Clients) -> str:
    killed = servers(machine)[0]
    killed.kill()
    killed.wait(60)
    until(lambda: len(servers(machine)) > 1, 60)
    return _state_after(machine, 5)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _figures(tapes: list[Tape]) -> tuple[str, str, str, str]:
    refused = sum(not tape.received for tape in tapes)
    cut = sum(not tape.is_whole for tape in tapes) - refused
    waits = max(tape.longest_wait for tape in tapes)
    return f"{len(tapes):,}", str(refused), str(cut), f"{waits:.2f}"


def _state_after(machine: Machine, seconds: float) -> str:
    """What /readyz reports after `seconds`."""
    time.sleep(seconds)
    return state(machine)
