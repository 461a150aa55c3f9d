"""Two streams side by side."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from streamviz.dashboard import roles
from streamviz.dashboard.pages import needs
from streamviz.dashboard.queries import BLOCKS_A_TURN
from streamviz.dashboard.request_differences import requests_of
from streamviz.live.feed import now_us
from streamviz.live.presentation.block_views import TAIL_CHARACTERS
from streamviz.live.presentation.comparison import figures_of, pairs_of, times_of
from streamviz.live.presentation.stream_views import view_of, view_of_record
from streamviz.records.models import Stream
from streamviz.records.queries import streams
from streamviz.records.queries.search import ids_of

_NEAR = 50
_MOST_BLOCKS = 200


class _NoSuchStream(Exception):
    """Says why a text stands for no stream."""


@needs(roles.VIEW)
@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """`?a=` and `?b=` name two streams of the record. With `a` alone, those of its session are offered; without it,
    both are asked for."""
    found: dict[str, Stream] = {}
    problems: dict[str, str] = {}
    for side in ("a", "b"):
        try:
            found |= {side: _stream(text)} if (text := request.GET.get(side)) else {}
        except _NoSuchStream as error:
            problems[side] = str(error)
    if len(found) == 2:
        return render(request, "dashboard/compare.html", _compared(found["a"], found["b"]))
    context = {**_offered(found.get("a")), "wanted": request.GET, "problems": problems}
    return render(request, "dashboard/compare.html", context, status=404 if problems else 200)


def _offered(a: Stream | None) -> dict[str, Any]:
    if a is None:
        return {"page": "sessions"}
    others = Stream.objects.filter(session=a.session_id).exclude(pk=a.pk)
    near = streams.shortened(others, TAIL_CHARACTERS, BLOCKS_A_TURN)[:_NEAR]
    return {
        "page": "sessions",
        "a": view_of_record(a, has_times=False),
        "near": [view_of(streams.short_entries_of(each)) for each in near],
    }


def _compared(a: Stream, b: Stream) -> dict[str, Any]:
    one, other = view_of_record(a), view_of_record(b)
    return {
        "page": "sessions",
        "a": one,
        "b": other,
        "figures": figures_of(one, other),
        "times": times_of(one, other, now_us()),
        "requests": requests_of(a, b),
        "pairs": pairs_of(one.blocks[:_MOST_BLOCKS], other.blocks[:_MOST_BLOCKS]),
    }


def _stream(text: str) -> Stream:
    """The stream that a whole or a short id stands for. Raises _NoSuchStream."""
    ids = ids_of(text)
    if ids is None:
        raise _NoSuchStream("This is not a stream’s id.")
    found = list(Stream.objects.filter(pk__range=ids).order_by("pk").values_list("pk", flat=True)[:2])
    if len(found) > 1:
        raise _NoSuchStream("Several streams’ ids begin with this: enter the whole id.")
    try:
        return streams.load(found[0] if found else ids.first)
    except Stream.DoesNotExist as error:
        raise _NoSuchStream("No recorded stream has this id.") from error
