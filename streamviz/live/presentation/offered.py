"""What requests repeat, shown once: the system prompt and the tools that are offered, and how they change."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from streamviz.core.request_outline import RequestOutline, system_of, tools_of
from streamviz.live.presentation.cutting import Cut, cut
from streamviz.live.presentation.text import byte_size, one_line
from streamviz.live.presentation.turn_tree import Turn

_MOST_SAID = 24_000
_MOST_TOOLS = 200
_FEW_TOOLS = 25
_HEAD = 110


class Change(NamedTuple):
    """A change of what stands over the conversation: tools that came or went, or another system prompt."""

    icon: str
    what: str
    names: list[str]
    note: str


class Offered(NamedTuple):
    """The system prompt and the tools that requests repeat, as they were first; `later` came with a later turn."""

    system: Cut
    system_size: str
    system_line: str
    tools: list[str]
    later: list[tuple[str, str]]
    tools_note: str
    tools_size: str
    turn: Turn

    @property
    def has_few_tools(self) -> bool:
        """Whether their names are shown unasked."""
        return len(self.tools) < _FEW_TOOLS


def changes_of(outline: RequestOutline | None, before: RequestOutline | None) -> Iterator[Change]:
    """What stands over the conversation otherwise than in the request before."""
    if outline is None or before is None or outline.is_odd or before.is_odd:
        return
    if outline.tools != before.tools:
        new, old = tools_of(outline), tools_of(before)
        added, gone = [each for each in new if each not in old], [each for each in old if each not in new]
        other = [each for each in new if each in old and new[each] != old[each]]
        for icon, what, names in (("plus", "added", added), ("minus", "gone", gone), ("replace", "changed", other)):
            if names:
                size = sum(len(new.get(each) or old[each]) for each in names)
                shown = [one_line(each, 60) for each in names[:20]]
                yield Change(icon, f"tools changed: {len(names)} {what},", shown, f"{byte_size(size)} of schema")
    new_words, old_words = (_standing(each) for each in (outline, before))
    if new_words != old_words and (was := system_of(before)) != (said := system_of(outline)):
        note = f"{byte_size(len(was.encode('utf-8', 'replace')))} before"
        yield Change("note", "system prompt changed:", [one_line(said, _HEAD)], note)


def _standing(outline: RequestOutline) -> tuple[bytes, Sequence[bytes]]:
    return outline.system, outline.turns[: outline.standing]


def offered_of(requests: Sequence[tuple[Turn, RequestOutline | None]]) -> Offered | None:
    """What requests repeat: as the first of these has it, and what later ones added to it."""
    known = [(turn, outline) for turn, outline in requests if outline is not None and not outline.is_odd]
    if not known:
        return None
    first, offering = known[0]
    system, tools = system_of(offering), tools_of(offering)
    if not system and not tools:
        return None
    later: dict[str, str] = {}
    for turn, outline in known[1:]:
        if outline.tools != offering.tools:
            added = (name for name in tools_of(outline) if name not in tools)
            later |= {name: turn.number for name in added if name not in later}
    size = len(system.encode("utf-8", "replace"))
    note = f"{len(tools)} at first, {len(tools) + len(later)} later" if later else f"{len(tools)}"
    return Offered(
        system=cut(system, _MOST_SAID),
        system_size=byte_size(size) if system else "",
        system_line=one_line(system, _HEAD),
        tools=[one_line(name, 80) for name in list(tools)[:_MOST_TOOLS]],
        later=[(one_line(name, 80), number) for name, number in list(later.items())[:_MOST_TOOLS]],
        tools_note=note,
        tools_size=byte_size(sum(map(len, tools.values()))),
        turn=first,
    )
