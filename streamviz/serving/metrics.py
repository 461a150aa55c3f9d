"""/metrics, as Prometheus reads it: what all processes of this machine count, and its journal.

Only for requests from this machine itself, or with METRICS_TOKEN.
"""

import asyncio
import re
import secrets
from collections.abc import Iterable, Iterator
from ipaddress import ip_address

from django.conf import settings
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from streamviz import figures
from streamviz.asgi_types import Message, Send
from streamviz.live.fleet import responding
from streamviz.live.publisher import publisher
from streamviz.live.subscriber import Subscriber
from streamviz.proxy import metrics
from streamviz.records.backlog import Backlog, backlog

_left_out = figures.counter("live_updates_left_out", "Updates not sent to slow browsers")
_watchers = figures.gauge("live_watchers", "Browsers' websockets")
_others_away = figures.worst("others_away", "Whether other servers cannot be reached")


class _Told:
    """How many updates had been left out at the last look."""

    left_out = 0


def look() -> None:
    """Note the state of what runs in this process, and who watches."""
    metrics.look(list(publisher.feed.running.values()))
    _left_out.inc(Subscriber.dropped_of_all - _Told.left_out)
    _Told.left_out = Subscriber.dropped_of_all
    _watchers.set(publisher.watchers)
    _others_away.set(publisher.wall.are_others_away)


async def application(scope: Message, send: Send) -> None:
    """Answer 200 with the figures, or 403."""
    if may_read(scope):
        status, body, kind = 200, await asyncio.to_thread(exposition), CONTENT_TYPE_LATEST
    else:
        status, body, kind = 403, f"{who_may_read()}\n".encode(), "text/plain"
    headers = [(b"content-type", kind.encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def exposition() -> bytes:
    """What processes count, and the current state of the journal, in Prometheus' text format. Reads files."""
    return (figures.exposition() + "".join(_lines((*_journal(), *_servers())))).encode()


_Gauge = tuple[str, str, float]


def _lines(gauges: Iterable[_Gauge]) -> Iterator[str]:
    for name, says, value in gauges:
        name = f"streamviz_{name}"
        yield f"# HELP {name} {says}\n# TYPE {name} gauge\n{name} {float(value)!r}\n"


def _servers() -> Iterator[_Gauge]:
    """How many servers respond. A hung server still counts as a process, and while it does not answer another has to
    report it."""
    itself = publisher.itself()
    own = [] if itself is None else [each for each in publisher.members() if each.machine == itself.machine]
    yield "servers_responding", "Servers on this machine that the scraped one hears from", len(responding(own))
    yield "servers_wanted", "Servers that this machine should have", settings.WORKERS


def _journal() -> tuple[_Gauge, ...]:
    found = backlog(settings.JOURNAL_DIR, settings.JOURNAL_LIMITS)
    return (
        ("journal_bytes", "Bytes waiting for Postgres in this machine's journals", found.size),
        ("journal_waits_seconds", "How long the oldest unread entry has waited", found.waits),
        ("journal_full", "Whether the journal has no room for new streams", bool(found.full)),
        ("journal_damaged_files", "Damaged files set aside", found.damaged),
        ("journal_refused_streams", "Streams set aside because they could not be stored", found.set_aside),
        ("writer_running", "Whether a writer is moving the journals into Postgres", found.is_moved),
        ("writer_lag_seconds", "How long the writer has been behind", _lag(found)),
        ("writer_failing", "Whether writing to Postgres fails", bool(found.trouble)),
    )


def _lag(found: Backlog) -> float:
    """The writer's lag, or if none runs, how long what was recorded has waited for one."""
    return found.lag if found.is_moved and found.lag is not None else max(found.lag or 0, found.waits)


def may_read(scope: Message) -> bool:
    """Whether the request has the token or, if none is set, comes from this machine itself."""
    headers = dict(scope["headers"])
    if settings.METRICS_TOKEN:
        given: bytes = headers.get(b"authorization", b"")
        return secrets.compare_digest(given, b"Bearer " + settings.METRICS_TOKEN.encode())
    # What comes through a proxy on this machine seems to come from this machine.
    is_direct = not settings.TRUSTED_PROXIES and not {b"x-forwarded-for", b"forwarded"} & headers.keys()
    host = re.sub(r":\d+$", "", headers.get(b"host", b"").decode("latin-1"))
    return is_direct and host in settings.LOOPBACK_NAMES and _is_loopback(scope)


def who_may_read() -> str:
    """What to tell those who may not read the figures."""
    if settings.METRICS_TOKEN:
        return "Send METRICS_TOKEN as a bearer token."
    if settings.TRUSTED_PROXIES:
        return "Set METRICS_TOKEN, and send it as a bearer token."
    return "Ask from this machine, or set METRICS_TOKEN and send it as a bearer token."


def _is_loopback(scope: Message) -> bool:
    client = scope.get("client")
    if client is None:
        return False
    address = ip_address(client[0])
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback
