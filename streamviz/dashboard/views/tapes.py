"""A stream's two tapes side by side: a page at a time, from any row, chunk or piece of text on."""

import uuid
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from streamviz.core.lint.linter import Note
from streamviz.core.tapes import Fate, Row
from streamviz.core.timeline import Piece
from streamviz.core.wire import LINT_RULES
from streamviz.dashboard import chunk_queries, roles
from streamviz.dashboard.chunk_text import decoded
from streamviz.dashboard.finding import Found, find_stream
from streamviz.dashboard.pages import needs, number_in, render_page
from streamviz.dashboard.playback import Playback, compared, playback_of
from streamviz.dashboard.views.streams import first_look, played_or_why_not
from streamviz.live.presentation.cutting import Cut, cut
from streamviz.live.presentation.tape_rows import FATES, ROWS_A_PAGE, Rows, counted, told_apart

_RAW_CHUNKS = 100
_RAW_BYTES = 4_000


@needs(roles.VIEW)
@require_safe
async def tapes(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """What upstream sent beside what the client got."""
    if first := await first_look(request, stream_id, "tapes"):
        return first
    played, away = await played_or_why_not(stream_id)
    if played is None:
        found = replace(await find_stream(stream_id), chunks_away=away)
        context = found.context("tapes") | {"played": None}
        return await render_page(request, "dashboard/tapes.html", context, status=503 if away else 200)
    rows, notes = await compared(played)
    if (to := _elsewhere(request.GET, played, rows)) is not None:
        return redirect(f"{reverse('tapes', args=[stream_id])}?{to}")
    context = Found.over(played.view).context("tapes") | _page(request.GET, played, rows, notes)
    return await render_page(request, "dashboard/tapes.html", context | {"played": played})


def _elsewhere(asked: QueryDict, played: Playback, rows: Sequence[Row]) -> str | None:
    """Where to go for a filter that was switched, a chunk, or a piece of a block's text; None if none was named."""
    to = asked.copy()
    if flipped := to.pop("flip", []):
        hidden = set(to.getlist("hide")) ^ set(flipped)
        to.setlist("hide", [fate for fate in Fate if fate in hidden])
        to.pop("row", None)
        return str(to.urlencode())
    ordinal, start, end = (number_in(asked, name) for name in ("block", "start", "end"))
    chunk = number_in(asked, "chunk")
    if ordinal is not None and ordinal < played.tapes.upstream.blocks:
        chunk = _chunk_of(played, Piece(ordinal, start or 0, end or 0))
    if chunk is None:
        return None
    row = next((n for n, row in enumerate(rows) if chunk in row.seqs), 0)
    return f"row={row}#r{row}"


def _chunk_of(played: Playback, piece: Piece) -> int | None:
    try:
        return played.tapes.upstream.chunks_of(piece)[0]
    except IndexError:
        return None


class _Jumps(NamedTuple):
    """Other rows in which something happened; `place` of `total` is that of the requested row among them."""

    previous: int | None
    following: int | None
    place: int
    total: int


def _page(asked: QueryDict, played: Playback, rows: Sequence[Row], notes: Sequence[Note]) -> dict[str, Any]:
    hidden = {fate for fate in Fate if fate in asked.getlist("hide")}
    numbered = [(number, row) for number, row in enumerate(rows) if row.fate not in hidden]
    row = number_in(asked, "row")
    before = sum(number < (row or 0) for number, _ in numbered)
    start = before - before % ROWS_A_PAGE
    shown = list(islice(numbered, start, start + ROWS_A_PAGE))
    counts = counted(rows)
    return {
        "rows": Rows(played.view, played.tapes, played.bare, notes).shown(shown),
        "current": row,
        "toggles": [(fate, FATES[fate], counts[fate], fate not in hidden) for fate in Fate],
        "hidden": [fate for fate in Fate if fate in hidden],
        "jumps": _jumps(rows, row),
        "notes": [(note, LINT_RULES.get(note.rule, "")) for note in notes],
        "earlier": numbered[max(0, start - ROWS_A_PAGE)][0] if start else None,
        "later": numbered[start + ROWS_A_PAGE][0] if start + ROWS_A_PAGE < len(numbered) else None,
    }


def _jumps(rows: Sequence[Row], row: int | None) -> _Jumps:
    apart = list(told_apart(rows))
    at = -1 if row is None else row
    earlier = [number for number in apart if number < at]
    following = next((number for number in apart if number > at), None)
    return _Jumps(earlier[-1] if earlier else None, following, len(earlier) + (at in apart), len(apart))


@needs(roles.VIEW)
@require_safe
async def tape_row(request: HttpRequest, stream_id: uuid.UUID, number: int) -> HttpResponse:
    """A row's bytes, as upstream sent them and as the client got them."""
    played = await playback_of(stream_id)
    rows = [] if played is None else (await compared(played)).rows
    if number >= len(rows):
        raise Http404("No such row.")
    row = rows[number]
    up, down = await sync_to_async(_bytes_of)(stream_id, row)
    context = {"up": up, "down": down, "more": max(0, max(len(row.seqs), len(row.frames)) - _RAW_CHUNKS), "row": row}
    return render(request, "dashboard/_tape_row.html", context)


def _bytes_of(stream_id: uuid.UUID, row: Row) -> tuple[list[Cut], list[Cut]]:
    seqs, frames = row.seqs[:_RAW_CHUNKS], row.frames[:_RAW_CHUNKS]
    up = chunk_queries.chunk_bytes(stream_id, seqs)
    down = chunk_queries.frame_bytes(stream_id, frames) if row.waited is None else []
    return [_shown(raw) for raw in up], [_shown(raw) for raw in down]


def _shown(raw: bytes) -> Cut:
    return cut(decoded(raw), _RAW_BYTES)
