"""What is refused of a request before its body is taken."""

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import cast
from urllib.parse import unquote

from asgiref.typing import HTTPScope

from streamviz.core.errors import ClientFacingError
from streamviz.proxy import http
from streamviz.proxy.formats import WIRE_FORMATS, format_of
from streamviz.proxy.worker import Worker

# As streamviz/gate.py has them, which only a server may import: it makes the process's event loop Twisted's.
Headers = list[tuple[bytes, bytes]]
Passage = Callable[[int], bytes | None]
# No form of the pages is longer.
MOST_OF_A_FORM = 8 * 1024 * 1024
_RECORDED = frozenset(known.path for known in WIRE_FORMATS)


def passage(worker: Worker, target: bytes, headers: Headers) -> Passage:
    """Looks at a request's head, and gives what refuses its body by length: any at all, where the head is wrong."""
    path = unquote(target.partition(b"?")[0].decode("latin-1"))
    if not path.startswith("/v1/"):
        return _form
    scope = cast(HTTPScope, {"headers": headers})
    try:
        worker.authenticate(scope)
        http.require_plain(http.header(scope, b"content-encoding"))
        if path.rstrip("/") in _RECORDED:
            worker.require_record()
    except ClientFacingError as error:
        refused = _told(error, path, scope)
        return lambda length: refused
    return partial(_call, path, scope)


def _form(length: int) -> bytes | None:
    return None if length <= MOST_OF_A_FORM else _response(413, {"content-type": "text/plain"}, b"Too large.\n")


def _call(path: str, scope: HTTPScope, length: int) -> bytes | None:
    try:
        http.require_length(length)
    except ClientFacingError as error:
        return _told(error, path, scope)
    return None


def _told(error: ClientFacingError, path: str, scope: HTTPScope) -> bytes:
    wire_format = format_of(path, speaks_anthropic=bool(http.header(scope, b"anthropic-version")))
    return _response(*wire_format.error_answer(error))


def _response(status: int, headers: dict[str, str], body: bytes) -> bytes:
    always = {"content-length": str(len(body)), "connection": "close", "x-content-type-options": "nosniff"}
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{k}: {v}" for k, v in {**headers, **always}.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body
