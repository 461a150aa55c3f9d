"""Past sessions."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from streamviz.dashboard import charts, chosen_timespans, queries, roles, session_filters, timespans
from streamviz.dashboard.histogram import histogram_of
from streamviz.dashboard.links import page_url, sessions_between, sessions_url
from streamviz.dashboard.pages import is_part, needs
from streamviz.dashboard.replica_reads import from_replica
from streamviz.dashboard.sorting import Sorting, place_in
from streamviz.dashboard.time_axis import axis
from streamviz.dashboard.timespans import Timespan
from streamviz.live.filters import Filter, parse_filter, shortcuts_of, unknown_fields
from streamviz.records.queries.filters import Filters
from streamviz.records.queries.pages import SORTED, Place
from streamviz.records.queries.rows import SearchTooBroad
from streamviz.records.queries.search import ids_of


class Asked(NamedTuple):
    """What a URL asks for: the filter as it is written, and as the record can answer it, in a time span."""

    written: Filter
    problems: list[str]
    filters: Filters
    span: Timespan
    oldest: datetime | None


def asked_of(request: HttpRequest) -> Asked:
    """What the URL of a page of history asks for."""
    written = parse_filter(" ".join(request.GET.getlist("q")), session_filters.FIELDS)
    asked = session_filters.read(written)
    oldest = queries.oldest_stream()
    # Somebody who has an id need not know when its stream was.
    usual = timespans.ALL if ids_of(asked.filters.text) else chosen_timespans.USUAL
    span = chosen_timespans.chosen(request.GET.dict(), timezone.now(), oldest, usual)
    problems = [*unknown_fields(written, session_filters.FIELDS), *asked.problems]
    return Asked(written, problems, replace(asked.filters, since=span.since, until=span.until), span, oldest)


def asked_filters(request: HttpRequest) -> Filters:
    """What a URL of the list of sessions asks for."""
    return asked_of(request).filters


@needs(roles.VIEW)
@require_safe
@from_replica
def sessions(request: HttpRequest) -> HttpResponse:
    """The sessions of the newest streams that match `?q=` in a time span, one page at a time."""
    asked = asked_of(request)
    sorting = Sorting.asked(request.GET, {name: name != "models" for name in SORTED})
    context = {
        "problems": asked.problems,
        "has_streams": asked.oldest is not None,
        "sorting": sorting,
        **choices(asked.written, asked.span, sort=sorting.written),
        **(_sorted(request, asked.filters, sorting) if sorting.by else _found(request, asked.filters)),
    }
    return render(request, "dashboard/sessions.html", context)


@needs(roles.VIEW)
@require_safe
@from_replica
def session_histogram(request: HttpRequest) -> HttpResponse:
    """How many matching streams there are, over time. Counting takes longer than finding a page of them, so the page
    loads this once it is shown itself."""
    asked = asked_of(request)
    context = choices(asked.written, asked.span)
    try:
        context["histogram"] = histogram_of(asked.filters, asked.span, asked.written.text)
    except SearchTooBroad:
        context["is_uncounted"] = True
    return render(request, f"dashboard/{'_' if is_part(request) else 'session_'}histogram.html", context)


def choices(written: Filter, span: Timespan, page: str = "sessions", sort: str = "") -> dict[str, Any]:
    """What the filter bar of a page offers; every link keeps what it does not change."""
    sorted_by = {"sort": sort} if sort else {}

    def url(time: Mapping[str, str], text: str = "") -> str:
        return page_url(page, {**time, **sorted_by}, text)

    shortcuts = shortcuts_of(session_filters.SHORTCUTS, written, session_filters.FIELDS)
    return {
        "page": "sessions",
        "shown_page": page,
        "filter": written,
        "span": span,
        "axis": axis(span),
        "brush": charts.Brush(span, sessions_between(written.text)),
        "nothing": charts.Chart([], ""),
        "chips": [(term, url(span.query, written.without(term).text)) for term in written.terms],
        "shortcuts": [(each.name, url(span.query, each.filter.text), each.is_chosen) for each in shortcuts],
        "ranges": [
            (words, url({"range": name}, written.text), name == span.name) for name, words in timespans.CHOICES.items()
        ],
        "examples": session_filters.FIELDS.values(),
        "here": url(span.query, written.text),
        "newest": page_url(page, span.query, written.text),
        "in_all_time": url({"range": timespans.ALL}, written.text),
        "without_filters": url(span.query),
        "kept": urlencode({**({"q": written.text} if written.terms else {}), **span.query, **sorted_by}),
        "errors_url": page_url("errors", span.query, written.text),
        "sessions_url": sessions_url(span.query, written.text),
    }


def _found(request: HttpRequest, filters: Filters) -> dict[str, Any]:
    """The page's rows, or that finding them took too long."""
    before = Place.read(request.GET.get("before", ""))
    try:
        rows, following = queries.session_page(filters, before)
    except SearchTooBroad:
        return {"is_too_broad": True}
    older = following and urlencode({"before": following})
    return {"rows": rows, "following": older, "is_first": before is None}


def _sorted(request: HttpRequest, filters: Filters, sorting: Sorting) -> dict[str, Any]:
    """The same in another order."""
    start = place_in(request.GET.get("from", ""))
    try:
        rows, following = queries.sorted_session_page(
            filters, sorting.by, is_descending=sorting.is_descending, start=start
        )
    except SearchTooBroad:
        return {"is_too_broad": True}
    later = following and urlencode({"from": following})
    return {"rows": rows, "following": later, "is_first": not start}
