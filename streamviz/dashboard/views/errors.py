"""Pages for what went wrong, in the style of the others."""

import logging
import sys

from django.conf import settings
from django.core.exceptions import DisallowedHost, RequestDataTooBig
from django.db import DataError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from streamviz.dashboard import roles
from streamviz.dashboard.pages import NotFoundHere, is_part
from streamviz.live.presentation.figures import byte_size
from streamviz.records.archive.bucket import ChunksAway
from streamviz.records.database import give_back, is_away

log = logging.getLogger(__name__)

_LIVE = "live"


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400, or 413 if a form is too long; an unknown host is named only in the log."""
    if isinstance(exception, RequestDataTooBig):
        most = byte_size(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
        return _page(request, 413, "Too long", f"A form may have at most {most}.")
    if isinstance(exception, DisallowedHost):
        log.warning(
            "refused a request for the host %.200r: it is not among ALLOWED_HOSTS", request.META.get("HTTP_HOST", "")
        )
        advice = "streamviz does not answer to this host's name. Its administrator can add it to ALLOWED_HOSTS."
        return _page(request, 400, "Unknown host", advice)
    return _page(request, 400, "Bad request", "Go back and try again.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403; instead of the start page, redirects to the first page that the user may see. Those who may see nothing at
    all can only sign out: every page would lead back here."""
    home = _home(request)
    if home and request.path_info == "/":
        return redirect(home)
    said = "You don't have permission to do that", "Ask an administrator for a role that has it."
    if not home:
        said = "Your account has no role yet", "Ask an administrator to give it one, then reload this page."
    return _page(request, 403, *said, home=home)


def stale_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403, for a form without the token from its page: it is from another sign-in, or from another site."""
    if is_part(request):
        return _page(request, 403, "This page is out of date", "Reload it and try again.")
    return _page(request, 403, "This form has expired", "Go back, reload the page and send it again.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404; 503 if it may be at another server, and none can be reached."""
    if isinstance(exception, NotFoundHere):
        return _page(request, 503, "Other servers cannot be reached", "This may be on one of them. Try again later.")
    said = "Page not found", "It may have been deleted, or the address is wrong."
    home = _home(request)
    if not request.user.is_authenticated:
        return _page(request, 404, *said, way="Sign in")
    return _page(request, 404, *said, home=home or _LIVE)


def server_error(request: HttpRequest) -> HttpResponse:
    """500; 503 if Postgres or the archive could not answer; 400 if they were asked for something that no column can
    hold, as the admin allows in its filters. Nothing that could fail again may be used here, neither the database nor
    the user."""
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
    """The user's start page. Strangers are asked to sign in wherever they go."""
    try:
        return roles.home_of(request.user) if request.user.is_authenticated else _LIVE
    finally:
        # Django makes error pages in threads of their own and closes no connections there. After a restart of Postgres
        # they would all fail.
        give_back()


def _page(
    request: HttpRequest, status: int, title: str, advice: str, *, home: str = _LIVE, way: str = ""
) -> HttpResponse:
    """A page, or only a line if a script asks, which has no room for more. `way` labels the link to `home`."""
    if is_part(request):
        return HttpResponse(f"{title}. {advice}", status=status, content_type="text/plain")
    way = way or f"Go to {home.partition(':')[0].capitalize()}"
    context = {"status": status, "title": title, "advice": advice, "home": home, "way": way}
    return render(request, "dashboard/error.html", context, status=status)
