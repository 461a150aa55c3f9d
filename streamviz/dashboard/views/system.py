"""How streamviz itself does: what waits for Postgres, how large the database is, what retention last did."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from streamviz.dashboard import roles
from streamviz.dashboard.pages import needs
from streamviz.live.publisher import publisher
from streamviz.records.backlog import backlog
from streamviz.records.models import RetentionRun
from streamviz.records.queries.sizes import table_sizes


@needs(roles.VIEW)
@require_safe
def system(request: HttpRequest) -> HttpResponse:
    """The journals are those of the machine that answers, live updates left out those of all workers."""
    tables = table_sizes()
    context = {
        "page": "system",
        "backlog": backlog(settings.JOURNAL_DIR, settings.JOURNAL_LIMITS),
        "dropped": publisher.dropped,
        "others_away": publisher.wall.are_others_away,
        "refuses": settings.JOURNAL_LIMITS.refuses,
        "tables": tables,
        "size": None if tables is None else sum(table.size for table in tables),
        "retention": settings.RETENTION,
        "last_run": RetentionRun.objects.first(),
    }
    return render(request, "dashboard/system.html", context)
