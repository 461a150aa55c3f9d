"""Which sites' pages may call models from a browser, and the headers that say so."""

from asgiref.typing import ASGISendCallable
from django.conf import settings

from streamviz.proxy import http

_DAY_SECONDS = 86_400


def is_preflight(method: str, header: http.Header) -> bool:
    """Whether a browser asks what it may do."""
    return method == "OPTIONS" and bool(header(b"origin")) and bool(header(b"access-control-request-method"))


def headers_for(header: http.Header) -> dict[str, str]:
    """The headers that tell a browser that its page may read the answer; none if the page may not."""
    origin = header(b"origin")
    if not origin or not _is_allowed(origin):
        return {}
    return {"access-control-allow-origin": origin, "access-control-expose-headers": "*", "vary": "origin"}


def fitting(method: str, header: http.Header, send: ASGISendCallable) -> ASGISendCallable:
    """A `send` that adds what browsers need, and leaves out the body if only the head was asked for."""
    if allowed := headers_for(header):
        send = http.adding(send, allowed)
    return http.without_body(send) if method == "HEAD" else send


def preflight_headers(header: http.Header) -> dict[str, str]:
    """The headers that tell a browser what it may send; none if its page may not call models."""
    allowed = headers_for(header)
    if not allowed:
        return {}
    asked = header(b"access-control-request-headers")
    return {
        **allowed,
        "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
        **({"access-control-allow-headers": asked} if asked else {}),
        "access-control-max-age": str(_DAY_SECONDS),
    }


def _is_allowed(origin: str) -> bool:
    return "*" in settings.CORS_ORIGINS or origin in settings.CORS_ORIGINS
