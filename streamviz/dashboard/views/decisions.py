"""What people do to a running stream: decide about a held block, or cancel all of it."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_POST

from streamviz.core.verdicts import Decision
from streamviz.dashboard import roles
from streamviz.dashboard.pages import needs, number_in
from streamviz.live import actions
from streamviz.live.feed import feed
from streamviz.live.presentation import marks
from streamviz.live.publisher import publisher


@needs(roles.DECIDE)
@require_POST
async def decide(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """Allow or deny a held block by hand, if the question `asks` is still open. The response says who did, in place of
    the buttons; what came of it appears on the page as a verdict. 409 if it is too late."""
    asks, decision = number_in(request.POST, "asks"), request.POST.get("decision", "")
    if asks is None or decision not in actions.DECISIONS:
        return _said(400, "Name a question, and allow or deny.")
    by, for_session = await _user_name(request), request.POST.get("scope") == "session"
    told = stream_id, asks, Decision(decision), by
    is_decided: bool | None = actions.decide(feed, *told, for_session=for_session)
    if not is_decided and publisher.workers is not None and feed.get(stream_id) is None:
        is_decided = await publisher.workers.decide(*told, for_session=for_session)
    if not is_decided:
        return _answer(is_decided, "Already decided.")
    said = {"by": by, "mark": marks.DECISIONS[Decision(decision)], "at": timezone.now()}
    return render(request, "dashboard/_decided.html", said)


@needs(roles.CANCEL)
@require_POST
async def cancel(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """Cancel a stream: upstream is closed, and the client told in its own format. 409 if it is over."""
    by = await _user_name(request)
    is_cancelled: bool | None = actions.cancel(feed, stream_id, by)
    if not is_cancelled and publisher.workers is not None and feed.get(stream_id) is None:
        is_cancelled = await publisher.workers.cancel(stream_id, by)
    return _answer(is_cancelled, "This stream has already ended.")


def _answer(is_done: bool | None, too_late: str) -> HttpResponse:
    """`is_done` is None if the worker that runs the stream, if there still is one, did not answer."""
    if is_done is None:
        return _said(504, "No server answered. The stream may have ended; this page shows the outcome.")
    return HttpResponse(status=204) if is_done else _said(409, too_late)


async def _user_name(request: HttpRequest) -> str:
    return (await request.auser()).get_username()


def _said(status: int, text: str) -> HttpResponse:
    return HttpResponse(text, status=status, content_type="text/plain")
