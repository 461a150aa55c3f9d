"""What models and clients wrote, in Markdown, where it stays text."""

import re

from streamviz.live.presentation.text import one_line, printable

# What would be HTML, or an image that the reader's program would fetch. It becomes an entity, because a backslash could
# itself be escaped by one that is there already.
_ACTIVE = {"<": "&lt;", "!": "&#33;"}
_ACTS = re.compile(r"<(?=[A-Za-z/!?])|!(?=\[)")
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})(.*)")
_BACKTICKS = re.compile(r"`{3,}")
_TITLE = 300


def prose(text: str) -> str:
    """The text as it is, if what follows is certainly in none of its fences; otherwise in a fence around all of it."""
    return _without_acts(text) if _closes_its_fences(text) else fenced(text)


def line(text: str) -> str:
    """The beginning of a text, on one line."""
    return _without_acts(one_line(text, _TITLE)).replace("`", "'")


def fenced(text: str) -> str:
    """The text in a fence that it cannot close."""
    longest = max(map(len, _BACKTICKS.findall(text)), default=2)
    return f"{'`' * (longest + 1)}\n{printable(text)}\n{'`' * (longest + 1)}"


def _without_acts(text: str) -> str:
    return _ACTS.sub(lambda found: _ACTIVE[found[0]], printable(text))


def _closes_its_fences(text: str) -> bool:
    """Whether no fence is left open, by CommonMark. An indented fence may be part of a list item and end with it: if a
    line in it is indented less, nobody can tell, and it counts as open."""
    indent = opened = ""
    for each in _LINE_ENDS.split(text):
        found = _FENCE.match(each)
        if not opened and found and not ("`" in found[2] and "`" in found[3]):
            indent, opened = found[1], found[2]
        elif found and found[1].startswith(indent) and found[2].startswith(opened) and not found[3].strip(" \t"):
            opened = ""
        elif each.strip(" \t") and not each.startswith(indent):
            return False
    return not opened
