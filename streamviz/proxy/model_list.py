"""GET /v1/models and /v1/models/<id>, also below /v1beta and /v1alpha, in the shape that the client expects."""

import asyncio
import re
from functools import partial

import aiohttp
from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope
from django.conf import settings

from streamviz.core.errors import RequestError
from streamviz.core.json_value import as_object, as_text, decode, encode, objects
from streamviz.core.model_names import matching
from streamviz.core.wire import OPENAI_CHAT
from streamviz.proxy import http
from streamviz.proxy.model_shapes import full_name, shape_for
from streamviz.proxy.paths import format_of
from streamviz.proxy.worker import Worker
from streamviz.upstream.targets import SIMULATOR_PREFIX, configured_models

PATH = "/v1/models"
PATHS = (PATH, "/v1beta/models", "/v1alpha/models")
_MODEL_IN = re.compile(r"/v1(?:beta|alpha)?/models/")
_JSON = {"content-type": "application/json"}


async def model_list(worker: Worker, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """List routes, the models of providers that have a credential and the simulator's scenarios, as far as the key may
    use them."""
    key = worker.authenticate(scope)
    providers = await asyncio.to_thread(configured_models)
    known = dict.fromkeys([*worker.configuration.routes, *providers, *await _scenarios(worker)])
    names = [name for name in known if not key.models or matching((name,), key.models)]
    shape = shape_for(format_of(scope["path"], partial(http.header, scope)))
    await http.respond(send, 200, _JSON, encode(shape.listing(names)))


async def one_model(worker: Worker, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Describe a model that can be called, listed or not. Raises RequestError (404) for any other."""
    key = worker.authenticate(scope)
    wire_format = format_of(scope["path"], partial(http.header, scope))
    named = _MODEL_IN.sub("", scope["path"].rstrip("/"), count=1)
    name = full_name(named, wire_format, worker.configuration.routes)
    target = await worker.target_for(name, OPENAI_CHAT.name)
    if not key.may_call(name, target.provider, target.model):
        message = f"The model `{name}` does not exist for this key. See GET {PATH}."
        raise RequestError(404, message, kind="not_found_error", code="model_not_found", param="model")
    await http.respond(send, 200, _JSON, encode(shape_for(wire_format).one(name)))


async def _scenarios(worker: Worker) -> list[str]:
    """The simulator's models; none while it does not run."""
    try:
        async with worker.client.get(f"{settings.SIMULATOR_URL}/v1/models") as response:
            listing = as_object(decode(await response.read()))
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
        return []
    return [SIMULATOR_PREFIX + as_text(model.get("id")) for model in objects(listing.get("data"))]
