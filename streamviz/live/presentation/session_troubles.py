"""Where a session went wrong, for its story: requests that failed, and what policies and people changed."""

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import NamedTuple
from uuid import UUID

from streamviz.live.presentation import marks
from streamviz.live.presentation.block_views import VerdictView
from streamviz.live.presentation.text import one_line, plain_reason
from streamviz.live.presentation.turn_tree import Turn
from streamviz.live.presentation.views import StreamView

NAME = 60
_WHY = 200


class Trouble(NamedTuple):
    """Something that did not go as the model or the client intended: in which turn, what, and why."""

    turn: Turn
    icon: str
    tone: str
    what: str
    why: str


def troubles_of(turn: Turn, streams: Mapping[UUID, StreamView]) -> Iterator[Trouble]:
    """The troubles of a turn, those of its attempts first."""
    for each in turn.attempts:
        yield from _failure(turn, streams[each])
    stream = streams[turn.stream]
    acted = sorted((each for each in stream.verdicts if each.intervened), key=attrgetter("at"))
    yield from (_intervention(turn, each) for each in _one_a_subject(acted))
    yield from _failure(turn, stream)


def _one_a_subject(verdicts: Iterable[VerdictView]) -> Iterable[VerdictView]:
    """The gravest verdict on each block, and on the stream as a whole."""
    order = list(marks.DECISIONS)
    found: dict[int | None, VerdictView] = {}
    for each in verdicts:
        before = found.get(each.ordinal)
        if before is None or order.index(each.decision) > order.index(before.decision):
            found[each.ordinal] = each
    return found.values()


def _intervention(turn: Turn, verdict: VerdictView) -> Trouble:
    name = one_line(verdict.block_name, NAME) or "request"
    by = one_line(verdict.by or verdict.policy, NAME)
    tone = "tone-replace" if verdict.mark.css == "replace" else "tone-deny"
    what = f"{name} {verdict.mark.done} by {by}"
    return Trouble(turn, verdict.mark.icon, tone, what, one_line(plain_reason(verdict.reason, name), _WHY))


def _failure(turn: Turn, stream: StreamView) -> Iterator[Trouble]:
    is_told = stream.outcome == "halted" and any(
        each.intervened for each in stream.verdicts
    )  # by the verdict that halted it
    if stream.outcome not in ("", "completed") and not is_told:
        mark = marks.OUTCOMES.get(stream.outcome, marks.RUNNING)
        yield Trouble(turn, "deny", mark.tone, mark.word, one_line(stream.error, _WHY))
