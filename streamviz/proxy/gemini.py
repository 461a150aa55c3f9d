"""Gemini's endpoints: POST /v1beta/models/<model>:generateContent, :streamGenerateContent and :countTokens.

What the path says becomes part of the request, which is then a call like those of the other formats.
"""

from urllib.parse import parse_qs

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope

from streamviz.core.json_value import JsonObject, as_object, encode
from streamviz.core.wire import GEMINI
from streamviz.core.wire.gemini_calls import as_call
from streamviz.proxy import count_tokens, http
from streamviz.proxy.as_list import AsList
from streamviz.proxy.calls import model_call
from streamviz.proxy.model_shapes import full_name
from streamviz.proxy.paths import GEMINI_CALL, GEMINI_METHODS, no_such
from streamviz.proxy.requests import decoded, read_aside
from streamviz.proxy.worker import Worker


async def gemini_call(worker: Worker, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Proxy one call. Raises RequestError for a request that never becomes a stream."""
    found = GEMINI_CALL.fullmatch(scope["path"])
    if found is None or found["method"] not in GEMINI_METHODS:
        raise no_such(scope["path"])
    worker.authenticate(scope)
    body = await read_aside(await http.read_body(scope, receive), decoded)
    model = full_name(found["model"], GEMINI, worker.configuration.routes)
    is_streaming = found["method"] == "streamGenerateContent"
    asked = as_call(_counted(body) if found["method"] == "countTokens" else body, model, is_streaming=is_streaming)
    scope, receive = http.without_encoding(scope), http.receiving(encode(asked), receive)
    if found["method"] == "countTokens":
        await count_tokens.token_count(GEMINI, worker, scope, receive, send)
        return
    takes_events = parse_qs(scope["query_string"].decode("latin-1")).get("alt") == ["sse"]
    await model_call(GEMINI, worker, scope, receive, send if takes_events or not is_streaming else AsList(send))


def _counted(body: JsonObject) -> JsonObject:
    """What is to be counted: turns, or a whole request."""
    return as_object(body.get("generateContentRequest", body.get("generate_content_request"))) or body
