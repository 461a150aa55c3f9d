"""Figures of streams, over time."""

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from streamviz.dashboard import charts, chosen_timespans, queries, roles, timespans
from streamviz.dashboard.compared_figures import COMPARED, USUAL, Compared
from streamviz.dashboard.links import sessions_between, term
from streamviz.dashboard.pages import needs
from streamviz.dashboard.replica_reads import from_replica
from streamviz.dashboard.stats import GROUPINGS, TOOL, stats_of
from streamviz.dashboard.stats_csv import TABLES, as_csv
from streamviz.dashboard.stats_sorting import Order, sorted_rules, sorted_stats
from streamviz.dashboard.time_axis import axis
from streamviz.dashboard.timespans import Timespan
from streamviz.records.queries import names
from streamviz.records.queries.lint import broken_rules
from streamviz.records.queries.rows import SearchTooBroad, limited

_MOST_MODELS = 200


@needs(roles.VIEW)
@require_safe
@from_replica
def stats(request: HttpRequest) -> HttpResponse:
    """The streams of a time span, `?range=`, by what they have in common, `?by=`, compared with another time,
    `?compare=`. `?model=` has one model's alone, compared with another's by `?against=`; `?csv=` gives one table."""
    span = chosen_timespans.chosen(request.GET.dict(), timezone.now(), queries.oldest_stream())
    only = _one_of(TABLES, request.GET.get("csv", ""), "")
    group = TOOL if only == TOOL else _one_of((*GROUPINGS, TOOL), request.GET.get("by", ""), "model")
    only = TOOL if only == "group" and group == TOOL else only  # tools have a table of their own
    compared = Compared(
        _one_of(COMPARED, request.GET.get("compare", ""), USUAL),
        *(request.GET.get(name, "").replace("\0", "") for name in ("model", "against")),
    )
    order = Order.asked(request.GET, has_tools=group == TOOL)
    context = {
        "page": "stats",
        "span": span,
        "group": group,
        "compared": compared,
        "models": _models(compared),
        "sorting": order.groups,
        "order": order,
        "axis": axis(span),
        "brush": charts.Brush(span, sessions_between(term("model", compared.model) if compared.model else "")),
        **_links(span, group, compared),
    }
    try:
        with limited():
            by = order.groups.by if order.groups.is_descending else ""
            found = sorted_stats(stats_of(span, group, compared, by, only), order)
            if not request.user.has_perm(roles.VIEW_POLICIES):
                found = found._replace(changes=[])
            lint = sorted_rules(broken_rules(span.since, span.until), order) if only in ("", "lint") else []
            context |= {"stats": found, "lint": lint}
    except SearchTooBroad:
        status = 503 if only else 200
        return render(request, "dashboard/stats.html", context | {"is_too_broad": True}, status=status)
    if only:
        name = f'attachment; filename="stats-by-{group if only == "group" else only}.csv"'
        headers = {"Content-Disposition": name}
        return HttpResponse(as_csv(found, lint, only), content_type="text/csv; charset=utf-8", headers=headers)
    return render(request, "dashboard/stats.html", context)


def _models(compared: Compared) -> list[str]:
    """The models to choose from, always with those that are chosen: they may have no streams any more, or be beyond the
    most that are listed."""
    known = names.models()[:_MOST_MODELS]
    chosen = [name for name in (compared.model, compared.against) if name and name not in known]
    return [*known, *dict.fromkeys(chosen)]


def _links(span: Timespan, group: str, compared: Compared) -> dict[str, Any]:
    """Links to the same page with something else chosen."""
    asked = {
        **({} if compared.time == USUAL else {"compare": compared.time}),
        **{name: value for name, value in (("model", compared.model), ("against", compared.against)) if value},
    }
    kept = {**span.query, "by": group, **asked}
    of_all = {name: value for name, value in kept.items() if name not in ("model", "against")}
    return {
        "kept": of_all,
        "all_models": _url(of_all),
        "all_time": _url(kept, range=timespans.ALL),
        "ranges": [(words, _url(kept, range=name), name == span.name) for name, words in timespans.CHOICES.items()],
        "groupings": [(name, _url(kept, by=name), name == group) for name in (*GROUPINGS, TOOL)],
        "comparisons": [
            (words, _url(kept, compare=name), name == compared.time and not compared.against)
            for name, (words, _) in COMPARED.items()
        ],
        "csv": {table: _url(kept, csv=table) for table in TABLES},
    }


def _one_of(names: Collection[str], name: str, usual: str) -> str:
    return name if name in names else usual


def _url(kept: Mapping[str, str], **changes: str) -> str:
    """The same page with something else chosen; another range replaces `since` and `until`."""
    left = {name: value for name, value in kept.items() if "range" not in changes or name not in ("since", "until")}
    return f"?{urlencode({**left, **changes})}"
