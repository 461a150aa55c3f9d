"""The ASGI application of everything under /v1/."""

from collections.abc import Awaitable, Callable

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope

from streamviz.core.errors import ClientFacingError, RequestError
from streamviz.proxy import http
from streamviz.proxy.chat import chat_completions
from streamviz.proxy.errors import error_answer
from streamviz.proxy.model_list import model_list
from streamviz.proxy.worker import Worker, worker

Endpoint = Callable[[Worker, HTTPScope, ASGIReceiveCallable, ASGISendCallable], Awaitable[None]]

ENDPOINTS: dict[str, tuple[str, Endpoint]] = {
    "/v1/chat/completions": ("POST", chat_completions),
    "/v1/models": ("GET", model_list),
}


async def application(scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Answer one request. Every error is told in the client's wire format."""
    try:
        await _endpoint(scope)(worker, scope, receive, send)
    except http.ClientGone:
        return
    except ClientFacingError as error:
        await http.respond(send, *error_answer(error))


def _endpoint(scope: HTTPScope) -> Endpoint:
    method, endpoint = ENDPOINTS.get(scope["path"].rstrip("/"), ("", None))
    if endpoint is None:
        raise RequestError(404, f"There is no {scope['path']} here.", code="unknown_url")
    if method != scope["method"]:
        message = f"{scope['path']} takes {method}, not {scope['method']}."
        raise RequestError(405, message, code="method_not_allowed", headers={"allow": method})
    return endpoint
