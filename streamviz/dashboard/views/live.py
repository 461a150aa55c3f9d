"""The Live page, and the button that gives it something to show."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from streamviz.dashboard import demo, roles
from streamviz.dashboard.pages import needs, render_page
from streamviz.live import rendering
from streamviz.live.feed import now_us
from streamviz.live.wall_topic import current_wall
from streamviz.simulator.scenarios import listing

# What people want to see first, in that order; the rest follows.
_FIRST = ("thinking", "content-tools-empty", "parallel-tools", "dangerous", "long-content-tools", "stall", "big")


@needs(roles.VIEW)
@require_safe
async def live(request: HttpRequest) -> HttpResponse:
    """All streams that run in this worker or have just ended."""
    wall = current_wall()
    html = await rendering.wall(wall.rows(now_us()))
    context = {
        "page": "live",
        "wall": html,
        "tally": wall.tally,
        "scenarios": _scenarios(),
        "base_url": request.build_absolute_uri("/").rstrip("/"),
    }
    return await render_page(request, "dashboard/live.html", context)


@needs(roles.SIMULATE)
@require_POST
async def simulate(request: HttpRequest) -> HttpResponse:
    """Send a simulated stream of the chosen scenario."""
    scenario = request.POST.get("scenario", "")
    if scenario not in listing():
        return HttpResponse("There is no such scenario.", status=400, content_type="text/plain")
    try:
        await demo.send(scenario)
    except demo.DemoKeyRevoked:
        messages.error(request, f"The key “{demo.KEY_NAME}” was revoked, so no simulated stream can be sent.")
    return redirect("live")


def _scenarios() -> list[tuple[str, str]]:
    known = listing()
    ordered = [*(name for name in _FIRST if name in known), *(name for name in known if name not in _FIRST)]
    return [(name, known[name]) for name in ordered]
