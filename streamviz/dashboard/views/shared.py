"""What strangers see of the record through a public link."""

from dataclasses import replace
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from streamviz.dashboard import conversations
from streamviz.dashboard.conversations import TURNS_SHOWN, Turns
from streamviz.dashboard.turn_links import TurnLinks
from streamviz.live.presentation.conversation import TurnView, conversation_of
from streamviz.live.presentation.said_parts import calls_of
from streamviz.live.presentation.turn_tree import Turn
from streamviz.records.models import PublicLink
from streamviz.records.queries.pages import Place

# No script runs, only our own stylesheets and images are loaded, and no referrer tells another site the link.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
}


@require_safe
@never_cache
def shared(request: HttpRequest, secret: str) -> HttpResponse:
    """What a stranger with a link may read: one conversation, without a way to anything else."""
    link = PublicLink.objects.opened_by(secret)
    if link is None:
        raise Http404("No such link.")
    session = link.stream.session if link.stream else link.session
    if session is None:
        raise Http404("No such link.")
    after = request.GET.get("after", "")
    turns = conversations.turn_alone(link.stream) if link.stream else conversations.turns_of(session, Place.read(after))
    # A session's label comes from its first request, which may be another stream's.
    title = "A recorded stream" if link.stream else session.label or "A recorded session"
    context = {"link": link, "title": title, "links": TurnLinks(after, is_cut=True), "following": turns.following}
    context |= _read_with(turns.named(request.GET.get("turn", "")), turns)
    page = render_to_string("dashboard/shared.html", context, request)
    return HttpResponse(page, headers=_HEADERS)


def _read_with(selected: Turn | None, turns: Turns) -> dict[str, Any]:
    """The turns that are shown with the selected one, of all lines, and those before and after them."""
    every = turns.all
    first = every.index(selected) // TURNS_SHOWN * TURNS_SHOWN if selected else 0
    shown, after = every[first : first + TURNS_SHOWN], first + TURNS_SHOWN
    sources = conversations.sources_of(turns, shown)
    calls = calls_of((turn, turns.views[turn.stream]) for turn in every)
    return {
        "turns": [_without_names(turn) for turn in conversation_of(sources, calls)],
        "earlier": every[first - 1] if first else None,
        "later": every[after] if after < len(every) else None,
        "first": first + 1,
        "last": after,
    }


def _without_names(turn: TurnView) -> TurnView:
    """The turn with what a person decided, but not who. When is left out, too: no script there keeps it current."""
    badges = [
        badge._replace(word=f"{badge.word.split(maxsplit=1)[0]} by hand", since_ms=None) if badge.is_by_hand else badge
        for badge in turn.badges
    ]
    return replace(turn, badges=badges)
