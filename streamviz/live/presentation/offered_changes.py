"""How the system prompt and the tools change from one request of a conversation to the next."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from streamviz.core.request_outline import RequestOutline, system_of, tools_of
from streamviz.live.presentation.figures import byte_size
from streamviz.live.presentation.text import one_line

HEAD = 110


class Change(NamedTuple):
    """A change above the conversation: tools that were added, removed or changed, or another system prompt."""

    icon: str
    what: str
    names: list[str]
    note: str


def changes_of(outline: RequestOutline | None, before: RequestOutline | None) -> Iterator[Change]:
    """How the system prompt and the tools differ from those of the request before."""
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
    new_words, old_words = (_system_words(each) for each in (outline, before))
    if new_words != old_words and (was := system_of(before)) != (said := system_of(outline)):
        note = f"{byte_size(len(was.encode('utf-8', 'replace')))} before"
        yield Change("note", "system prompt changed:", [one_line(said, HEAD)], note)


def _system_words(outline: RequestOutline) -> tuple[bytes, Sequence[bytes]]:
    return outline.system, outline.turns[: outline.system_turns]
