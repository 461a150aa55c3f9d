"""Errors by what they say."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from streamviz.dashboard import roles
from streamviz.dashboard.links import sessions_url, term
from streamviz.dashboard.pages import needs
from streamviz.dashboard.sorting import Sorting
from streamviz.dashboard.views.sessions import asked_of, choices
from streamviz.records.queries.errors import SORTED, error_groups
from streamviz.records.queries.rows import SearchTooBroad


@needs(roles.VIEW)
@require_safe
def errors(request: HttpRequest) -> HttpResponse:
    """How often which error came, first and last, of the streams that the Sessions page would find."""
    asked = asked_of(request)
    sorting = Sorting.asked(request.GET, {name: name != "says" for name in SORTED})
    context: dict[str, Any] = choices(asked.written, asked.span, "errors", sorting.written)
    context |= {"problems": asked.problems, "sorting": sorting}
    try:
        groups = error_groups(
            asked.filters, sorting.by or "streams", is_descending=sorting.is_descending or not sorting.by
        )
    except SearchTooBroad:
        return render(request, "dashboard/errors.html", context | {"is_too_broad": True})
    written = asked.written.text
    context["groups"] = [
        (each, sessions_url(asked.span.query, f"{written} {term('error', each.says)}".strip())) for each in groups
    ]
    return render(request, "dashboard/errors.html", context)
