"""Refusing requests before their bodies are read."""

from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import cast
from urllib.parse import unquote

from asgiref.typing import HTTPScope

from streamviz.core.errors import ClientFacingError, RequestError, Unavailable
from streamviz.core.wire import WIRE_FORMATS
from streamviz.proxy import http
from streamviz.proxy.cors import headers_for
from streamviz.proxy.paths import canonical, format_of, is_gemini_call, is_ours, no_such
from streamviz.proxy.recognising import is_the_proxys
from streamviz.proxy.refusals import note, refused
from streamviz.proxy.unpacking import require_known
from streamviz.proxy.worker import Worker

# The same as in streamviz/serving/gate.py, which only a server may import: it makes the process's event loop Twisted's.
Headers = Sequence[tuple[bytes, bytes]]
Passage = Callable[[int], bytes | None]
# No form of the pages is longer.
MOST_OF_A_FORM = 8 * 1024 * 1024
_MOST_OF_A_PATH = 1_000
_MALFORMED = {
    400: "The request is not valid HTTP.",
    414: "The request's address is too long.",
    431: "The request's headers are too long.",
}
_RECORDED = frozenset(known.path for known in WIRE_FORMATS.values())


def passage(worker: Worker, target: bytes, headers: Headers, client: str = "") -> Passage:
    """Check a request's head, and return a function that refuses the body by its length: any body at all if the head is
    wrong. `client` is its address."""
    named, _, query = target.partition(b"?")
    path = canonical(unquote(named.decode("latin-1")))
    scope = _scope(path, headers, query, client)
    if not is_ours(path):
        return partial(_form, path, scope)
    try:
        worker.authenticate(scope)
        require_known(http.header(scope, b"content-encoding"))
        if path.rstrip("/") in _RECORDED or (is_gemini_call(path) and not path.endswith(":countTokens")):
            worker.require_record()
    except ClientFacingError as error:
        answer = _told(error, path, scope)
        return lambda length: answer
    return partial(_call, path, scope)


def malformed(target: bytes, status: int, why: str = "", headers: Headers = ()) -> bytes:
    """The response to a request that is not HTTP (400), whose request line (414) or headers (431) are longer than the
    server takes, or for whose body there is no room (503, and why). Often only the path tells in which format its
    client expects it."""
    path = _path(target)
    error = _refusal(status, why)
    if is_ours(path):
        return _told(error, path, _scope(path, headers))
    if not path:  # nothing else could be read, as from a client that speaks TLS
        note(_scope(path, headers), path, error)
    return _response(status, {"content-type": "text/plain"}, error.message.encode() + b"\n")


def _refusal(status: int, why: str) -> ClientFacingError:
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        return Unavailable(why)
    code = "malformed" if status == HTTPStatus.BAD_REQUEST else "too_large"
    return RequestError(status, why or _MALFORMED[status], code=code)


def no_websocket(target: bytes, headers: Headers) -> bytes | None:
    """The response that refuses a websocket where models are called; None elsewhere. Codex asks for one first if it
    takes us for OpenAI itself. After a 426 it calls over HTTP; after anything else it retries several times first."""
    path = _path(target)
    if not is_ours(path):
        return None
    said = "Models are called over HTTP here, not over a websocket."
    error = RequestError(426, said, code="upgrade_required", headers={"upgrade": "HTTP/1.1"})
    return _told(error, path, _scope(path, headers))


def _scope(path: str, headers: Headers, query: bytes = b"", client: str = "") -> HTTPScope:
    """The scope of a request whose body was not read."""
    known: dict[str, object] = {"method": "POST", "headers": headers, "path": path, "query_string": query}
    known["client"] = (client, 0) if client else None
    return cast(HTTPScope, known)


def _path(target: bytes) -> str:
    return canonical(unquote(target.partition(b"?")[0].decode("latin-1"))[:_MOST_OF_A_PATH])


def _form(path: str, scope: HTTPScope, length: int) -> bytes | None:
    if length <= MOST_OF_A_FORM:
        return None
    if is_the_proxys(scope):
        return _told(no_such(path), path, scope)
    return _response(413, {"content-type": "text/plain"}, b"Too large.\n")


def _call(path: str, scope: HTTPScope, length: int) -> bytes | None:
    try:
        http.require_length(length)
    except ClientFacingError as error:
        return _told(error, path, scope)
    return None


def _told(error: ClientFacingError, path: str, scope: HTTPScope) -> bytes:
    header = partial(http.header, scope)
    status, headers, body = format_of(path, header).error_answer(error)
    return _response(status, {**headers, **refused(scope, path, error), **headers_for(header)}, body)


def _response(status: int, headers: dict[str, str], body: bytes) -> bytes:
    connection = "close, upgrade" if "upgrade" in headers else "close"
    always = {"content-length": str(len(body)), "connection": connection, "x-content-type-options": "nosniff"}
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{k}: {v}" for k, v in {**headers, **always}.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body
