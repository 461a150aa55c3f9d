"""Figures of what passed through, over time."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from streamviz.dashboard import charts, queries, roles, timespans
from streamviz.dashboard.pages import needs
from streamviz.dashboard.stats import GROUPINGS, stats_of
from streamviz.records.queries.lint import broken_rules
from streamviz.records.queries.rows import SearchTooBroad, limited


@needs(roles.VIEW)
@require_safe
def stats(request: HttpRequest) -> HttpResponse:
    """The streams of a time, `?range=`, and by what they have in common, `?by=`."""
    span = timespans.chosen(request.GET.dict(), timezone.now(), queries.oldest_stream())
    group = request.GET.get("by", "model")
    group = group if group in GROUPINGS else "model"
    ranges = {**{name: words for name, (words, _) in timespans.RANGES.items()}, timespans.ALL: "All"}
    context: dict[str, Any] = {
        "page": "stats",
        "span": span,
        "group": group,
        "ranges": [(words, _url({"range": name}, group), name == span.name) for name, words in ranges.items()],
        "groupings": [(name, _url(span.query, name), name == group) for name in GROUPINGS],
        "axis": charts.axis(span),
    }
    try:
        with limited():
            context["stats"] = stats_of(span, group)
            context["lint"] = broken_rules(span.since, span.until)
    except SearchTooBroad:
        context["is_too_broad"] = True
    return render(request, "dashboard/stats.html", context)


def _url(time: dict[str, str], group: str) -> str:
    return f"?{urlencode({**time, 'by': group})}"
