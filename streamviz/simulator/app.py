"""The simulated provider's HTTP application."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import web
from aiohttp.helpers import is_ip_address

from streamviz.simulator.endpoints import CHAT, ENDPOINTS, GEMINI, MESSAGES, Endpoint
from streamviz.simulator.ledger import Exchange, Ledger
from streamviz.simulator.provider import Provider
from streamviz.simulator.reply import EPOCH, encode
from streamviz.simulator.scenarios import listing

MOST_BODY_BYTES = 64 * 1024 * 1024
LEDGER = web.AppKey("ledger", Ledger)


def make_app(speed: float = 1.0, replay_dir: Path | None = None) -> web.Application:
    """The application. `speed` is how many times faster than real; infinite for no delays."""
    provider = Provider(speed, replay_dir)
    app = web.Application(client_max_size=MOST_BODY_BYTES, middlewares=[_for_this_network])
    app[LEDGER] = provider.ledger
    for endpoint in ENDPOINTS:
        app.router.add_post(endpoint.path, _handler(provider.answer, endpoint))
    app.router.add_post("/v1/messages/count_tokens", _handler(provider.count_tokens, MESSAGES))
    app.router.add_post(GEMINI.path + "/{model:.+}:{method}", _handler(provider.answer_method, GEMINI))
    app.router.add_post("/v1/embeddings", _handler(provider.embed, CHAT))
    app.router.add_get("/v1/models", _models)
    app.router.add_get("/healthz", _healthz)
    app.router.add_get("/_requests", _requests)
    app.router.add_get("/_sent/{id}", _sent)
    app.router.add_get("/_open", _open)
    app.router.add_get("/_ended/{id}", _ended)
    return app


def _handler(
    answer: Callable[[Endpoint, web.Request], Awaitable[web.StreamResponse]], endpoint: Endpoint
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handle(request: web.Request) -> web.StreamResponse:
        return await answer(endpoint, request)

    return handle


@web.middleware
async def _for_this_network(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """What was asked and sent is not for a site whose name leads here, and whose pages a browser then lets read it: no
    site's name is an address, or has no dot."""
    if request.path.startswith("/_") and not _is_near(request.url.host or ""):
        raise web.HTTPForbidden(text="only by an address, or by a name without a dot\n")
    return await handler(request)


def _is_near(host: str) -> bool:
    return "." not in host or is_ip_address(host)


async def _models(_: web.Request) -> web.Response:
    """The scenarios, with the fields of both OpenAI's list and Anthropic's."""
    shared = {"object": "model", "type": "model", "created": EPOCH, "created_at": "2026-05-28T20:26:40Z"}
    models = [
        {"id": name, **shared, "owned_by": "simulator", "display_name": name, "description": description}
        for name, description in listing().items()
    ]
    ends = {"has_more": False, "first_id": models[0]["id"], "last_id": models[-1]["id"]}
    return _json({"object": "list", "data": models, **ends})


async def _healthz(_: web.Request) -> web.Response:
    return _json({"status": "ok"})


async def _requests(request: web.Request) -> web.Response:
    """The last requests, oldest first."""
    return _json({"requests": [exchange.request() for exchange in request.app[LEDGER].all()]})


async def _sent(request: web.Request) -> web.Response:
    """The bytes that were sent on a response so far."""
    exchange = _exchange(request)
    if exchange.sent is None:
        raise web.HTTPGone(text="these bytes had to make room for newer ones\n")
    return web.Response(body=b"".join(exchange.sent), content_type="application/octet-stream")


async def _open(request: web.Request) -> web.Response:
    """How many responses are being sent now, and how far each one is or got."""
    progress = [exchange.progress() for exchange in request.app[LEDGER].all()]
    return _json({"open": sum(row["open"] is True for row in progress), "responses": progress})


async def _ended(request: web.Request) -> web.Response:
    """How far a response got: answers when it is over, not before."""
    exchange = _exchange(request)
    await exchange.over.wait()
    return _json(exchange.progress())


def _exchange(request: web.Request) -> Exchange:
    exchange = request.app[LEDGER].find(request.match_info["id"])
    if exchange is None:
        raise web.HTTPNotFound(text="no such request, or forgotten by now\n")
    return exchange


def _json(value: object) -> web.Response:
    return web.Response(body=encode(value), content_type="application/json")
