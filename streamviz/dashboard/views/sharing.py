"""Public links: made and revoked by those who may, and what strangers see of a record by them."""

import uuid
from dataclasses import replace
from datetime import timedelta

from django.conf import settings
from django.contrib.admin.models import ADDITION, CHANGE
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from streamviz.dashboard import conversations, roles
from streamviz.dashboard.pages import needs, note_change, signed_in_user
from streamviz.live.presentation.conversation import TurnView, conversation_of
from streamviz.live.presentation.said_parts import calls_of
from streamviz.records.models import PublicLink, Session, Stream
from streamviz.records.queries.pages import Place

_MOST_DAYS = 90
_MOST_LISTED = 200
# Nothing runs there, nothing is fetched but our own stylesheets, and no address tells another site the link.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
}


@needs(roles.SHARE)
@require_POST
@never_cache
def share_session(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """Make a link to a session, and show it: nobody sees it again."""
    return _share(request, get_object_or_404(Session, pk=session_id))


@needs(roles.SHARE)
@require_POST
@never_cache
def share_stream(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """Make a link to a stream, and show it."""
    return _share(request, get_object_or_404(Stream, pk=stream_id))


def _share(request: HttpRequest, of: Session | Stream) -> HttpResponse:
    if not settings.PUBLIC_LINKS:
        raise PermissionDenied
    days = request.POST.get("days", "")
    lasts = timedelta(days=min(int(days), _MOST_DAYS) if days.isdecimal() and len(days) < 4 else 1)
    link, secret = PublicLink.objects.issue(of, signed_in_user(request), lasts)
    note_change(request, link, ADDITION, f"public link to {of._meta.model_name} {of.pk}")
    return _links(request, request.build_absolute_uri(reverse("shared", args=[secret])))


@needs(roles.SHARE)
@require_safe
def public_links(request: HttpRequest) -> HttpResponse:
    """The links that were made, the newest first."""
    return _links(request)


def _links(request: HttpRequest, made: str = "") -> HttpResponse:
    rows = PublicLink.objects.select_related("session", "stream__session", "created_by")[:_MOST_LISTED]
    context = {"page": "sessions", "rows": rows, "made": made, "is_allowed": settings.PUBLIC_LINKS}
    return render(request, "dashboard/public_links.html", context)


@needs(roles.SHARE)
@require_POST
def revoke_link(request: HttpRequest, link_id: int) -> HttpResponse:
    """From now on the link leads nowhere."""
    link = get_object_or_404(PublicLink, pk=link_id)
    link.revoke()
    note_change(request, link, CHANGE, "revoked")
    return redirect("public_links")


@require_safe
@never_cache
def shared(request: HttpRequest, secret: str) -> HttpResponse:
    """What a stranger may read who has a link: one conversation, without a way to anything else."""
    link = PublicLink.objects.opened_by(secret)
    if link is None:
        raise Http404("No such link.")
    session = link.stream.session if link.stream else link.session
    if session is None:
        raise Http404("No such link.")
    turns, is_cut = _turns(session, link.stream)
    # A session's label is what its first request says, which is another stream's perhaps.
    title = "A recorded stream" if link.stream else session.label or "A recorded session"
    context = {"link": link, "turns": turns, "is_cut": is_cut, "title": title}
    page = render_to_string("dashboard/shared.html", context, request)
    return HttpResponse(page, headers=_HEADERS)


def _turns(session: Session, only: Stream | None) -> tuple[list[TurnView], bool]:
    """The turns of a session as far as a page has room, or the one of a stream."""
    before = Place(only.requested_at - timedelta(microseconds=1), only.pk) if only else None
    turns = conversations.turns_of(session, before)
    shown = [turn for turn in turns.all if only is None or turn.stream == only.pk]
    sources = conversations.sources_of(turns, shown)
    calls = calls_of((turn, turns.views[turn.stream]) for turn in shown)
    told = [_without_names(turn) for turn in conversation_of(sources, calls)]
    return told, only is None and turns.following is not None


def _without_names(turn: TurnView) -> TurnView:
    """With what a person decided, and not who that was. When is left out too: no script there keeps it true."""
    badges = [
        badge._replace(word=f"{badge.word.split(maxsplit=1)[0]} by hand", since_ms=None) if badge.is_by_hand else badge
        for badge in turn.badges
    ]
    return replace(turn, badges=badges)
