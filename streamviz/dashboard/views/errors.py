"""Pages for what went wrong, in the look of the others."""

import logging
import sys

from django.core.exceptions import DisallowedHost
from django.db import DataError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from streamviz.dashboard import roles
from streamviz.dashboard.pages import NotFoundHere, is_part
from streamviz.records.archive.bucket import ChunksAway
from streamviz.records.database import is_away

log = logging.getLogger(__name__)

_LIVE = "live"


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400; a host that is none of ours is named in the log alone."""
    if isinstance(exception, DisallowedHost):
        log.warning(
            "refused a request for the host %.200r: it is not among ALLOWED_HOSTS", request.META.get("HTTP_HOST", "")
        )
        advice = "streamviz does not answer to this host's name. Its administrator can add it to ALLOWED_HOSTS."
        return _page(request, 400, "Unknown host", advice)
    return _page(request, 400, "Bad request", "Go back and try again.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403; where the first page is asked for, that which somebody may see is their first. Whoever may see nothing at
    all can only sign out: every page would lead here again."""
    home = _home(request)
    if home and request.path_info == "/":
        return redirect(home)
    said = "You don't have permission to do that", "Ask an administrator for a role that has it."
    if not home:
        said = "Your account has no role yet", "Ask an administrator to give it one, then reload this page."
    return _page(request, 403, *said, home=home)


def stale_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403, for a form without the token that its page gave it: that of another sign-in, or of another site."""
    if is_part(request):
        return _page(request, 403, "This page is out of date", "Reload it and try again.")
    return _page(request, 403, "This form has expired", "Go back, reload the page and send it again.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404; 503 while it may be at another server, none of which can be reached."""
    if isinstance(exception, NotFoundHere):
        return _page(request, 503, "Other servers cannot be reached", "This may be on one of them. Try again later.")
    said = "Page not found", "It may have been deleted, or the address is wrong."
    return _page(request, 404, *said, home=_home(request) or _LIVE)


def server_error(request: HttpRequest) -> HttpResponse:
    """500, or 503 where Postgres or the archive could not answer, or 400 where it was asked for what no column can
    hold, as the admin lets its filters be. Nothing that could fail again, neither the database nor the user, may be
    asked here."""
    if isinstance(error := sys.exception(), DataError):
        return bad_request(request, error)
    if isinstance(error, ChunksAway):
        return _page(
            request, 503, "Chunks cannot be read now", f"They are in the archive, and {error}. Try again later."
        )
    if is_away(error):
        advice = "Streams keep running and are recorded. Try again in a moment."
        return _page(request, 503, "Postgres does not answer", advice)
    return _page(request, 500, "Something went wrong", "See the server's log. Streams are not affected.")


def _home(request: HttpRequest) -> str:
    """Strangers are asked to sign in wherever they go."""
    return roles.home_of(request.user) if request.user.is_authenticated else _LIVE


def _page(request: HttpRequest, status: int, title: str, advice: str, *, home: str = _LIVE) -> HttpResponse:
    """A line where a script asks, which has a line's room to say so."""
    if is_part(request):
        return HttpResponse(f"{title}. {advice}", status=status, content_type="text/plain")
    context = {"status": status, "title": title, "advice": advice, "home": home, "home_name": home.partition(":")[0]}
    return render(request, "dashboard/error.html", context, status=status)
