"""What people do with a session: star it, write a note, export it, delete it."""

import uuid
from collections.abc import AsyncIterator, Iterator
from itertools import islice

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.contrib.admin.models import CHANGE, DELETION, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import aget_object_or_404, get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from streamviz.dashboard import roles
from streamviz.dashboard.forms import NoteForm, wrong_with
from streamviz.dashboard.pages import needs, signed_in_user
from streamviz.live.presentation.text import plural
from streamviz.records.deletion import delete_session as delete_recorded
from streamviz.records.exporting import export
from streamviz.records.models import Session

_LINES_AT_ONCE = 200


@needs(roles.CHANGE_SESSION)
@require_POST
def star_session(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """Give a session a star, which keeps it from retention, or take it away."""
    found = get_object_or_404(Session, pk=session_id)
    is_starred = request.POST.get("starred") == "yes"
    with transaction.atomic():
        Session.objects.filter(pk=found.pk).update(is_starred=is_starred)
        _note_change(request, session_id, CHANGE, "starred" if is_starred else "no longer starred")
    return redirect("session", session_id)


@needs(roles.CHANGE_SESSION)
@require_POST
def note_session(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """Keep a note with a session; an empty one is none."""
    form = NoteForm(request.POST)
    found = get_object_or_404(Session, pk=session_id)
    if not form.is_valid():
        messages.error(request, wrong_with(form))
        return redirect("session", session_id)
    with transaction.atomic():
        Session.objects.filter(pk=found.pk).update(note=form.cleaned_data["note"])
        _note_change(request, session_id, CHANGE, "note")
    return redirect("session", session_id)


@needs(roles.DELETE_SESSION)
@require_POST
def delete_session(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """Delete a session with all that is recorded of it. There is no way back."""
    get_object_or_404(Session, pk=session_id)
    with transaction.atomic():
        streams = delete_recorded(session_id)
        _note_change(request, session_id, DELETION, plural(streams, "stream"))
    messages.success(request, f"The session was deleted, with {plural(streams, 'stream')}.")
    return redirect("sessions")


def _note_change(request: HttpRequest, session_id: uuid.UUID, what: int, words: str) -> None:
    """In the admin's log, which outlives the session: so its id alone, and nothing that it said."""
    LogEntry.objects.create(
        user=signed_in_user(request),
        content_type=ContentType.objects.get_for_model(Session),
        object_id=str(session_id),
        object_repr=f"session {session_id}",
        action_flag=what,
        change_message=words,
    )


@needs(roles.VIEW)
@require_safe
async def export_session(request: HttpRequest, session_id: uuid.UUID) -> HttpResponseBase:
    """A session as lines of JSON, as `manage.py export` writes them; streams that still run are left out."""
    await aget_object_or_404(Session, pk=session_id)
    name = f'attachment; filename="session-{session_id}.jsonl"'
    lines = _in_threads(export([session_id]))
    return StreamingHttpResponse(
        lines, content_type="application/jsonl; charset=utf-8", headers={"Content-Disposition": name}
    )


async def _in_threads(lines: Iterator[bytes]) -> AsyncIterator[bytes]:
    """So many at once as are worth a thread's turn; the event loop serves streams in between."""
    while some := await sync_to_async(lambda: list(islice(lines, _LINES_AT_ONCE)))():
        yield b"".join(some)
