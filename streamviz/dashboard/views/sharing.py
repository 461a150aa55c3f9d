"""Public links: making and revoking them."""

import uuid
from datetime import timedelta

from django.conf import settings
from django.contrib.admin.models import ADDITION, CHANGE
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from streamviz.dashboard import roles
from streamviz.dashboard.pages import needs, note_change, signed_in_user
from streamviz.records.models import PublicLink, Session, Stream

_MOST_DAYS = 90
_MOST_LISTED = 200


@needs(roles.SHARE, roles.VIEW)
@require_POST
@never_cache
def share_session(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """Make a link to a session and show it, the only time that anybody sees it."""
    return _share(request, get_object_or_404(Session, pk=session_id))


@needs(roles.SHARE, roles.VIEW)
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


@needs(roles.SHARE, roles.VIEW)
@require_safe
def public_links(request: HttpRequest) -> HttpResponse:
    """The links that were made, newest first."""
    return _links(request)


def _links(request: HttpRequest, made: str = "") -> HttpResponse:
    rows = PublicLink.objects.select_related("session", "stream__session", "created_by")[:_MOST_LISTED]
    context = {"page": "sessions", "rows": rows, "made": made, "is_allowed": settings.PUBLIC_LINKS}
    return render(request, "dashboard/public_links.html", context)


@needs(roles.SHARE, roles.VIEW)
@require_POST
def revoke_link(request: HttpRequest, link_id: int) -> HttpResponse:
    """Revoke a link: from now on it leads nowhere."""
    link = get_object_or_404(PublicLink, pk=link_id)
    link.revoke()
    note_change(request, link, CHANGE, "revoked")
    return redirect("public_links")
