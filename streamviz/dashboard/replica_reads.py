"""Pages of lists and figures are read from the replica, except for those who have just changed something."""

from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import Any, TypeVar

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from streamviz.dashboard.middleware import GetResponse
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


@sync_and_async_middleware
def changes_marked(get_response: GetResponse) -> GetResponse:
    """Sets a cookie for a browser that may have changed something, so that every server reads its lists from the
    primary until the replica has the change, too."""

    async def answer_async(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        assert isinstance(response, Awaitable)
        return _marked(request, await response)

    def answer(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        assert isinstance(response, HttpResponseBase)
        return _marked(request, response)

    return answer_async if iscoroutinefunction(get_response) else answer


def _marked(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    if replica.is_set() and request.method not in _SAFE:
        response.set_cookie(
            COOKIE,
            "1",
            max_age=COOKIE_SECONDS,
            path=settings.SESSION_COOKIE_PATH,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    return response
