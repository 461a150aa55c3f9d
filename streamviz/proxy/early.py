"""What is refused of a request before its body is taken."""

from http import HTTPStatus
from typing import cast
from urllib.parse import unquote

from asgiref.typing import HTTPScope

from streamviz.core.errors import ClientFacingError
from streamviz.proxy import http
from streamviz.proxy.formats import WIRE_FORMATS, format_of
from streamviz.proxy.worker import Worker

Headers = list[tuple[bytes, bytes]]
# No form of the pages is longer.
MOST_OF_A_FORM = 8 * 1024 * 1024
_RECORDED = frozenset(known.path for known in WIRE_FORMATS)


def refusal(worker: Worker, target: bytes, headers: Headers, length: int) -> bytes | None:
    """The whole response that refuses a request, None where it may go on. `length` is of the body, in bytes."""
    path = unquote(target.partition(b"?")[0].decode("latin-1"))
    if not path.startswith("/v1/"):
        return None if length <= MOST_OF_A_FORM else _response(413, {"content-type": "text/plain"}, b"Too large.\n")
    scope = cast(HTTPScope, {"headers": headers})
    try:
        worker.authenticate(scope)
        http.require_plain(http.header(scope, b"content-encoding"))
        http.require_length(length)
        if path.rstrip("/") in _RECORDED:
            worker.require_record()
    except ClientFacingError as error:
        wire_format = format_of(path, speaks_anthropic=bool(http.header(scope, b"anthropic-version")))
        return _response(*wire_format.error_answer(error))
    return None


def _response(status: int, headers: dict[str, str], body: bytes) -> bytes:
    always = {"content-length": str(len(body)), "connection": "close", "x-content-type-options": "nosniff"}
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{k}: {v}" for k, v in {**headers, **always}.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body
