"""/metrics, as Prometheus reads it: streams of all servers that share the port, this machine's journal, and the loop.

For whoever asks from this machine itself, or with METRICS_TOKEN.
"""

import asyncio
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

import psutil
from django.conf import settings
from prometheus_client import CollectorRegistry, Histogram, generate_latest, multiprocess
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from streamviz.asgi_types import Message, Send
from streamviz.live.publisher import publisher
from streamviz.proxy.metrics import registry
from streamviz.records.backlog import backlog

_LOOK_SECONDS = 0.5
_LAGS = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5)
_lag = Histogram(
    "streamviz_loop_lag_seconds", "How late the event loop comes to its work", registry=registry, buckets=_LAGS
)


class _Machine(Collector):
    """What is looked up when somebody asks; `asking` is how many streams wait for a person."""

    def __init__(self, asking: int) -> None:
        self._asking = asking

    def collect(self) -> Iterable[Metric]:
        found = backlog(settings.JOURNAL_DIR, settings.JOURNAL_LIMITS)
        for name, says, value in (
            ("journal_bytes", "What waits for Postgres in this machine's journals", found.size),
            ("journal_waits_seconds", "For how long something has waited that nobody has read", found.waits),
            ("writer_running", "Whether anybody moves the journals into Postgres", int(found.is_moved)),
            ("writer_lag_seconds", "For how long the writer has not had everything read", found.lag or 0),
            ("journal_damaged_files", "Damaged files that were set aside", found.damaged),
            ("live_updates_left_out", "Updates that slow browsers were not sent", publisher.dropped),
            ("streams_needing_a_person", "Streams that wait for a person", self._asking),
        ):
            yield GaugeMetricFamily(f"streamviz_{name}", says, value=value)


async def application(scope: Message, send: Send) -> None:
    """Answer 200 with the figures, or 403."""
    if may_read(scope):
        status, body, kind = 200, await asyncio.to_thread(exposition, publisher.count_asking()), CONTENT_TYPE_LATEST
    else:
        status, body, kind = 403, b"Ask from this machine, or with METRICS_TOKEN as a bearer token.\n", "text/plain"
    headers = [(b"content-type", kind.encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def exposition(asking: int) -> bytes:
    """The figures in Prometheus' text format. Reads files, where servers share a port."""
    shown = registry
    if folder := os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        for pid in _dead(Path(folder)):
            with suppress(FileNotFoundError):  # another server may do the same just now
                multiprocess.mark_process_dead(pid)
        shown = CollectorRegistry()
        multiprocess.MultiProcessCollector(shown)
    machine = CollectorRegistry()
    machine.register(_Machine(asking))
    return generate_latest(shown) + generate_latest(machine)


async def watch_loop() -> None:
    """Measure, twice a second, how late the event loop is. Runs until it is cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + _LOOK_SECONDS
        await asyncio.sleep(_LOOK_SECONDS)
        _lag.observe(max(0.0, loop.time() - due))


def _dead(folder: Path) -> Iterator[int]:
    """Servers that were killed: their streams run no longer."""
    for file in folder.glob("gauge_livesum_*.db"):
        pid = int(file.stem.rpartition("_")[2])
        if not psutil.pid_exists(pid):
            yield pid


def may_read(scope: Message) -> bool:
    """Whether whoever asks has the token or, where there is none, is this machine itself."""
    headers = dict(scope["headers"])
    if settings.METRICS_TOKEN:
        given: bytes = headers.get(b"authorization", b"")
        return secrets.compare_digest(given, b"Bearer " + settings.METRICS_TOKEN.encode())
    # What comes through a proxy on this machine comes from this machine.
    is_direct = not settings.TRUSTED_PROXIES and not {b"x-forwarded-for", b"forwarded"} & headers.keys()
    host = re.sub(r":\d+$", "", headers.get(b"host", b"").decode("latin-1"))
    return is_direct and host in settings.LOOPBACK_NAMES and _is_loopback(scope)


def _is_loopback(scope: Message) -> bool:
    client = scope.get("client")
    if client is None:
        return False
    address = ip_address(client[0])
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback
