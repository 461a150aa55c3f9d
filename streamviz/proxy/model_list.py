"""GET /v1/models."""

import asyncio

import aiohttp
from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope
from django.conf import settings

from streamviz.core.json_value import JsonObject, as_object, as_text, decode, encode, objects
from streamviz.proxy import http
from streamviz.proxy.worker import Worker
from streamviz.upstream.targets import SIMULATOR_PREFIX, configured_models


async def model_list(worker: Worker, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """The operator's routes, the models of providers that have a credential, and the simulator's scenarios."""
    worker.authenticate(scope)
    providers = await asyncio.to_thread(configured_models)
    names = [*worker.standing.routes, *providers, *await _scenarios(worker)]
    body = encode({"object": "list", "data": [_model(name) for name in dict.fromkeys(names)]})
    await http.respond(send, 200, {"content-type": "application/json"}, body)


def _model(name: str) -> JsonObject:
    owner = name.partition("/")[0] if "/" in name else "streamviz"
    return {"id": name, "object": "model", "created": 0, "owned_by": owner}


async def _scenarios(worker: Worker) -> list[str]:
    """The simulator's models; none while it does not run."""
    try:
        async with worker.client.get(f"{settings.SIMULATOR_URL}/v1/models") as response:
            listing = as_object(decode(await response.read()))
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
        return []
    return [SIMULATOR_PREFIX + as_text(model.get("id")) for model in objects(listing.get("data"))]
