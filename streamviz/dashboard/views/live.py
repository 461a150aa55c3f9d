"""The Live page, and the button that gives it something to show."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from streamviz.dashboard import demo, roles
from streamviz.dashboard.pages import base_url, needs, render_page
from streamviz.dashboard.setting_up import setting_up
from streamviz.live.filters import parse_filter, shortcuts_of, unknown_fields
from streamviz.live.pace import Pace
from streamviz.live.publisher import publisher
from streamviz.live.row_facts import unknown_values
from streamviz.live.wall_topic import WallTopic
from streamviz.simulator.scenarios import listing

# What people want to see first, in that order; the rest follows.
_FIRST = ("thinking", "content-tools-empty", "parallel-tools", "dangerous", "long-content-tools", "stall", "big")
# Filters that are a click away; together they are one choice.
_SHORTCUTS = {
    "All": "",
    "Needs you": 'state:"needs you"',
    "Held": "state:held",
    "Stalled": "state:stalled",
    "Intervened": "verdict:deny verdict:replace verdict:halt",
}


@needs(roles.VIEW)
@require_safe
async def live(request: HttpRequest) -> HttpResponse:
    """All streams that run or have just ended, or those that match `?q=`."""
    wanted = parse_filter(" ".join(request.GET.getlist("q")))
    await publisher.catch_up()
    context = {
        "page": "live",
        "wall": await WallTopic(publisher.wall, wanted).html(Pace()),
        "tally": publisher.wall.tally,
        "others_away": publisher.wall.are_others_away,
        "filter": wanted,
        "problems": [*unknown_fields(wanted), *unknown_values(wanted)],
        "chips": [(term, wanted.without(term)) for term in wanted.terms],
        "shortcuts": shortcuts_of(_SHORTCUTS, wanted),
        "scenarios": _scenarios(),
        **setting_up(base_url(request)),
    }
    return await render_page(request, "dashboard/live.html", context)


@needs(roles.VIEW)
@require_safe
async def needs_you(request: HttpRequest) -> HttpResponse:
    """How many streams wait for a person, for pages that watch nothing."""
    return HttpResponse(publisher.nav_asks())


@needs(roles.SIMULATE)
@require_POST
async def simulate(request: HttpRequest) -> HttpResponse:
    """Send a simulated stream of the chosen scenario."""
    scenario = request.POST.get("scenario", "")
    if scenario not in listing():
        return HttpResponse("No such scenario.", status=400, content_type="text/plain")
    try:
        await demo.send(scenario)
    except demo.DemoKeyRevoked:
        messages.error(request, f"The key “{demo.KEY_NAME}” is revoked, so simulated streams cannot be sent.")
    return redirect("live")


def _scenarios() -> list[tuple[str, str]]:
    known = listing()
    ordered = [*(name for name in _FIRST if name in known), *(name for name in known if name not in _FIRST)]
    return [(name, known[name]) for name in ordered]
