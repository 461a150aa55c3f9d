"""A session's page: its turns over time, as a tree, and as a conversation to read."""

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from streamviz.dashboard import conversations, queries, roles
from streamviz.dashboard.conversations import Turns
from streamviz.dashboard.pages import needs
from streamviz.dashboard.turn_facts import session_facts, turn_facts
from streamviz.dashboard.turn_links import TurnLinks
from streamviz.live.feed import now_us
from streamviz.live.presentation import marks
from streamviz.live.presentation.conversation import conversation_of
from streamviz.live.presentation.offered import offered_of
from streamviz.live.presentation.said_parts import calls_of
from streamviz.live.presentation.session_story import last_of, story_of
from streamviz.live.presentation.turn_drawing import drawing_of
from streamviz.live.presentation.turn_outline import outline_of_lines
from streamviz.live.presentation.turn_tree import Turn
from streamviz.records.models import Annotation, Session
from streamviz.records.queries.pages import Place


@needs(roles.VIEW)
@require_safe
def session(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """One session. `?turn=` names the selected turn, and so the line that is shown."""
    found = get_object_or_404(Session.objects.select_related("key"), pk=session_id)
    after = request.GET.get("after", "")
    turns = conversations.turns_of(found, Place.read(after))
    selected = turns.named(request.GET.get("turn", ""))
    is_cut = request.GET.get("time") != "scale"
    links = TurnLinks(after, is_cut=is_cut)
    totals = queries.with_totals([found])[0]
    context: dict[str, Any] = {
        "page": "sessions",
        "session": found,
        "totals": totals,
        "facts": session_facts(found, totals, turns),
        "interventions": [
            (marks.DECISIONS[decision], number, links.to(turn))
            for decision, turn, number in conversations.interventions(turns)
        ],
        "following": turns.following,
        "turn_count": len(turns.all),
    }
    if turns.all:
        context["story"] = story_of(turns.all, turns.views, conversations.last_words(last_of(turns.all)))
        context |= _conversation(turns, selected or turns.all[0], links)
        context["is_chosen"] = selected is not None
    return render(request, "dashboard/session.html", context)


def _conversation(turns: Turns, selected: Turn, links: TurnLinks) -> dict[str, Any]:
    """The turns that are shown with the selected one, and what is beside them."""
    shown, first = conversations.shown_of(selected)
    sources = conversations.sources_of(turns, shown)
    calls = calls_of((turn, turns.views[turn.stream]) for turn in turns.all)
    line = selected.line
    after = first + len(shown)
    return {
        "fall": drawing_of(turns.lines, turns.views, now_us(), is_cut=links.is_cut),
        "links": links,
        "outline": outline_of_lines(turns.lines[0], turns.views),
        "line_count": sum(1 for each in turns.lines if each.turns),
        "line": line,
        "selected": selected,
        "turns": conversation_of(sources, calls),
        "annotations": {each.pk: each for each in Annotation.objects.filter(pk__in=[turn.stream for turn in shown])},
        "offered": offered_of([(source.turn, source.outline) for source in sources]),
        "earlier": line.turns[first - 1] if first else None,
        "later": line.turns[after] if after < len(line.turns) else None,
        "first": first + 1,
        "last": after,
        "about": turn_facts(turns.records[selected.stream], turns.views[selected.stream]),
    }
