"""The tree of turns as a list of lines of text, each of which says where lists below it begin and end."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple
from uuid import UUID

from streamviz.live.presentation.conversation import title_for, took
from streamviz.live.presentation.figures import plural
from streamviz.live.presentation.rows import GRAVEST_FIRST
from streamviz.live.presentation.turn_tree import Line, Turn
from streamviz.live.presentation.views import StreamView


class Item(NamedTuple):
    """A turn in the tree, or (with an `icon`) the name of what hangs from it. `opens`: a list begins below it;
    `closes`: how many lists end after it."""

    turn: Turn
    title: str
    note: str
    icon: str = ""
    is_attempt: bool = False
    marks: tuple[tuple[str, str, str], ...] = ()
    opens: bool = False
    closes: int = 0

    @property
    def closing(self) -> range:
        return range(self.closes)


_NAMES = {"fork": ("fork", "fork"), "subagent": ("agent", "sub-agent"), "step": ("agent", "calls of the run")}


def outline_of_lines(main: Line, streams: Mapping[UUID, StreamView]) -> list[Item]:
    """The main line with everything that hangs from its turns."""
    items = list(_of_line(main, streams))
    if not main.turns:
        return items
    start = streams[main.turns[0].attempts[0] if main.turns[0].attempts else main.turns[0].stream].requested_at
    return [item._replace(note=_note(item, streams, start)) if not item.note else item for item in items]


def _of_line(line: Line, streams: Mapping[UUID, StreamView]) -> Iterator[Item]:
    for turn in line.turns:
        below = [*_attempts(turn, streams), *(item for branch in turn.branches for item in _branch(branch, streams))]
        stream = streams[turn.stream]
        yield Item(turn, title_for(stream), "", marks=tuple(_marks(stream)), opens=bool(below))
        if below:
            yield from below[:-1]
            yield below[-1]._replace(closes=below[-1].closes + 1)


def _attempts(turn: Turn, streams: Mapping[UUID, StreamView]) -> Iterator[Item]:
    for position, each in enumerate(turn.attempts):
        stream = streams[each]
        title = "first attempt" if not position else f"attempt {position + 1}"
        note = stream.outcome.replace("_", " ")
        yield Item(turn, title, f"{took(stream)} · {note}", "retry", True, (("deny", "tone-deny", note),))


def _branch(line: Line, streams: Mapping[UUID, StreamView]) -> Iterator[Item]:
    icon, name = _NAMES[line.kind]
    below = list(_of_line(line, streams))
    yield Item(line.turns[0], name, plural(len(line.turns), line.noun), icon, opens=True)
    yield from below[:-1]
    yield below[-1]._replace(closes=below[-1].closes + 1)


def _note(item: Item, streams: Mapping[UUID, StreamView], start: int) -> str:
    stream = streams[item.turn.stream]
    seconds = max(0, stream.requested_at - start) // 1_000_000
    return f"{seconds // 60}:{seconds % 60:02} · {took(stream)}"


def _marks(stream: StreamView) -> Iterator[tuple[str, str, str]]:
    """Icon, colour and word of what policies and people did, and of how the stream failed."""
    did = {each.word: each for each in stream.verdicts if each.intervened}
    for word in sorted(did, key=GRAVEST_FIRST.index):
        css = did[word].mark.css
        yield did[word].mark.icon, "tone-replace" if css == "replace" else "tone-deny", word
    if any(each.by and not each.intervenes for each in stream.verdicts):
        yield "user", "tone-allow", "allowed by a person"
    if stream.outcome not in ("", "completed", "halted"):
        yield "deny", "tone-deny", stream.outcome.replace("_", " ")
