"""Through how many servers of streamviz a call has come. Where a route, or the address of a provider, leads back here,
it would call itself for as long as its client waits."""

from asgiref.typing import HTTPScope

from streamviz.core.errors import RequestError
from streamviz.core.json_value import as_index
from streamviz.proxy import http

HOPS = "x-streamviz-hops"
# One may well stand before another.
_MOST = 5


def require_few(scope: HTTPScope) -> None:
    """Raises RequestError (400, as clients would try a 508 again) where a call has come through too many."""
    if _hops(scope) >= _MOST:
        message = (
            f"This call has come through {_MOST} servers of streamviz: the route of its model, or the address of its"
            " provider, leads back to one of them."
        )
        raise RequestError(400, message, code="loop")


def onward(scope: HTTPScope) -> dict[str, str]:
    """The header that tells upstream of this call, as that may be this server again."""
    return {HOPS: str(_hops(scope) + 1)}


def _hops(scope: HTTPScope) -> int:
    return as_index(http.header(scope, HOPS.encode())) or 0
