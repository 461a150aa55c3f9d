"""A session in a few lines, for who sees it for the first time: what it did, where it went wrong, how it ended."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple
from uuid import UUID

from streamviz.core.events import BlockKind
from streamviz.live.presentation import marks
from streamviz.live.presentation.block_views import VerdictView
from streamviz.live.presentation.text import one_line, plain_reason
from streamviz.live.presentation.turn_tree import Turn
from streamviz.live.presentation.views import StreamView

_MOST_TOOLS = 8
_MOST_TROUBLES = 4
_NAME = 60
_WHY = 200
_LAST_WORDS = 240


class Trouble(NamedTuple):
    """Something that did not go as the model or the client meant it: in which turn, what, and why."""

    turn: Turn
    icon: str
    tone: str
    what: str
    why: str


class Story(NamedTuple):
    """`tools` are those that were called, with how often, the first called first, and `turns` how many there are.
    `ended` is the last turn of the main line, with its state and the beginning of what it said."""

    turns: int
    tools: list[tuple[str, int]]
    more_tools: int
    troubles: list[Trouble]
    more_troubles: int
    ended: Turn
    state: marks.StateMark
    last_words: str

    @property
    def is_calm(self) -> bool:
        """Whether nothing went wrong."""
        return not self.troubles


def story_of(turns: Sequence[Turn], streams: Mapping[UUID, StreamView], last_words: str) -> Story:
    """What these turns come to; there is one at least. `last_words` is the text of the last answer, from the left."""
    tools = Counter(one_line(name, _NAME) for turn in turns for name in _called(streams[turn.stream]))
    in_time = sorted(turns, key=lambda turn: streams[turn.stream].requested_at)
    troubles = [trouble for turn in in_time for trouble in _troubles(turn, streams)]
    ended = last_of(turns)
    return Story(
        turns=len(turns),
        tools=list(tools.items())[:_MOST_TOOLS],
        more_tools=max(0, len(tools) - _MOST_TOOLS),
        troubles=troubles[:_MOST_TROUBLES],
        more_troubles=max(0, len(troubles) - _MOST_TROUBLES),
        ended=ended,
        state=marks.OUTCOMES.get(streams[ended.stream].outcome, marks.RUNNING),
        last_words=_beginning(last_words),
    )


def last_of(turns: Sequence[Turn]) -> Turn:
    """The last turn of the main line, which comes first among lines."""
    return next((turn for turn in turns if turn.line.kind == "main"), turns[0]).line.turns[-1]


def _beginning(text: str) -> str:
    shown = one_line(text, _LAST_WORDS)
    if not any(each.isprintable() for each in shown if each != " "):
        return ""
    return f"{shown}…" if len(text) > len(shown) else shown


def _called(stream: StreamView) -> Iterator[str]:
    return (block.title for block in stream.blocks if block.kind is BlockKind.TOOL_CALL)


def _troubles(turn: Turn, streams: Mapping[UUID, StreamView]) -> Iterator[Trouble]:
    for each in turn.attempts:
        yield from _failure(turn, streams[each])
    stream = streams[turn.stream]
    acted = (each for each in stream.verdicts if each.intervenes and not each.is_shadow)
    yield from (_intervention(turn, each) for each in _one_a_subject(sorted(acted, key=attrgetter("at"))))
    yield from _failure(turn, stream)


def _one_a_subject(verdicts: Iterable[VerdictView]) -> Iterable[VerdictView]:
    """The gravest on each block, and on the stream as a whole."""
    order = list(marks.DECISIONS)
    found: dict[int | None, VerdictView] = {}
    for each in verdicts:
        before = found.get(each.ordinal)
        if before is None or order.index(each.decision) > order.index(before.decision):
            found[each.ordinal] = each
    return found.values()


def _intervention(turn: Turn, verdict: VerdictView) -> Trouble:
    name = one_line(verdict.block_name, _NAME) or "request"
    by = one_line(verdict.by or verdict.policy, _NAME)
    tone = "tone-replace" if verdict.mark.css == "replace" else "tone-deny"
    what = f"{name} {verdict.mark.done} by {by}"
    return Trouble(turn, verdict.mark.icon, tone, what, one_line(plain_reason(verdict.reason, name), _WHY))


def _failure(turn: Turn, stream: StreamView) -> Iterator[Trouble]:
    if stream.outcome not in ("", "completed", "halted"):
        mark = marks.OUTCOMES.get(stream.outcome, marks.RUNNING)
        yield Trouble(turn, "deny", mark.tone, mark.word, one_line(stream.error, _WHY))
