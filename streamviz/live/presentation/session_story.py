"""A session in a few lines, for somebody who is new to it: what it did, where it went wrong, how it ended."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from streamviz.core.events import BlockKind
from streamviz.live.presentation import marks
from streamviz.live.presentation.session_troubles import NAME, Trouble, troubles_of
from streamviz.live.presentation.text import one_line
from streamviz.live.presentation.turn_tree import Turn
from streamviz.live.presentation.views import StreamView

_MOST_TOOLS = 8
_MOST_TROUBLES = 4
_LAST_WORDS = 240


class Story(NamedTuple):
    """`turns` is how many there are; `tools` are those that were called, the first called first, with how often.
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
    """The story of these turns (at least one). `last_words` is the beginning of the last answer's text."""
    tools = Counter(one_line(name, NAME) for turn in turns for name in _called(streams[turn.stream]))
    in_time = sorted(turns, key=lambda turn: streams[turn.stream].requested_at)
    troubles = [trouble for turn in in_time for trouble in troubles_of(turn, streams)]
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
    """The last turn of the main line, which comes first."""
    return next((turn for turn in turns if turn.line.kind == "main"), turns[0]).line.turns[-1]


def _beginning(text: str) -> str:
    if not any(each.isprintable() for each in text[: 2 * _LAST_WORDS] if each != " "):
        return ""
    shown = one_line(text, _LAST_WORDS)
    return f"{shown}…" if len(text) > len(shown) else shown


def _called(stream: StreamView) -> Iterator[str]:
    return (block.title for block in stream.blocks if block.kind is BlockKind.TOOL_CALL)
