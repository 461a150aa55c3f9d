"""Past sessions, and one session's streams in order."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from streamviz.dashboard import queries, roles
from streamviz.dashboard.pages import needs
from streamviz.live.presentation.from_records import outline_of
from streamviz.live.presentation.rows import row_of
from streamviz.records.models import Session
from streamviz.records.queries.pages import Place
from streamviz.records.queries.search import SearchTooBroad


@needs(roles.VIEW)
@require_safe
def sessions(request: HttpRequest) -> HttpResponse:
    """The newest sessions first, a page at a time."""
    search = request.GET.get("q", "")[:200].replace("\x00", "")
    before = Place.read(request.GET.get("before", ""))
    context = {"page": "sessions", "search": search, "is_first": before is None}
    try:
        context["rows"], context["following"] = queries.session_page(search, before)
    except SearchTooBroad:
        context["is_too_broad"] = True
    return render(request, "dashboard/sessions.html", context)


@needs(roles.VIEW)
@require_safe
def session(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """The streams of one session."""
    found = get_object_or_404(Session.objects.select_related("key"), pk=session_id)
    page, following = queries.streams_of(found, Place.read(request.GET.get("after", "")))
    views = [outline_of(stream) for stream in page]
    context = {
        "page": "sessions",
        "session": found,
        "rows": [
            (row_of(view, view.requested_at), stream.requested_at) for view, stream in zip(views, page, strict=True)
        ],
        "totals": queries.with_totals([found])[0],
        "following": following,
    }
    return render(request, "dashboard/session.html", context)
