"""The page of requests that were refused before they became streams, and the line about the newest on other pages."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from streamviz.dashboard import roles
from streamviz.dashboard.pages import is_part, needs, render_page
from streamviz.live.feed import has_passed, now_us
from streamviz.live.publisher import publisher
from streamviz.live.refusals import Refusal
from streamviz.records.moments import as_datetime

# How long Live and Errors mention a refused request, for people who have just set up a client.
LATELY_US = 600 * 1_000_000


class _Row(NamedTuple):
    refusal: Refusal
    first: datetime
    last: datetime


@needs(roles.VIEW)
@require_safe
async def refused(request: HttpRequest) -> HttpResponse:
    """The refused requests that the servers remember, similar ones in one row; scripts get a line about the
    newest."""
    rows = _rows(await publisher.refusals())
    if is_part(request):
        return await render_page(request, "dashboard/_refused_lately.html", _lately(rows))
    return await render_page(request, "dashboard/refused.html", {"page": "sessions", "rows": rows})


def _lately(rows: Sequence[_Row]) -> dict[str, object]:
    now = now_us()
    recent = [row for row in rows if not has_passed(LATELY_US, row.refusal.last_at, now)]
    return {"is_told": True, "newest": recent[0] if recent else None, "sorts": len(recent)}


def _rows(refusals: Sequence[Refusal]) -> list[_Row]:
    return [_Row(each, as_datetime(each.first_at), as_datetime(each.last_at)) for each in refusals]
