"""The simulated provider's HTTP application."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import web

from streamviz.simulator.endpoints import CHAT, ENDPOINTS, GEMINI, MESSAGES, Endpoint
from streamviz.simulator.ledger_pages import (
    LEDGER,
    as_json,
    asked_requests,
    ended_response,
    for_this_network,
    open_responses,
    sent_bytes,
)
from streamviz.simulator.provider import Provider, Talk
from streamviz.simulator.reply import EPOCH
from streamviz.simulator.scenarios import listing

MOST_BODY_BYTES = 64 * 1024 * 1024


def make_app(speed: float = 1.0, replay_dir: Path | None = None) -> web.Application:
    """The application. `speed` is how many times faster than real; infinite for no delays."""
    provider = Provider(speed, replay_dir)
    app = web.Application(client_max_size=MOST_BODY_BYTES, middlewares=[for_this_network])
    app[LEDGER] = provider.ledger
    for endpoint in ENDPOINTS:
        app.router.add_post(endpoint.path, _handler(provider, endpoint, provider.answer))
    app.router.add_post("/v1/messages/count_tokens", _handler(provider, MESSAGES, provider.count_tokens))
    app.router.add_post(GEMINI.path + "/{model:.+}:{method}", _handler(provider, GEMINI, provider.answer_method))
    app.router.add_post("/v1/embeddings", _handler(provider, CHAT, provider.embed))
    app.router.add_get("/v1/models", _models)
    app.router.add_get("/healthz", _healthz)
    app.router.add_get("/_requests", asked_requests)
    app.router.add_get("/_sent/{id}", sent_bytes)
    app.router.add_get("/_open", open_responses)
    app.router.add_get("/_ended/{id}", ended_response)
    return app


def _handler(
    provider: Provider, endpoint: Endpoint, answer: Callable[[Talk], Awaitable[web.StreamResponse]]
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            return await provider.serve(endpoint, request, answer)
        except ConnectionError:
            return web.Response()  # to a client that has left, which is not our error

    return handle


async def _models(_: web.Request) -> web.Response:
    """The scenarios, with the fields of both OpenAI's list and Anthropic's."""
    shared = {"object": "model", "type": "model", "created": EPOCH, "created_at": "2026-05-28T20:26:40Z"}
    models = [
        {"id": name, **shared, "owned_by": "simulator", "display_name": name, "description": description}
        for name, description in listing().items()
    ]
    ends = {"has_more": False, "first_id": models[0]["id"], "last_id": models[-1]["id"]}
    return as_json({"object": "list", "data": models, **ends})


async def _healthz(_: web.Request) -> web.Response:
    return as_json({"status": "ok"})
