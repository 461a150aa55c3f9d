"""A stream's pages: its blocks, its chunks, its request. From memory while it runs, from Postgres afterwards."""

import asyncio
import contextlib
import json
import logging
import uuid
from dataclasses import replace

from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe
from msgspec import structs

from streamviz.core.json_value import has_more_values
from streamviz.dashboard import chunk_queries, chunk_text, replaying, roles
from streamviz.dashboard.finding import Found, find_stream
from streamviz.dashboard.pages import is_part, needs, number_in, render_page
from streamviz.dashboard.playback import Asked, Playback, is_played, playback_of, takes_long
from streamviz.dashboard.runs import calls_of
from streamviz.live import rendering
from streamviz.live.feed import now_us
from streamviz.live.pace import Pace
from streamviz.live.presentation.asked import asked_of, headers_of
from streamviz.live.presentation.cutting import PAGE_BYTES, cut
from streamviz.live.presentation.moment import Moment, moment_of
from streamviz.live.presentation.views import StreamView
from streamviz.live.presentation.windows import window_of
from streamviz.records.archive.bucket import ChunksAway
from streamviz.records.models import Stream

log = logging.getLogger(__name__)

# Longer requests are not indented: it would take too long, as each value's line is indented by its depth, and the
# result would not be shown.
_MOST_INDENTED = 1_000_000
_MOST_LINES = 20_000
# A page only reads the tapes of longer streams if somebody asks for them.
_MOST_READ = 4_000


@needs(roles.VIEW)
@require_safe
async def stream(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """A stream's blocks, verdicts and waterfall; if it is over, also as it was at any moment."""
    asked = Asked.of(request)
    if (asked.is_moment or asked.step) and not is_part(request) and (waiting := await first_look(request, stream_id)):
        return waiting
    played, away = await played_or_why_not(stream_id) if asked.is_moment or asked.step else (None, "")
    if asked.step is not None:
        asked = asked.stepped(played)
        if not is_part(request):
            return redirect(f"{reverse('stream', args=[stream_id])}{asked.query}")
    moment = None if played is None else await asyncio.to_thread(_moment, played, asked)
    if moment is not None and is_part(request):
        return HttpResponse(await rendering.panes(moment.view, now_us(), Pace(), moment=moment))
    found = Found.over(played.view) if played else await _with_client(await find_stream(stream_id, has_times=not away))
    found = replace(found, chunks_away=found.chunks_away or away)
    first = number_in(request.GET, "from")
    asked_for = await _asked(found.view, found.request or await _request_of(stream_id))
    content = await rendering.stream(
        found.view, now_us(), Pace(), first, moment=moment, is_played=is_played(found.view), asked=asked_for
    )
    # A socket only has the newest blocks.
    found = replace(found, is_watchable=found.is_watchable and window_of(found.view, first).is_newest)
    context = found.context("stream") | {"content": content, "calls": await calls_of(found.view)}
    return await render_page(request, "dashboard/stream.html", context)


def _moment(played: Playback, asked: Asked) -> Moment:
    """Takes some µs for each block that the stream has by then."""
    return moment_of(played.view, played.tapes, asked.seq_in(played), asked.side)


async def first_look(request: HttpRequest, stream_id: uuid.UUID, tab: str = "stream") -> HttpResponse | None:
    """For a page that plays a stream: if preparing that takes long, a page that says so and requests the same again, to
    wait for it; otherwise None."""
    if "wait" in request.GET or not takes_long((found := await find_stream(stream_id)).view):
        return None
    asked = request.GET.copy()
    asked["wait"] = "1"
    context = found.context(tab) | {"again": f"?{asked.urlencode()}", "chunks": found.view.chunk_count}
    answer = await render_page(request, "dashboard/first_look.html", context)
    answer["Refresh"] = f"0; url={request.path}?{asked.urlencode()}"
    return answer


async def _asked(view: StreamView, body: bytes) -> str:
    """The request, as a fragment."""
    asked = await asyncio.to_thread(asked_of, view, body)
    return render_to_string("dashboard/_asked.html", {"asked": asked, "stream": view})


async def _request_of(stream_id: uuid.UUID) -> bytes:
    """The request as recorded; empty if it is not."""
    found = await Stream.objects.filter(pk=stream_id).values_list("request", flat=True).afirst()
    return bytes(found or b"")


async def _with_client(found: Found) -> Found:
    """Add what the client had instead, and why the answer ended for it, if a policy may have changed that. For long
    streams the page of tapes shows that: reading tapes here would take too long."""
    view = found.view
    is_changed = any(each.intervened for each in view.verdicts)
    if view.is_running or not is_changed or max(view.chunk_count, view.frame_count) > _MOST_READ:
        return found
    played, _ = await played_or_why_not(found.view.id)
    return found if played is None else replace(found, view=_told(view, played.view))


def _told(view: StreamView, played: StreamView) -> StreamView:
    instead = {block.ordinal: block.instead for block in played.blocks}
    blocks = [structs.replace(block, instead=instead.get(block.ordinal, "")) for block in view.blocks]
    return structs.replace(view, blocks=blocks, client_finish=played.client_finish)


async def played_or_why_not(stream_id: uuid.UUID) -> tuple[Playback | None, str]:
    """A stream with its tapes, if they can be played, and why they cannot be read from the archive now."""
    try:
        return await playback_of(stream_id), ""
    except ChunksAway as error:
        return None, _why_away(stream_id, error)


def _why_away(stream_id: uuid.UUID, error: ChunksAway) -> str:
    """Why a stream's chunks cannot be read now. Django logs the page only as unavailable."""
    log.warning("the chunks of stream %s cannot be read: %s", stream_id, error)
    return str(error)


@needs(roles.VIEW)
@require_safe
async def peek(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """The content of a stream's page, to be shown beside the list of the Live page."""
    found = await find_stream(stream_id, has_times=True)
    content = await rendering.stream(found.view, now_us(), Pace())
    context = found.context("peek") | {"content": content, "calls": await calls_of(found.view)}
    return await render_page(request, "dashboard/_peek.html", context)


@needs(roles.VIEW)
@require_safe
async def chunks(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """The chunks in the record, one page at a time."""
    found = await find_stream(stream_id)
    record = await Stream.objects.filter(pk=stream_id).afirst()
    try:
        rows = (
            await sync_to_async(chunk_queries.chunk_page)(record, number_in(request.GET, "from") or 0) if record else []
        )
    except ChunksAway as error:
        found = replace(found, chunks_away=_why_away(stream_id, error))
        return await render_page(request, "dashboard/chunks.html", found.context("chunks"), status=503)
    more = rows[-1].seq + 1 if len(rows) == chunk_queries.CHUNKS_A_PAGE else None
    template = "dashboard/_chunk_rows.html" if is_part(request) else "dashboard/chunks.html"
    context = found.context("chunks") | {"rows": chunk_text.shown(rows), "more": more}
    return await render_page(request, template, context)


@needs(roles.VIEW)
@require_safe
async def block_text(request: HttpRequest, stream_id: uuid.UUID, ordinal: int) -> HttpResponse:
    """All of a block's text, as a file."""
    blocks = (await find_stream(stream_id)).view.blocks
    if ordinal >= len(blocks):
        raise Http404("No such block.")
    text = blocks[ordinal].text.encode("utf-8", "replace")
    return _file(text, f"{stream_id}-block-{ordinal}.txt", "text/plain; charset=utf-8")


@needs(roles.VIEW)
@require_safe
async def chunk(request: HttpRequest, stream_id: uuid.UUID, seq: int) -> HttpResponse:
    """A chunk's bytes as upstream sent them, as a file."""
    found = await sync_to_async(chunk_queries.chunk_bytes)(stream_id, range(seq, seq + 1))
    if not found:
        raise Http404("No such chunk.")
    return _file(found[0], f"{stream_id}-chunk-{seq}.txt", "application/octet-stream")


@needs(roles.VIEW)
@require_safe
async def request_file(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """The request's bytes, as a file."""
    body = (await find_stream(stream_id)).request
    return _file(body, f"{stream_id}-request.json", "application/json")


def _file(data: bytes, name: str, kind: str) -> HttpResponse:
    return HttpResponse(data, content_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


@needs(roles.VIEW)
@require_safe
async def request_body(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """The request as the client sent it, with those of its headers that are kept: never credentials."""
    found = await find_stream(stream_id)
    body = await asyncio.to_thread(readable, found.request)
    context = found.context("request_body") | {"text": cut(body, PAGE_BYTES), "headers": headers_of(found.view)}
    return await render_page(request, "dashboard/request_body.html", context)


@needs(roles.CHANGE_POLICY, roles.VIEW)
@require_POST
async def replay_stream(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """What the policies in force now would make of a recorded stream, beside what its client got then."""
    found = await find_stream(stream_id)
    replayed = await replaying.replay(stream_id)
    is_refused = isinstance(replayed, str)
    context = found.context("replay") | ({"problem": replayed} if is_refused else {"replayed": replayed})
    return await render_page(request, "dashboard/replay.html", context)


def readable(body: bytes) -> str:
    """A request for people to read: JSON with its lines indented; anything else, or what is very long or would have
    very many lines, as it is."""
    text = body.decode("utf-8", "replace")
    if len(body) <= _MOST_INDENTED and not has_more_values(body, _MOST_LINES):
        with contextlib.suppress(ValueError, RecursionError):
            text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    return text
