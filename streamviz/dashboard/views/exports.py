"""Streams, sessions and filtered lists as files."""

import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from time import monotonic

from asgiref.sync import sync_to_async
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from streamviz.dashboard import roles
from streamviz.dashboard.downloads import STOPPED_AFTER, counted, number_of
from streamviz.dashboard.exports import FORMS
from streamviz.dashboard.pages import base_url, needs, signed_in_user
from streamviz.dashboard.replica_reads import reader
from streamviz.dashboard.views.sessions import asked_filters
from streamviz.live.access import refusal
from streamviz.records.database import give_back
from streamviz.records.exporting import DeletedMeanwhile, by_turns
from streamviz.records.models import Download, Session, Stream
from streamviz.records.queries.filters import Filters
from streamviz.records.queries.pages import Place, stream_page
from streamviz.records.queries.search import as_id

_PIECES_AT_ONCE = 200
# Fewer if they come to more than this, as long requests do: hundreds of those must not be held in memory.
_BYTES_AT_ONCE = 256 * 1024
_STREAMS_AT_ONCE = 50
RECHECK_SECONDS = 30.0


@needs(roles.VIEW)
@require_safe
def export_stream(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponseBase:
    """A finished stream, in the form that `?as=` names."""
    stream = get_object_or_404(Stream.objects.exclude(outcome="").select_related("session", "key"), pk=stream_id)
    try:
        return _file(request, f"stream-{stream_id}", [stream], reads_first=True)
    except DeletedMeanwhile as error:
        raise Http404 from error


@needs(roles.VIEW)
@require_safe
def export_session(request: HttpRequest, session_id: uuid.UUID) -> HttpResponseBase:
    """A session's finished streams in their order; with `?progress=` as for lists."""
    session = get_object_or_404(Session, pk=session_id)
    ids = list(session.streams.exclude(outcome="").order_by("requested_at", "id").values_list("pk", flat=True))
    return _file(request, f"session-{session_id}", _with_progress(request, by_turns(ids), partial(len, ids)))


@needs(roles.VIEW)
@require_safe
def export_list(request: HttpRequest) -> HttpResponseBase:
    """All streams that match `?q=` in a time span, newest first. `?progress=` gives the download an id by which its
    progress can be asked for."""
    read = reader(request)
    filters = read(partial(asked_filters, request))

    def number() -> int | None:
        return read(partial(number_of, filters))

    return _file(request, "streams", _with_progress(request, _listed(request, filters), number))


@needs(roles.VIEW)
@require_safe
def export_progress(request: HttpRequest, download_id: uuid.UUID) -> HttpResponse:
    """How far one of the user's downloads has come; one that is unknown is about to begin."""
    found = Download.objects.filter(pk=download_id, user=signed_in_user(request)).first()
    is_stopped = found is not None and not found.is_whole and timezone.now() - found.updated_at > STOPPED_AFTER
    context = {"download_id": download_id, "download": found, "is_stopped": is_stopped}
    return render(request, "dashboard/_export_progress.html", context)


def _with_progress(
    request: HttpRequest, streams: Iterator[Stream], number: Callable[[], int | None]
) -> Iterator[Stream]:
    download_id = as_id(request.GET.get("progress", ""))
    return streams if download_id is None else counted(streams, number, download_id, signed_in_user(request))


def _listed(request: HttpRequest, filters: Filters) -> Iterator[Stream]:
    """One page after another, so that no transaction stays open for as long as somebody downloads."""
    read = reader(request)
    before: Place | None = None
    while True:
        page = read(partial(stream_page, filters, before, _STREAMS_AT_ONCE))
        yield from by_turns(page.ids)
        if (before := page.following) is None:
            return


def _file(request: HttpRequest, name: str, streams: Iterable[Stream], *, reads_first: bool = False) -> HttpResponseBase:
    """With `reads_first`, an error in reading is raised before a response has begun."""
    form = FORMS.get(request.GET.get("as", "jsonl"))
    if form is None:
        raise Http404("There is no such format.")
    pieces = form.write(streams, base_url(request))
    first = _some(pieces) if reads_first else b""
    headers = {"Content-Disposition": f'attachment; filename="{name}.{form.suffix}"', "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(_sent(request, first, pieces), content_type=form.content_type, headers=headers)


async def _sent(request: HttpRequest, first: bytes, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Send as many pieces at once as are worth a thread's turn; the event loop serves streams in between. Raises
    PermissionDenied once the user may no longer see this, so that the file is visibly cut off."""
    checked_at = monotonic()
    if first:
        yield first
    some = sync_to_async(partial(_some, pieces))
    while data := await some():
        yield data
        if monotonic() - checked_at >= RECHECK_SECONDS:
            if await refusal({"session": request.session}) is not None:
                raise PermissionDenied("You may no longer see this.")
            checked_at = monotonic()


def _some(pieces: Iterator[bytes]) -> bytes:
    """The next pieces. While they are sent, others can use the database connection."""
    try:
        return b"".join(_up_to(_BYTES_AT_ONCE, islice(pieces, _PIECES_AT_ONCE)))
    finally:
        give_back()


def _up_to(most: int, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The next pieces, until they come to this many bytes."""
    size = 0
    while size < most and (piece := next(pieces, None)) is not None:
        size += len(piece)
        yield piece
