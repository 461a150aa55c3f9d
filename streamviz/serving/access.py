"""Access lines: what each request was and how it ended, without its query, which may contain a secret."""

import logging
import re
import time
from typing import Any
from urllib.parse import unquote

# A logger of its own, so that it can be switched separately: ACCESS_LOG.
log = logging.getLogger("streamviz.access")

# nginx's status for a client that left before there was an answer.
_LEFT = 499
_LONGEST_PATH = 200
_ID = b"x-request-id"
_AN_ID = re.compile(rb"[\w.:-]{1,100}")


def tell(request: Any) -> None:
    """Log a request of Daphne's that is over, once. A request that never was complete is not logged: what is refused
    before its body has come has a line of its own."""
    began_at = getattr(request, "request_start", None)
    if began_at is None or not log.isEnabledFor(logging.INFO):
        return
    # As it is served: in a path that is percent-encoded, secrets would not be found.
    path = unquote(bytes(request.uri).partition(b"?")[0].decode("latin-1"))[:_LONGEST_PATH]
    method = request.method.decode("latin-1")
    status = request.code if request._response_started else _LEFT
    seconds = round(time.time() - began_at, 6)
    fields = {
        "method": method,
        "path": path,
        "status": status,
        "seconds": seconds,
        "bytes": request.sentLength,
        "is_whole": bool(request.finished),
        "client": (request.client_addr or [""])[0],
        "request_id": _named(request.responseHeaders, b"x-request-id")
        or _named(request.requestHeaders, b"x-request-id"),
        "stream": _named(request.responseHeaders, b"x-streamviz-stream"),
    }
    said = {name: value for name, value in fields.items() if value != ""}
    log.info("%s %r %d in %.3f s", method, path, status, seconds, extra={"fields": said})


def _named(headers: Any, name: bytes) -> str:
    """The id in a header; empty if there is none, or if it is something else."""
    [value] = headers.getRawHeaders(name, [b""])[:1]
    return value.decode() if _AN_ID.fullmatch(value) else ""
