"""The ASGI application of everything under /v1/."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope

from streamviz.core.errors import ClientFacingError, InternalError, RequestError
from streamviz.proxy import count_tokens, http, model_list
from streamviz.proxy.calls import model_call
from streamviz.proxy.formats import WIRE_FORMATS, format_of
from streamviz.proxy.worker import Worker, worker

log = logging.getLogger(__name__)

Endpoint = Callable[[Worker, HTTPScope, ASGIReceiveCallable, ASGISendCallable], Awaitable[None]]

ENDPOINTS: dict[str, tuple[str, Endpoint]] = {
    model_list.PATH: ("GET", model_list.model_list),
    count_tokens.PATH: ("POST", count_tokens.token_count),
    **{known.path: ("POST", partial(model_call, known)) for known in WIRE_FORMATS},
}
ONE_MODEL: tuple[str, Endpoint] = ("GET", model_list.one_model)


async def application(scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Answer one request. Every error is told in the client's wire format, as long as no answer has begun."""
    answering = http.Answering(send)
    try:
        await _endpoint(scope)(worker, scope, receive, answering)
    except http.ClientGone:
        return
    except http.CannotEnd as error:
        # The server cuts the connection of an answer that is left unfinished.
        log.warning("%s was cut off: %s", scope["path"], error)
    except ClientFacingError as error:
        await _tell(scope, send, error)
    except Exception:
        if answering.has_begun:
            raise
        log.exception("%s %s failed", scope["method"], scope["path"])
        await _tell(scope, send, InternalError())


async def _tell(scope: HTTPScope, send: ASGISendCallable, error: ClientFacingError) -> None:
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
