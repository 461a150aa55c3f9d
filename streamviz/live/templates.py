"""Templates are written over many indented lines; what they render has none of those line breaks.

Whitespace between elements is text on a page, is sent with each live update and gets in the way of morphing. So a line
break, with the spaces around it, is read as:

- nothing between two tags (`<…>` or `{% … %}`), next to a `{% … %}`, and where an element's content begins or ends;
- a space in running text: between words, values (`{{ … }}`) and elements within it;
- a space between the attributes of a tag;
- itself in a `pre`.

That is done once, when a template is loaded, and costs nothing when it is rendered.
"""

import re

from django.template import Origin
from django.template.loaders.filesystem import Loader as FilesystemLoader

_MARKED = r"\{\{.*?\}\}|\{%.*?%\}"
_QUOTED = rf"\"(?:{_MARKED}|[^\"])*\"|'(?:{_MARKED}|[^'])*'"
_TOKEN = re.compile(
    rf"""
    (?P<kept><pre\b.*?</pre>)
    | (?P<block>\{{%.*?%\}}|\{{\#.*?\#\}})
    | (?P<closing></[^<>]*>)
    | (?P<opening><[a-zA-Z!](?:{_MARKED}|{_QUOTED}|[^<>"'])*>)
    | (?P<line_break>\s*\n\s*)
    | (?P<text>(?:(?!\s*\n)[^<{{])+|.)
    """,
    re.DOTALL | re.VERBOSE,
)
_BREAK = re.compile(r"\s*\n\s*")


class Loader(FilesystemLoader):
    """Django's own, for templates that are laid out as above."""

    def get_contents(self, origin: Origin) -> str:
        return one_line(super().get_contents(origin))


def one_line(source: str) -> str:
    """A template without the line breaks of its layout."""
    tokens = list(_TOKEN.finditer(source.strip()))
    following = [*tokens[1:], None]
    parts = []
    for previous, token, next_token in zip([None, *tokens], tokens, following, strict=False):
        if token.lastgroup != "line_break":
            parts.append(_BREAK.sub(" ", token[0]) if token.lastgroup == "opening" else token[0])
        elif previous and next_token and _is_a_space(previous.lastgroup, next_token.lastgroup):
            parts.append(" ")
    return "".join(parts)


def _is_a_space(before: str | None, after: str | None) -> bool:
    """Whether a line break between two such tokens is a space in running text."""
    if before == "text":
        return after in ("text", "opening", "kept")
    return before in ("closing", "kept") and after == "text"
