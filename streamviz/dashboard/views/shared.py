"""What strangers see of a record by a public link."""

from dataclasses import replace

from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from streamviz.dashboard import conversations
from streamviz.live.presentation.conversation import TurnView, conversation_of
from streamviz.live.presentation.said_parts import calls_of
from streamviz.records.models import PublicLink, Session, Stream

# Nothing runs there, nothing is fetched but our own stylesheets, and no address tells another site the link.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
}


@require_safe
@never_cache
def shared(request: HttpRequest, secret: str) -> HttpResponse:
    """What a stranger may read who has a link: one conversation, without a way to anything else."""
    link = PublicLink.objects.opened_by(secret)
    if link is None:
        raise Http404("No such link.")
    session = link.stream.session if link.stream else link.session
    if session is None:
        raise Http404("No such link.")
    turns, is_cut = _turns(session, link.stream)
    # A session's label is what its first request says, which is another stream's perhaps.
    title = "A recorded stream" if link.stream else session.label or "A recorded session"
    context = {"link": link, "turns": turns, "is_cut": is_cut, "title": title}
    page = render_to_string("dashboard/shared.html", context, request)
    return HttpResponse(page, headers=_HEADERS)


def _turns(session: Session, only: Stream | None) -> tuple[list[TurnView], bool]:
    """The turns of a session as far as a page has room, or the one of a stream."""
    turns = conversations.turn_alone(only) if only else conversations.turns_of(session, None)
    sources = conversations.sources_of(turns, turns.all)
    calls = calls_of((turn, turns.views[turn.stream]) for turn in turns.all)
    told = [_without_names(turn) for turn in conversation_of(sources, calls)]
    return told, turns.following is not None


def _without_names(turn: TurnView) -> TurnView:
    """With what a person decided, and not who that was. When is left out too: no script there keeps it true."""
    badges = [
        badge._replace(word=f"{badge.word.split(maxsplit=1)[0]} by hand", since_ms=None) if badge.is_by_hand else badge
        for badge in turn.badges
    ]
    return replace(turn, badges=badges)
