"""Pages with what the simulator was asked and what it sent, for tests: only for this network."""

from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.helpers import is_ip_address

from streamviz.simulator.ledger import Exchange, Ledger
from streamviz.simulator.reply import encode

LEDGER = web.AppKey("ledger", Ledger)


@web.middleware
async def for_this_network(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Keep what was asked and sent from websites whose name resolves to this server, because a browser would let their
    pages read it: only an address or a name without a dot is accepted, and no website has either as its name."""
    if request.path.startswith("/_") and not _is_near(request.url.host or ""):
        raise web.HTTPForbidden(text="only by an address, or by a name without a dot\n")
    return await handler(request)


def _is_near(host: str) -> bool:
    return "." not in host or is_ip_address(host)


async def asked_requests(request: web.Request) -> web.Response:
    """The last requests, oldest first."""
    return as_json({"requests": [exchange.request() for exchange in request.app[LEDGER].all()]})


async def sent_bytes(request: web.Request) -> web.Response:
    """The bytes that were sent so far on a response."""
    exchange = _exchange(request)
    if exchange.sent is None:
        raise web.HTTPGone(text="these bytes had to make room for newer ones\n")
    return web.Response(body=b"".join(exchange.sent), content_type="application/octet-stream")


async def open_responses(request: web.Request) -> web.Response:
    """How many responses are being sent now, and how far each one is or got."""
    progress = [exchange.progress() for exchange in request.app[LEDGER].all()]
    return as_json({"open": sum(row["open"] is True for row in progress), "responses": progress})


async def ended_response(request: web.Request) -> web.Response:
    """How far a response got: answers once it is over, not before."""
    exchange = _exchange(request)
    await exchange.over.wait()
    return as_json(exchange.progress())


def _exchange(request: web.Request) -> Exchange:
    exchange = request.app[LEDGER].find(request.match_info["id"])
    if exchange is None:
        raise web.HTTPNotFound(text="no such request, or forgotten by now\n")
    return exchange


def as_json(value: object) -> web.Response:
    """An answer with `value` as JSON."""
    return web.Response(body=encode(value), content_type="application/json")
