"""Pages of lists and figures are read from the replica, except for those who have just changed something."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar

from django.http import HttpRequest, HttpResponse, HttpResponseBase

from streamviz.dashboard.cookies import keep
from streamviz.dashboard.middleware import of_each_response
from streamviz.records import replica

COOKIE = "changed"
# A replica that is further behind is not read from, and what is known of its lag may be a little old.
COOKIE_SECONDS = replica.MOST_LAG_SECONDS + replica.FRESH_SECONDS
_SAFE = {"GET", "HEAD", "OPTIONS", "TRACE"}

T = TypeVar("T")
View = Callable[..., HttpResponse]


def from_replica(view: View) -> View:
    """Makes a view that only reads do so from the replica, or from the primary if that fails."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return reader(request)(partial(view, request, *args, **kwargs))

    return answer


def reader(request: HttpRequest) -> Callable[[Callable[[], T]], T]:
    """Runs queries for this request: on the replica, or on the primary for somebody who has just changed something."""
    return _on_primary if COOKIE in request.COOKIES else replica.read


def _on_primary(ask: Callable[[], T]) -> T:
    return ask()


@of_each_response
def changes_marked(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Sets a cookie for a browser that may have changed something, so that every server reads its lists from the
    primary until the replica has the change, too."""
    if replica.is_set() and request.method not in _SAFE:
        keep(response, COOKIE, "1", COOKIE_SECONDS)
    return response
