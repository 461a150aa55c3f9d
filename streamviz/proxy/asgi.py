"""The ASGI application of everything under /v1/."""

from collections.abc import Awaitable, Callable
from functools import partial

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope

from streamviz.core.errors import ClientFacingError, RequestError
from streamviz.proxy import count_tokens, http, model_list
from streamviz.proxy.calls import model_call
from streamviz.proxy.formats import WIRE_FORMATS, format_of
from streamviz.proxy.worker import Worker, worker

Endpoint = Callable[[Worker, HTTPScope, ASGIReceiveCallable, ASGISendCallable], Awaitable[None]]

ENDPOINTS: dict[str, tuple[str, Endpoint]] = {
    model_list.PATH: ("GET", model_list.model_list),
    count_tokens.PATH: ("POST", count_tokens.token_count),
    **{known.path: ("POST", partial(model_call, known)) for known in WIRE_FORMATS},
}
ONE_MODEL: tuple[str, Endpoint] = ("GET", model_list.one_model)


async def application(scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Answer one request. Every error is told in the client's wire format."""
    try:
        await _endpoint(scope)(worker, scope, receive, send)
    except http.ClientGone:
        return
    except ClientFacingError as error:
        wire_format = format_of(scope["path"], speaks_anthropic=bool(http.header(scope, b"anthropic-version")))
        await http.respond(send, *wire_format.error_answer(error))


def _endpoint(scope: HTTPScope) -> Endpoint:
    path = scope["path"].rstrip("/")
    found = ONE_MODEL if path.startswith(f"{model_list.PATH}/") else ENDPOINTS.get(path)
    if found is None:
        raise RequestError(404, f"There is no {scope['path']} here.", kind="not_found_error", code="unknown_url")
    method, endpoint = found
    if method != scope["method"]:
        message = f"{scope['path']} takes {method}, not {scope['method']}."
        raise RequestError(405, message, code="method_not_allowed", headers={"allow": method})
    return endpoint
