"""A stream's pages: its blocks, its chunks, its request. From memory while it runs, from Postgres afterwards."""

import asyncio
import contextlib
import json
import uuid
from dataclasses import dataclass
from typing import Any

from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_POST, require_safe

from streamviz.core.policy import Decision
from streamviz.dashboard import queries, roles
from streamviz.dashboard.pages import needs, render_page
from streamviz.live import actions, rendering
from streamviz.live.feed import feed, now_us
from streamviz.live.hub import hub
from streamviz.live.pace import Pace
from streamviz.live.presentation import from_live, from_records
from streamviz.live.presentation.text import printable
from streamviz.live.presentation.views import StreamView
from streamviz.records.ids import milliseconds_of
from streamviz.records.models import Stream

_REQUEST_CHARACTERS = 500_000
# How long after its beginning a stream is in the record at the latest, unless the database is slow.
_MOST_LAG_MS = 5000


@needs(roles.VIEW)
@require_safe
async def stream(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """The blocks of a stream, its verdicts and its waterfall."""
    found = await _find(stream_id)
    content = await rendering.stream(found.view, now_us(), Pace())
    return await render_page(request, "dashboard/stream.html", found.context("stream") | {"content": content})


@needs(roles.VIEW)
@require_safe
async def peek(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """The same beside the Live page's list, without its frame."""
    found = await _find(stream_id)
    content = await rendering.stream(found.view, now_us(), Pace())
    return await render_page(request, "dashboard/_peek.html", found.context("peek") | {"content": content})


@needs(roles.VIEW)
@require_safe
async def chunks(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """The chunks that are in the record, a page at a time."""
    first = request.GET.get("from", "0")
    found = await _find(stream_id)
    record = await Stream.objects.filter(pk=stream_id).afirst()
    start = int(first) if first.isdecimal() and len(first) < 10 else 0
    rows = await sync_to_async(queries.chunk_page)(record, start) if record else []
    more = rows[-1].seq + 1 if len(rows) == queries.CHUNKS_A_PAGE else None
    is_part = getattr(request, "htmx", False)
    template = "dashboard/_chunk_rows.html" if is_part else "dashboard/chunks.html"
    return await render_page(request, template, found.context("chunks") | {"rows": rows, "more": more})


@needs(roles.VIEW)
@require_safe
async def request_body(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """The request as the client sent it; headers, and with them credentials, are never kept."""
    found = await _find(stream_id)
    context = found.context("request_body") | {"body": readable(found.request)}
    return await render_page(request, "dashboard/request_body.html", context)


@needs(roles.DECIDE)
@require_POST
async def decide(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """Allow or deny a held block by hand. What came of it is on the page as a verdict; 409 where it is too late."""
    ordinal, decision = request.POST.get("ordinal", ""), request.POST.get("decision", "")
    if not (ordinal.isdecimal() and len(ordinal) < 7 and decision in actions.DECISIONS):
        return _said(400, "Which block, and allow or deny?")
    by = await _user_name(request)
    is_decided: bool | None = actions.decide(feed, stream_id, int(ordinal), Decision(decision), by)
    if not is_decided and hub.workers is not None:
        is_decided = await hub.workers.decide(stream_id, int(ordinal), Decision(decision), by)
    return _answer(is_decided, "That was decided already.")


@needs(roles.CANCEL)
@require_POST
async def cancel(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """Stop a stream: upstream is closed, and the client told in its own format. 409 where it is over."""
    by = await _user_name(request)
    is_cancelled: bool | None = actions.cancel(feed, stream_id, by)
    if not is_cancelled and hub.workers is not None:
        is_cancelled = await hub.workers.cancel(stream_id, by)
    return _answer(is_cancelled, "That stream is over.")


def _answer(is_done: bool | None, too_late: str) -> HttpResponse:
    """`is_done` is None where the worker that runs the stream did not answer, if there is still one."""
    if is_done is None:
        return _said(504, "No server answered: the stream may be over. What came of it shows on this page.")
    return HttpResponse(status=204) if is_done else _said(409, too_late)


async def _user_name(request: HttpRequest) -> str:
    return (await request.auser()).get_username()


def _said(status: int, text: str) -> HttpResponse:
    return HttpResponse(text, status=status, content_type="text/plain")


@dataclass(frozen=True)
class Found:
    """A stream and where it was found."""

    view: StreamView
    request: bytes
    is_watchable: bool

    def context(self, tab: str) -> dict[str, Any]:
        """What the head of each of its pages needs."""
        now = now_us()
        return {
            "page": "live" if self.view.is_running else "sessions",
            "tab": tab,
            "stream": self.view,
            "is_watchable": self.is_watchable,
            **rendering.header(self.view, now),
        }


async def _find(stream_id: uuid.UUID) -> Found:
    """In memory or else in the record. Raises Http404."""
    if running := feed.get(stream_id):
        view = from_live.whole_view_of(running, from_live.view_of(running))
        return Found(view, running.request, view.is_running)
    record = await _recorded(stream_id)
    # One that has no end in the record runs in another worker: its socket shows the rest.
    view = from_records.view_of(record)
    return Found(view, bytes(record.request), view.is_running and hub.workers is not None)


async def _recorded(stream_id: uuid.UUID) -> Stream:
    """Raises Http404. One that has just begun in another worker is seen live before the writer has stored it."""
    while True:
        try:
            return await sync_to_async(from_records.load)(stream_id)
        except Stream.DoesNotExist:
            age_ms = now_us() // 1000 - milliseconds_of(stream_id)
            if hub.workers is None or not 0 <= age_ms < _MOST_LAG_MS:
                raise Http404("There is no such stream.") from None
        await asyncio.sleep(0.1)


def readable(body: bytes) -> str:
    """A request for people: JSON with its lines indented, anything else as it is."""
    text = body.decode("utf-8", "replace")
    with contextlib.suppress(ValueError, RecursionError):
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    more = len(text) - _REQUEST_CHARACTERS
    return printable(text[:_REQUEST_CHARACTERS]) + (f"\n… {more:,} more characters" if more > 0 else "")
