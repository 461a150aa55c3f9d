"""What people do with a session: star it, write a note, delete it."""

import uuid

from django.contrib import messages
from django.contrib.admin.models import CHANGE, DELETION
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from streamviz.dashboard import roles
from streamviz.dashboard.forms import NoteForm, wrong_with
from streamviz.dashboard.pages import back_to, needs, note_change
from streamviz.live.presentation.figures import plural
from streamviz.records.deletion import delete_session as delete_recorded
from streamviz.records.models import Session


@needs(roles.CHANGE_SESSION)
@require_POST
def star_session(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """Star a session, which keeps it from retention, or remove its star."""
    found = get_object_or_404(Session, pk=session_id)
    is_starred = request.POST.get("starred") == "yes"
    with transaction.atomic():
        Session.objects.filter(pk=found.pk).update(is_starred=is_starred)
        note_change(request, found, CHANGE, "starred" if is_starred else "no longer starred")
    return back_to(request, "session", session_id)


@needs(roles.CHANGE_SESSION)
@require_POST
def note_session(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """Save a note with a session; an empty one removes it."""
    form = NoteForm(request.POST)
    if not form.is_valid():
        messages.error(request, wrong_with(form))
        return back_to(request, "session", session_id)
    with transaction.atomic():
        found = get_object_or_404(Session.objects.select_for_update(), pk=session_id)
        Session.objects.filter(pk=found.pk).update(note=form.merged(found.note))
        note_change(request, found, CHANGE, "note")
    if form.notice:
        messages.warning(request, form.notice)
    return back_to(request, "session", session_id)


@needs(roles.DELETE_SESSION)
@require_POST
def delete_session(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """Delete a session with all that is recorded of it. This cannot be undone."""
    found = get_object_or_404(Session, pk=session_id)
    with transaction.atomic():
        streams = delete_recorded(session_id)
        note_change(request, found, DELETION, plural(streams, "stream"))
    messages.success(request, f"The session was deleted, with {plural(streams, 'stream')}.")
    return redirect("sessions")
