"""GET /v1/models and /v1/models/<id>, in a shape that both vendors' SDKs read."""

import asyncio

import aiohttp
from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope
from django.conf import settings

from streamviz.core.errors import RequestError
from streamviz.core.json_value import JsonObject, as_object, as_text, decode, encode, objects
from streamviz.core.model_names import matching
from streamviz.core.wire import OPENAI_CHAT
from streamviz.proxy import http
from streamviz.proxy.worker import Worker
from streamviz.upstream.targets import SIMULATOR_PREFIX, configured_models

PATH = "/v1/models"
_JSON = {"content-type": "application/json"}


async def model_list(worker: Worker, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Routes, the models of providers that have a credential and the simulator's scenarios, as far as the key goes."""
    key = worker.authenticate(scope)
    providers = await asyncio.to_thread(configured_models)
    known = dict.fromkeys([*worker.configuration.routes, *providers, *await _scenarios(worker)])
    names = [name for name in known if not key.models or matching((name,), key.models)]
    ends = {"has_more": False, "first_id": names[0] if names else None, "last_id": names[-1] if names else None}
    await http.respond(send, 200, _JSON, encode({"object": "list", "data": [_model(name) for name in names], **ends}))


async def one_model(worker: Worker, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """A model that can be called, listed or not. Raises RequestError (404) for any other."""
    key = worker.authenticate(scope)
    name = scope["path"].removeprefix(f"{PATH}/")
    target = await worker.target_for(name, OPENAI_CHAT.name)
    if not key.may_call(name, target.provider, target.model):
        message = f"The model `{name}` does not exist for this key. See GET {PATH}."
        raise RequestError(404, message, kind="not_found_error", code="model_not_found", param="model")
    await http.respond(send, 200, _JSON, encode(_model(name)))


def _model(name: str) -> JsonObject:
    """A model; when it was made is not known."""
    owner = name.partition("/")[0] if "/" in name else "streamviz"
    openai = {"object": "model", "created": 0, "owned_by": owner}
    anthropic = {"type": "model", "display_name": name, "created_at": "1970-01-01T00:00:00Z", "lifecycle": "active"}
    return {"id": name, **openai, **anthropic}


async def _scenarios(worker: Worker) -> list[str]:
    """The simulator's models; none while it does not run."""
    try:
        async with worker.client.get(f"{settings.SIMULATOR_URL}/v1/models") as response:
            listing = as_object(decode(await response.read()))
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
        return []
    return [SIMULATOR_PREFIX + as_text(model.get("id")) for model in objects(listing.get("data"))]
