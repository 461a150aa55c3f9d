"""POST /v1/embeddings: a call like the others, with an answer that nobody reads."""

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope

from streamviz.core.errors import RequestError
from streamviz.core.json_value import encode
from streamviz.core.verdicts import Mode
from streamviz.core.wire import EMBEDDINGS
from streamviz.core.wire.embeddings import has_tokens
from streamviz.proxy import http
from streamviz.proxy.calls import model_call
from streamviz.proxy.requests import ModelRequest, read_request
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownKey


async def embeddings(worker: Worker, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Proxy one call. Raises RequestError for a request that never becomes a stream."""
    key = worker.authenticate(scope)
    request = read_request(await http.read_body(scope, receive), EMBEDDINGS)
    if request.is_streaming:
        raise RequestError(400, "Embeddings cannot be streamed.", code="invalid_type", param="stream")
    if has_tokens(request.fields.get("input")):
        await _require_unread(worker, key, request)
    given = http.receiving(encode(request.fields), receive)
    await model_call(EMBEDDINGS, worker, http.without_encoding(scope), given, send)


async def _require_unread(worker: Worker, key: KnownKey, request: ModelRequest) -> None:
    """Raises RequestError (400) where a policy is to read what is numbers of tokens."""
    target = await worker.target_for(request.model, EMBEDDINGS.name)
    chosen = worker.configuration.policies_for(target.names(request.model), key.name)
    if any(active.mode is Mode.ENFORCE for active in chosen.active):
        message = "A policy reads what is embedded: send `input` as text, not as tokens."
        raise RequestError(400, message, code="unreadable_input", param="input")
