"""A session as a conversation: what each request added, and what came back."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import NamedTuple

from streamviz.core.events import BlockKind
from streamviz.core.request_outline import RequestOutline, new_in, parts_of
from streamviz.core.request_parts import Part, PartKind
from streamviz.live.presentation.arguments import ArgumentTree, tree_of
from streamviz.live.presentation.block_views import BlockView
from streamviz.live.presentation.cutting import Cut, cut, share
from streamviz.live.presentation.durations import exact, lasted
from streamviz.live.presentation.figures import byte_size, plural
from streamviz.live.presentation.offered_changes import Change, changes_of
from streamviz.live.presentation.rows import Badge, row_of
from streamviz.live.presentation.said_parts import HEAD, MOST_SAID, Call, SaidPart, said_part
from streamviz.live.presentation.text import one_line, printable
from streamviz.live.presentation.turn_tree import Turn
from streamviz.live.presentation.views import StreamView

# The room of a page of turns and of one tree, in bytes; how many parts and blocks of a turn are shown.
_ROOM = 900_000
_MOST_TREE = 24_000
_MOST_PARTS = 40
MOST_BLOCKS = 60

# By a call's id: when each request that added its result came, and its turn.
_Results = dict[str, list[tuple[int, Turn]]]


class Answered(NamedTuple):
    """The turn whose request has a call's result, and how long after the call it came."""

    turn: Turn
    after: str


class AnswerBlock(NamedTuple):
    """A block of an answer as a card. `instead` is what the client got in its place, if that is known."""

    block: BlockView
    text: Cut
    tree: ArgumentTree | None
    is_kept: bool
    instead: str | None
    answered: Answered | None


@dataclass(frozen=True)
class TurnView:
    """A turn: what was new in its request, and its answer."""

    turn: Turn
    stream: StreamView
    attempts: list[StreamView]
    parts: list[SaidPart]
    hidden: int
    note: str
    added: str
    changes: list[Change]
    blocks: list[AnswerBlock]
    hidden_blocks: int
    badges: list[Badge]
    by: list[str] = field(default_factory=list)

    @property
    def id(self) -> str:
        return anchor(self.turn.number)

    @property
    def left_out(self) -> str:
        """What should be among the `parts` and is not; empty if nothing is missing."""
        hidden = f"{plural(self.hidden, 'earlier message')} not shown" if self.hidden else ""
        return "; ".join(filter(None, (self.note, hidden)))

    @property
    def took(self) -> str:
        return took(self.stream)


class Source(NamedTuple):
    """A turn with all that is known of it. `outline` and `before` are its request and the one that it continues; if
    they are None, `why` says why. `instead` has what the client got, by block. `block_count` is that of the record,
    while `stream` has only the first blocks."""

    turn: Turn
    stream: StreamView
    attempts: list[StreamView]
    outline: RequestOutline | None
    before: RequestOutline | None
    why: str
    instead: Mapping[int, str]
    block_count: int


def anchor(number: str) -> str:
    """A turn's id on the page."""
    return f"t{number.replace('.', '-')}"


def took(stream: StreamView) -> str:
    """How long a stream lasted."""
    return lasted(stream.since_start(stream.ended_at)) if stream.ended_at else "running"


def title_for(stream: StreamView) -> str:
    """What a turn came to, in a word: the tools called, the answer, or how it failed; for a run's call, its purpose."""
    if stream.part:
        return one_line(stream.part, HEAD)
    names = [block.title for block in stream.blocks if block.is_tool_call]
    if not names:
        return "answer" if stream.blocks else stream.outcome.replace("_", " ") or "running"
    kinds = list(dict.fromkeys(names))
    if len(kinds) > 1:
        return one_line(f"{kinds[0]}, {len(names) - 1} more", HEAD)
    return names[0] if len(names) == 1 else f"{names[0]}, {len(names)} calls"


def conversation_of(sources: Sequence[Source], calls: Mapping[str, Call]) -> list[TurnView]:
    """The turns as a page shows them, in the room that it has."""
    said = [_said(source) for source in sources]
    results: _Results = defaultdict(list)
    for source, new in zip(sources, said, strict=True):
        for part in new.parts:
            if part.kind is PartKind.TOOL_RESULT:
                results[part.call_id].append((source.stream.requested_at, source.turn))
    texts = [part.text for new in said for part in new.parts]
    texts += [block.text for source in sources for block in source.stream.blocks[:MOST_BLOCKS]] * 2
    room = share((text[:MOST_SAID] for text in texts), _ROOM)
    return [_view(source, new, calls, results, room) for source, new in zip(sources, said, strict=True)]


class _New(NamedTuple):
    parts: list[Part]
    hidden: int
    note: str
    size: int


def _said(source: Source) -> _New:
    outline = source.outline
    if outline is None:
        return _New([], 0, source.why, 0)
    if outline.is_odd:
        return _New([], 0, f"not a request of this format, {byte_size(outline.size)}", outline.size)
    new = new_in(outline, source.before)
    turns = outline.turns[new.first + new.answered :]
    parts: list[Part] = []
    hidden = len(turns)
    while hidden and len(parts) < _MOST_PARTS:
        hidden -= 1
        parts = parts_of(turns[hidden], outline.wire_format) + parts
    note = ""
    if new.unlike and (new.first > outline.system_turns or source.turn.relation):
        note = f"{plural(new.unlike, 'earlier message')} left out or changed"
    return _New(parts[-_MOST_PARTS:], hidden + max(0, len(parts) - _MOST_PARTS), note, sum(map(len, turns)))


def _view(source: Source, new: _New, calls: Mapping[str, Call], results: _Results, room: int) -> TurnView:
    stream = source.stream
    blocks = stream.blocks[:MOST_BLOCKS]
    row = row_of(stream, stream.ended_at or stream.requested_at)
    return TurnView(
        turn=source.turn,
        stream=stream,
        attempts=source.attempts,
        parts=[said_part(part, stream.requested_at, calls, room) for part in new.parts],
        hidden=new.hidden,
        note=new.note,
        added=f"+{byte_size(new.size)}" if new.size else "",
        changes=list(changes_of(source.outline, source.before)),
        blocks=[_block(block, source, results, room) for block in blocks],
        hidden_blocks=max(0, source.block_count - len(blocks)),
        # Verdicts that allow, or would, are counted beside the conversation.
        badges=[badge for badge in row.badges if not badge.css.startswith("allow")],
        by=[one_line(verdict.by, 60) for verdict in stream.verdicts if verdict.by],
    )


def _block(block: BlockView, source: Source, results: _Results, room: int) -> AnswerBlock:
    ended_at = source.stream.ended_at or source.stream.requested_at
    is_whole = len(block.text) >= block.length
    is_tree = block.is_tool_call and (bool(block.text) or not block.length)
    text = cut(block.text, min(room, MOST_SAID))
    if not is_whole and block.text:
        text = Cut(text.beginning, "", block.length - len(text.beginning), block.length)
    return AnswerBlock(
        block=block,
        text=text,
        tree=tree_of(block.text, is_arriving=False, room=min(room, _MOST_TREE)) if is_tree else None,
        is_kept=bool(block.text) or not block.length,
        instead=source.instead.get(block.ordinal),
        answered=_answered(block, source.stream.requested_at, ended_at, results),
    )


def _answered(block: BlockView, made_at: int, ended_at: int, results: _Results) -> Answered | None:
    """The first request after the call that has its result. Later requests may repeat the result, and providers that
    number their calls reuse ids."""
    told = results.get(block.upstream_id, ()) if block.is_tool_call and block.upstream_id else ()
    later = [each for each in told if each[0] > made_at]
    if not later:
        return None
    at, turn = min(later, key=itemgetter(0))
    return Answered(turn, exact(max(0, at - ended_at)))


def instead_of(stream: StreamView, got: Sequence[tuple[BlockKind, str, str]]) -> dict[int, str]:
    """What a client got in place of each block that a policy changed. `got` has kind, name and text of each block that
    it was sent; those of unchanged blocks are removed first."""
    left = list(got)
    for block in stream.blocks:
        if block.state not in ("replaced", "never sent"):
            _take(left, block)
    found: dict[int, str] = {}
    for block in stream.blocks:
        if block.state == "replaced":
            found[block.ordinal] = _next(left, block.kind)
    for block in stream.blocks:
        if block.state == "never sent":
            found[block.ordinal] = _next(left, BlockKind.CONTENT)
    return {ordinal: printable(text.strip()[:MOST_SAID]) for ordinal, text in found.items() if text.strip()}


def _take(left: list[tuple[BlockKind, str, str]], block: BlockView) -> None:
    """Remove an unchanged block. Formats with one text append to it what a policy says: the rest is the policy's."""
    for position, (kind, name, text) in enumerate(left):
        if (
            kind is block.kind
            and text.startswith(block.text)
            and (text == block.text or block.kind is BlockKind.CONTENT)
        ):
            rest = text[len(block.text) :]
            left[position : position + 1] = [(kind, name, rest)] if rest.strip() else []
            return


def _next(left: list[tuple[BlockKind, str, str]], kind: BlockKind) -> str:
    for position, (each, _, text) in enumerate(left):
        if each is kind:
            del left[position]
            return text
    return ""
