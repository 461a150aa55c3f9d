"""Two streams side by side."""

import uuid
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from streamviz.dashboard import roles
from streamviz.dashboard.comparisons import requests_of
from streamviz.dashboard.pages import needs
from streamviz.dashboard.queries import BLOCKS_A_TURN
from streamviz.live.feed import now_us
from streamviz.live.presentation.block_views import TAIL_CHARACTERS
from streamviz.live.presentation.comparison import figures_of, pairs_of, times_of
from streamviz.live.presentation.stream_views import view_of, view_of_record
from streamviz.records.models import Stream
from streamviz.records.queries import streams
from streamviz.records.queries.search import as_id

_NEAR = 50
_MOST_BLOCKS = 200


@needs(roles.VIEW)
@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """`?a=` and `?b=` name two streams of the record; with `a` alone, those of its session are offered."""
    a = _stream(request.GET.get("a", ""))
    if not request.GET.get("b"):
        others = Stream.objects.filter(session=a.session_id).exclude(pk=a.pk)
        near = streams.shortened(others, TAIL_CHARACTERS, BLOCKS_A_TURN)[:_NEAR]
        context: dict[str, Any] = {
            "a": view_of_record(a, has_times=False),
            "near": [view_of(streams.short_entries_of(each)) for each in near],
        }
        return render(request, "dashboard/compare.html", context | {"page": "sessions"})
    b = _stream(request.GET["b"])
    one, other = view_of_record(a), view_of_record(b)
    context = {
        "page": "sessions",
        "a": one,
        "b": other,
        "figures": figures_of(one, other),
        "times": times_of(one, other, now_us()),
        "requests": requests_of(a, b),
        "pairs": pairs_of(one.blocks[:_MOST_BLOCKS], other.blocks[:_MOST_BLOCKS]),
    }
    return render(request, "dashboard/compare.html", context)


def _stream(text: str) -> Stream:
    wanted: uuid.UUID | None = as_id(text)
    if wanted is None:
        raise Http404("Name two streams by their ids.")
    try:
        return streams.load(wanted)
    except Stream.DoesNotExist as error:
        raise Http404("No such stream.") from error
