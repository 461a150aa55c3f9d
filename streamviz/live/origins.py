"""Which pages may open a websocket: only our own, by scheme, host and port."""

import logging
from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host

from streamviz.asgi_types import Application, Message, Receive, Send

log = logging.getLogger(__name__)

_SCHEMES = {"ws": "http", "wss": "https"}


class OwnOrigin:
    """Refuses a websocket that another site's page opens, as Django refuses a form that one submits."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if is_own(scope):
            await self._application(scope, receive, send)
        else:
            log.warning(
                "refused a websocket from a page of %.200r to the host %.200r: not allowed by "
                "ALLOWED_HOSTS and CSRF_TRUSTED_ORIGINS",
                _header(scope, b"origin"),
                _header(scope, b"host"),
            )
            await WebsocketDenier()(scope, receive, send)


def is_own(scope: dict[str, Any]) -> bool:
    """Whether the page comes from the very server that the websocket is opened to, or from a trusted origin."""
    origin, host = _header(scope, b"origin").lower(), _header(scope, b"host").lower()
    if not validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
        return False
    return origin == f"{_SCHEMES[scope.get('scheme', 'ws')]}://{host}" or any(
        _matches(origin, trusted.lower()) for trusted in settings.CSRF_TRUSTED_ORIGINS
    )


def _matches(origin: str, trusted: str) -> bool:
    """`https://*.example` matches every host below it, as for Django's forms."""
    scheme, _, host = trusted.partition("://")
    if not host.startswith("*."):
        return origin == trusted
    asked = urlsplit(origin)
    return asked.scheme == scheme and asked.netloc.endswith(host.removeprefix("*"))


def _header(scope: dict[str, Any], name: bytes) -> str:
    """The header's value; empty if it is missing or occurs more than once."""
    values = [value.decode("latin-1") for key, value in scope["headers"] if key == name]
    return values[0] if len(values) == 1 else ""
