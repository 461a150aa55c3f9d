"""Errors by what they say."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from streamviz.dashboard import roles
from streamviz.dashboard.links import sessions_url, term
from streamviz.dashboard.pages import needs
from streamviz.dashboard.replica_reads import from_replica
from streamviz.dashboard.sorting import Sorting
from streamviz.dashboard.stats_csv import csv_of
from streamviz.dashboard.views.sessions import asked_of, choices
from streamviz.live.presentation.figures import UNKNOWN
from streamviz.records.queries.errors import SORTED, Errors, error_groups
from streamviz.records.queries.rows import SearchTooBroad


@needs(roles.VIEW)
@require_safe
@from_replica
def errors(request: HttpRequest) -> HttpResponse:
    """How often each error occurred, and when first and last, in the streams that the Sessions page would find;
    `?csv=1` has the table as CSV."""
    asked = asked_of(request)
    sorting = Sorting.asked(request.GET, {name: name != "says" for name in SORTED})
    context: dict[str, Any] = choices(asked.written, asked.span, "errors", sorting.written)
    context |= {"problems": asked.problems, "sorting": sorting}
    try:
        found = error_groups(
            asked.filters, sorting.by or "streams", is_descending=sorting.is_descending or not sorting.by
        )
    except SearchTooBroad:
        status = 503 if "csv" in request.GET else 200  # a download must not be mistaken for the table
        return render(request, "dashboard/errors.html", context | {"is_too_broad": True}, status=status)
    if "csv" in request.GET:
        headers = {"Content-Disposition": 'attachment; filename="errors.csv"'}
        return HttpResponse(csv_of(_lines(found)), content_type="text/csv; charset=utf-8", headers=headers)
    written = asked.written.text
    context["found"] = found
    context["groups"] = [
        (each, sessions_url(asked.span.query, f"{written} {term('error', each.says)}".strip())) for each in found.groups
    ]
    return render(request, "dashboard/errors.html", context)


def _lines(found: Errors) -> Iterator[list[object]]:
    """Times in UTC; of models and keys, the first few. Of very many failures, those from `since` on are counted."""
    yield ["error", "streams", "first", "last", "newest_stream", "models", "keys", "counted_since"]
    counted = found.since.isoformat() if found.since else ""
    for each in found.groups:
        names = (", ".join(_named(*told)) for told in ((each.models, each.more_models), (each.keys, each.more_keys)))
        times = (each.first.isoformat(), each.last.isoformat())
        yield [each.says, each.streams, *times, str(each.newest), *names, counted]


def _named(names: Iterable[str], more: int) -> list[str]:
    return [*(name or UNKNOWN for name in names), *([f"and {more} more"] if more else ())]
