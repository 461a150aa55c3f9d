"""The syntax tree of a script, parsed within bounds."""

from collections.abc import Iterator

import tree_sitter_bash
from tree_sitter import Language, Node, Parser, Point

_BASH = Language(tree_sitter_bash.language())
MOST_CHARACTERS = 200_000
# The parser reports a step for every hundred or so of its own; 85 kB of plain commands take 900.
MOST_STEPS = 2_000
# The parser looks for an unfinished here-document from the beginning each time.
MOST_HERE_DOCUMENTS = 100
DEEPEST = 100
# Bytes per read by the parser, which reads again for the text of each node: with one large piece, each word of a long
# command would cost as much as the whole command.
_PIECE = 4_096


def parse(text: str) -> Node:
    """The root of the tree; `has_error` says whether some of it could not be parsed. Raises ValueError if the text is
    too long or would take too long to parse."""
    if len(text) > MOST_CHARACTERS or text.count("<<") > MOST_HERE_DOCUMENTS:
        raise ValueError("a command that is too long to parse")
    source = text.encode("utf-8", "replace")
    steps = 0

    def is_too_much(place: int, is_wrong: bool) -> bool:
        nonlocal steps
        steps += 1
        return steps > MOST_STEPS

    def piece(at: int, point: Point) -> bytes:
        return source[at : at + _PIECE]

    try:
        return Parser(_BASH).parse(piece, progress_callback=is_too_much).root_node
    except ValueError:
        raise ValueError("a command that takes too long to parse") from None


def text_of(node: Node) -> str:
    """The source of a node."""
    return (node.text or b"").decode("utf-8", "replace")


def pieces(node: Node, begin: int = 0, end: int = 0) -> Iterator[Node | str]:
    """A node's children and the text between them, without `begin` bytes at its start and `end` at its end."""
    source, start = node.text or b"", node.start_byte
    at = begin
    for child in node.named_children:
        first, last = child.start_byte - start, child.end_byte - start
        if first > at:
            yield source[at:first].decode("utf-8", "replace")
        yield child
        at = max(at, last)
    if len(source) - end > at:
        yield source[at : len(source) - end].decode("utf-8", "replace")
