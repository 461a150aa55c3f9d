"""What requests repeat, shown once: the system prompt and the tools that are offered."""

from collections.abc import Sequence
from typing import NamedTuple

from streamviz.core.request_outline import RequestOutline, system_of, tools_of
from streamviz.live.presentation.cutting import Cut, cut
from streamviz.live.presentation.figures import byte_size
from streamviz.live.presentation.offered_changes import HEAD
from streamviz.live.presentation.text import one_line
from streamviz.live.presentation.turn_tree import Turn

_MOST_SAID = 24_000
_MOST_TOOLS = 200
_FEW_TOOLS = 25


class Offered(NamedTuple):
    """The system prompt and tools that requests repeat, as in the first; `later` tools came with a later turn."""

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
        """Whether their names are shown at once."""
        return len(self.tools) < _FEW_TOOLS


def offered_of(requests: Sequence[tuple[Turn, RequestOutline | None]]) -> Offered | None:
    """What requests repeat: as the first of these has it, with the tools that later ones added."""
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
        system_line=one_line(system, HEAD),
        tools=[one_line(name, 80) for name in list(tools)[:_MOST_TOOLS]],
        later=[(one_line(name, 80), number) for name, number in list(later.items())[:_MOST_TOOLS]],
        tools_note=note,
        tools_size=byte_size(sum(map(len, tools.values()))),
        turn=first,
    )
