"""POST /v1/embeddings: a call like the others, with an answer that nobody reads."""

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope

from streamviz.core.errors import RequestError
from streamviz.core.verdicts import Mode
from streamviz.core.wire import EMBEDDINGS
from streamviz.core.wire.embeddings import unread_in
from streamviz.proxy.calls import model_call
from streamviz.proxy.requests import ModelRequest
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownKey


async def embeddings(worker: Worker, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Proxy one call. Raises RequestError for a request that never becomes a stream."""
    await model_call(EMBEDDINGS, worker, scope, receive, send, _require_readable)


async def _require_readable(worker: Worker, key: KnownKey, request: ModelRequest) -> None:
    """Raises RequestError (400) for a streaming request, and if a policy would have to read what cannot be read
    here."""
    if request.is_streaming:
        raise RequestError(
            400, "Embeddings cannot be streamed. Leave `stream` out.", code="invalid_type", param="stream"
        )
    unread = unread_in(request.fields)
    if not unread:
        return
    target = await worker.target_for(request.model, EMBEDDINGS.name)
    chosen = worker.configuration.policies_for(target.names(request.model), key.name)
    if any(active.mode is Mode.ENFORCE for active in chosen.active):
        message = "A policy reads what is embedded: send it in `input`, as text and not as tokens."
        raise RequestError(400, message, code="unreadable_input", param=unread)
