"""How many servers of streamviz a call has come through. If a route, or a provider's address, leads back here, a call
would otherwise call itself for as long as its client waits."""

from asgiref.typing import HTTPScope

from streamviz.core.errors import RequestError
from streamviz.core.json_value import as_index
from streamviz.proxy import http

HOPS = "x-streamviz-hops"
# One server may well be in front of another.
_MOST = 5


def require_few(scope: HTTPScope) -> None:
    """Raises RequestError if a call has come through too many servers; 400, as clients would retry a 508."""
    if _hops(scope) >= _MOST:
        message = (
            f"This call has passed through {_MOST} streamviz servers: the route of its model, or the address of its"
            " provider, leads back to one of them."
        )
        raise RequestError(400, message, code="loop")


def onward(scope: HTTPScope) -> dict[str, str]:
    """The header that tells upstream about this hop, as upstream may be this server again."""
    return {HOPS: str(_hops(scope) + 1)}


def _hops(scope: HTTPScope) -> int:
    return as_index(http.header(scope, HOPS.encode())) or 0
