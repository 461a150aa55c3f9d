"""Whether a request is the proxy's or a page's."""

from asgiref.typing import HTTPScope
from django.conf import settings
from django.urls import is_valid_path

from streamviz.base_path import below
from streamviz.proxy.http import credentials, header
from streamviz.proxy.paths import canonical, is_a_clients, is_ours


def is_the_proxys(scope: HTTPScope) -> bool:
    """Whether the proxy answers this request, including one from a client of models for a path without a page: its
    errors are then in that client's format."""
    if is_ours(canonical(scope["path"])) or _sends_json(scope):
        return True
    path = below(scope["path"])
    is_a_page = path.startswith(below(settings.STATIC_URL)) or is_valid_path(path) or is_valid_path(f"{path}/")
    return not is_a_page and (is_a_clients(path) or bool(credentials(scope)))


def _sends_json(scope: HTTPScope) -> bool:
    """Whether it is no browser's: pages send forms."""
    kind = header(scope, b"content-type")
    return scope["method"] not in ("GET", "HEAD") and kind.lower().startswith("application/json")
