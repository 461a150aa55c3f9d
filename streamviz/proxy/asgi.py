"""The ASGI application for everything that clients of models call."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope

from streamviz.core.errors import ClientFacingError, InternalError, RequestError
from streamviz.core.wire import ANTHROPIC_MESSAGES, EMBEDDINGS, WIRE_FORMATS
from streamviz.proxy import cors, count_tokens, hops, http, model_list
from streamviz.proxy.calls import model_call
from streamviz.proxy.destinations import METHODS
from streamviz.proxy.embeddings import embeddings
from streamviz.proxy.gemini import gemini_call
from streamviz.proxy.pass_through import pass_through
from streamviz.proxy.paths import canonical, format_of, is_gemini_call, meant_by, no_such
from streamviz.proxy.refusals import refused
from streamviz.proxy.worker import Worker, worker

log = logging.getLogger(__name__)

Endpoint = Callable[[Worker, HTTPScope, ASGIReceiveCallable, ASGISendCallable], Awaitable[None]]

ENDPOINTS: dict[str, tuple[str, Endpoint]] = {
    **{known.path: ("POST", partial(model_call, known)) for known in WIRE_FORMATS.values() if known.providers},
    # These replace the entry of Gemini's calls, whose paths go on below them.
    **dict.fromkeys(model_list.PATHS, ("GET", model_list.model_list)),
    EMBEDDINGS.path: ("POST", embeddings),
    count_tokens.PATH: ("POST", partial(count_tokens.token_count, ANTHROPIC_MESSAGES)),
}
GEMINI_CALL: tuple[str, Endpoint] = ("POST", gemini_call)
ONE_MODEL: tuple[str, Endpoint] = ("GET", model_list.one_model)


async def application(scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Answer one request. Errors are in the client's wire format, unless an answer has already begun."""
    scope = {**scope, "path": canonical(scope["path"])}
    header = partial(http.header, scope)
    if cors.is_preflight(scope["method"], header):
        await http.respond(send, 204, cors.preflight_headers(header), b"")
        return
    send = cors.fitting(scope["method"], header, send)
    answering = http.Answering(send)
    try:
        http.require_plain_headers(scope)
        hops.require_few(scope)
        await _endpoint(scope)(worker, scope, receive, answering)
    except http.ClientGone:
        return
    except http.CannotEnd as error:
        # The server cuts the connection when an answer is left unfinished.
        log.warning("%s was cut off: %s", scope["path"], error)
    except ClientFacingError as error:
        await _tell(scope, send, error)
    except Exception:
        if answering.has_begun:
            raise
        log.exception("%s %s failed", scope["method"], scope["path"])
        await _tell(scope, send, InternalError())


async def _tell(scope: HTTPScope, send: ASGISendCallable, error: ClientFacingError) -> None:
    wire_format = format_of(scope["path"], partial(http.header, scope))
    status, headers, body = wire_format.error_answer(error)
    await http.respond(send, status, {**headers, **refused(scope, scope["path"], error)}, body)


def _endpoint(scope: HTTPScope) -> Endpoint:
    path, is_reading = scope["path"].rstrip("/"), scope["method"] in ("GET", "HEAD")
    found = GEMINI_CALL if is_gemini_call(path) and not is_reading else _other(path, is_reading=is_reading)
    if found is None and path.startswith("/v1/") and scope["method"] in METHODS and not meant_by(path):
        return pass_through
    if found is None:
        raise no_such(scope["path"])
    method, endpoint = found
    if method != scope["method"] and (method, scope["method"]) != ("GET", "HEAD"):
        message = f"{scope['path']} takes {method}, not {scope['method']}."
        raise RequestError(405, message, code="method_not_allowed", headers={"allow": method})
    return endpoint


def _other(path: str, *, is_reading: bool) -> tuple[str, Endpoint] | None:
    own, *googles = (path.startswith(f"{each}/") for each in model_list.PATHS)
    # A provider may delete a model of its own. In Google's paths a colon is part of a name only if the request reads.
    is_model = (own or any(googles)) if is_reading else (any(googles) and ":" not in path)
    return ONE_MODEL if is_model else ENDPOINTS.get(path)
