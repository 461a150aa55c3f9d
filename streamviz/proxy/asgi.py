"""The ASGI application of everything under /v1/."""

from collections.abc import Awaitable, Callable
from functools import partial

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope

from streamviz.core.errors import ClientFacingError, RequestError
from streamviz.proxy import http
from streamviz.proxy.calls import model_call
from streamviz.proxy.formats import WIRE_FORMATS, format_of
from streamviz.proxy.model_list import model_list
from streamviz.proxy.worker import Worker, worker

Endpoint = Callable[[Worker, HTTPScope, ASGIReceiveCallable, ASGISendCallable], Awaitable[None]]

ENDPOINTS: dict[str, tuple[str, Endpoint]] = {
    "/v1/models": ("GET", model_list),
    **{known.path: ("POST", partial(model_call, known)) for known in WIRE_FORMATS},
}


async def application(scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Answer one request. Every error is told in the client's wire format."""
    try:
        await _endpoint(scope)(worker, scope, receive, send)
    except http.ClientGone:
        return
    except ClientFacingError as error:
        await http.respond(send, *format_of(scope["path"]).error_answer(error))


def _endpoint(scope: HTTPScope) -> Endpoint:
    method, endpoint = ENDPOINTS.get(scope["path"].rstrip("/"), ("", None))
    if endpoint is None:
        raise RequestError(404, f"There is no {scope['path']} here.", code="unknown_url")
    if method != scope["method"]:
        message = f"{scope['path']} takes {method}, not {scope['method']}."
        raise RequestError(405, message, code="method_not_allowed", headers={"allow": method})
    return endpoint
