"""What people keep with a stream: a star, a note, labels."""

import uuid

from django.contrib import messages
from django.contrib.admin.models import CHANGE
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_POST

from streamviz.dashboard import roles
from streamviz.dashboard.forms import StreamNoteForm, wrong_with
from streamviz.dashboard.pages import back_to, needs, note_change
from streamviz.records.models import Annotation, Stream

_TABS = ("stream", "tapes", "chunks", "request_body")


@needs(roles.CHANGE_SESSION)
@require_POST
def star_stream(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """Star a stream, which keeps it from retention, or remove its star."""
    is_starred = request.POST.get("starred") == "yes"
    return _keep(request, stream_id, "starred" if is_starred else "no longer starred", is_starred=is_starred)


@needs(roles.CHANGE_SESSION)
@require_POST
def note_stream(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """Save a note and labels with a stream; empty ones remove them."""
    form = StreamNoteForm(request.POST)
    if not form.is_valid():
        messages.error(request, wrong_with(form))
        return _back(request, stream_id)
    with transaction.atomic():
        stream = get_object_or_404(Stream.objects.only("pk"), pk=stream_id)
        now, _ = Annotation.objects.select_for_update().get_or_create(stream=stream)
        kept = {"note": form.merged(now.note), "labels": form.merged_labels(now.labels)}
        answer = _keep(request, stream_id, "note and labels", **kept)
    if form.notice:
        messages.warning(request, form.notice)
    return answer


def _keep(request: HttpRequest, stream_id: uuid.UUID, what: str, **values: object) -> HttpResponse:
    stream = get_object_or_404(Stream.objects.only("pk"), pk=stream_id)
    with transaction.atomic():
        Annotation.objects.update_or_create(stream=stream, defaults=values)
        note_change(request, stream, CHANGE, what)
    return _back(request, stream_id)


def _back(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """Go back to the tab of the stream's page from which a form was sent."""
    tab = request.POST.get("tab", "")
    return back_to(request, tab if tab in _TABS else "stream", stream_id)
