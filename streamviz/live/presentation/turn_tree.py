"""The turns of a session as a tree: a main line, from which retries, forks, sub-agents and runs' calls hang."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID


class Link(NamedTuple):
    """A stream and how it continues its `parent`: turn, retry, fork, subagent, step, or "" if that is unknown."""

    stream: UUID
    parent: UUID | None = None
    relation: str = ""


# Relations of what a turn called, which does not continue the turn's answer.
_WITHIN = ("subagent", "step")
_NAMES = {"subagent": "Sub-agent", "fork": "Fork", "step": "Calls of the run"}
_TITLES = {"subagent": "sub-agent", "fork": "fork", "step": "calls"}


@dataclass(eq=False, slots=True)
class Turn:
    """A request that was answered. `stream` is the last attempt at it, `attempts` are those before.

    `before` is the stream whose answer it continues, None if there is none.
    """

    stream: UUID
    number: str
    line: "Line"
    ordinal: int
    before: UUID | None = None
    relation: str = ""
    attempts: list[UUID] = field(default_factory=list)
    branches: list["Line"] = field(default_factory=list)
    helpers: int = 0


@dataclass(eq=False, slots=True)
class Line:
    """Turns that follow one another. All lines but the main one hang from `origin`, as a fork, a sub-agent or the calls
    of a run (`kind`)."""

    kind: str = "main"
    origin: Turn | None = None
    prefix: str = ""
    letter: str = ""
    turns: list[Turn] = field(default_factory=list)

    @property
    def noun(self) -> str:
        """What each of its turns is called."""
        return "call" if self.kind == "step" else "turn"

    @property
    def name(self) -> str:
        """Its name below the turn that it hangs from."""
        return _NAMES.get(self.kind, "")

    @property
    def title(self) -> str:
        """Its name by itself."""
        if self.origin is None:
            return "main line" if self.kind == "main" else "sub-agent"
        return f"{_TITLES[self.kind]} of {self.origin.number}"


def lines_of(links: Iterable[Link]) -> list[Line]:
    """The lines of a session, the main one first, from its streams in the order of time.

    A stream whose parent is not among them follows the one before it on the main line, as nothing better is known. A
    sub-agent whose caller is unknown hangs from that one; if it began before all others, from the first.
    """
    told = list(links)
    at = next((at for at, link in enumerate(told) if link.parent is None and link.relation != "subagent"), 0)
    return _Tree().grown([*told[at : at + 1], *told[:at], *told[at + 1 :]])


class _Tree:
    def __init__(self) -> None:
        self.lines = [Line()]
        self._turns: dict[UUID, Turn] = {}
        self._forks: Counter[str] = Counter()

    def grown(self, links: Iterable[Link]) -> list[Line]:
        for link in links:
            self._turns[link.stream] = self._placed(link, self._parent_of(link))
        return self.lines

    def _parent_of(self, link: Link) -> Turn | None:
        if link.parent is not None:
            return self._turns.get(link.parent)
        main = self.lines[0].turns
        return main[-1] if main and link.relation == "subagent" else None

    def _placed(self, link: Link, parent: Turn | None) -> Turn:
        if parent is not None and link.relation == "retry":
            parent.attempts.append(parent.stream)
            parent.stream = link.stream
            return parent
        line = self._line_for(link, parent)
        turn = self._next_of(line, link)
        turn.before = self._before(link, parent, line)
        line.turns.append(turn)
        return turn

    def _line_for(self, link: Link, parent: Turn | None) -> Line:
        if parent is None:
            return self.lines[0]
        if link.relation == "subagent":
            return self._branch(parent, Line("subagent", parent, f"{parent.number}."))
        if link.relation == "step":
            known = next((line for line in parent.branches if line.kind == "step"), None)
            return known or self._branch(parent, Line("step", parent, f"{parent.number}."))
        if link.relation == "fork" or parent.line.turns[-1] is not parent:
            self._forks[parent.line.prefix] += 1
            letter = _letter(self._forks[parent.line.prefix])
            return self._branch(parent, Line("fork", parent, parent.line.prefix, letter))
        return parent.line

    def _branch(self, parent: Turn, line: Line) -> Line:
        parent.branches.append(line)
        self.lines.append(line)
        return line

    def _next_of(self, line: Line, link: Link) -> Turn:
        if line.kind in _WITHIN and line.origin is not None:
            # All that one turn called is numbered in sequence, so that no number occurs twice.
            line.origin.helpers += 1
            ordinal = line.origin.helpers
        elif line.turns:
            ordinal = line.turns[-1].ordinal + 1
        else:
            ordinal = line.origin.ordinal + 1 if line.origin is not None else 1
        return Turn(link.stream, f"{line.prefix}{ordinal}{line.letter}", line, ordinal, relation=link.relation)

    def _before(self, link: Link, parent: Turn | None, line: Line) -> UUID | None:
        if parent is not None:
            return None if link.relation in _WITHIN else link.parent
        return line.turns[-1].stream if line.turns and not link.parent else None


def _letter(number: int) -> str:
    """b, c, …, z, za, zb, …: the first line has no letter."""
    letters = ""
    while number > 25:
        letters, number = f"{letters}z", number - 25
    return letters + chr(ord("a") + number)
