"""The state of streamviz: its processes, what waits for Postgres, the database's size, what retention last did."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from streamviz.dashboard import roles
from streamviz.dashboard.machines import machine_rows
from streamviz.dashboard.pages import needs
from streamviz.environment import COMMAND
from streamviz.live.feed import now_us
from streamviz.live.fleet import machines_of, versions_of
from streamviz.live.publisher import publisher
from streamviz.records import replica
from streamviz.records.backlog import backlog
from streamviz.records.models import RetentionRun
from streamviz.records.queries.sizes import archive_size, table_sizes


@needs(roles.VIEW)
@require_safe
def system(request: HttpRequest) -> HttpResponse:
    """The journals are those of the machine that answers; the live updates left out are those of all workers."""
    tables = table_sizes()
    members = publisher.members()
    fleet = machines_of(members)
    context = {
        "page": "system",
        "command": COMMAND,
        "backlog": backlog(settings.JOURNAL_DIR, settings.JOURNAL_LIMITS),
        "dropped": publisher.dropped,
        "replica": _replica(),
        "machines": machine_rows(fleet, members[0].machine if members else "", now_us()),
        "versions": versions_of(fleet),
        "others_away": publisher.wall.are_others_away,
        "refuses": settings.JOURNAL_LIMITS.refuses,
        "tables": tables,
        "size": None if tables is None else sum(table.size for table in tables),
        "archive": settings.ARCHIVE,
        "archive_size": archive_size(),
        "retention": settings.RETENTION,
        "last_run": RetentionRun.objects.order_by("-pk").first(),
    }
    return render(request, "dashboard/system.html", context)


def _replica() -> replica.Health | None:
    if not replica.is_set():
        return None
    replica.health.is_usable()
    return replica.health
