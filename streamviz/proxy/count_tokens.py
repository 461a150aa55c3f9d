"""POST /v1/messages/count_tokens."""

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope
from django.conf import settings

from streamviz.core.json_value import encode
from streamviz.proxy import http
from streamviz.proxy.calls import client_headers, target_of
from streamviz.proxy.formats import ANTHROPIC_MESSAGES
from streamviz.proxy.requests import read_request
from streamviz.proxy.worker import Worker
from streamviz.upstream.raw import open_raw
from streamviz.upstream.targets import Lane
from streamviz.upstream.token_counts import count_tokens

PATH = f"{ANTHROPIC_MESSAGES.path}/count_tokens"


async def token_count(worker: Worker, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """The provider's own count where it speaks Anthropic's format, else LiteLLM's, which says when it is an estimate.

    Raises RequestError and UpstreamError.
    """
    worker.authenticate(scope)
    request = read_request(await http.read_body(receive), ANTHROPIC_MESSAGES)
    target = await target_of(worker, ANTHROPIC_MESSAGES, scope, request)
    if target.lane is Lane.TRANSLATED:
        count = await count_tokens(target, request.fields, settings.UPSTREAM_SILENCE_SECONDS)
        await http.respond(send, 200, {"content-type": "application/json"}, encode(count))
        return
    body = request.body_for(target.model)
    answer = await open_raw(worker.client, target.at("/count_tokens"), body, client_headers(scope))
    try:
        data = b"".join([piece async for piece in answer])
    finally:
        answer.close()
    await http.respond(send, answer.status, {**answer.headers}, data)
