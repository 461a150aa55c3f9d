"""What a session's page reads from Postgres, in a fixed number of queries: the short entries of all turns, and the
requests and texts of those that it shows."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from django.db.models.functions import Left

from streamviz.core.events import BlockKind
from streamviz.core.request_outline import RequestOutline, outline_of
from streamviz.core.verdicts import Decision
from streamviz.core.wire import WIRE_FORMATS
from streamviz.dashboard import queries
from streamviz.live.presentation import conversation
from streamviz.live.presentation.conversation import Source
from streamviz.live.presentation.figures import byte_size
from streamviz.live.presentation.said_parts import NOT_KEPT
from streamviz.live.presentation.stream_views import view_of
from streamviz.live.presentation.turn_tree import Line, Link, Turn, lines_of
from streamviz.live.presentation.views import StreamView
from streamviz.records.aggregation import aggregate_tape
from streamviz.records.archive.bucket import ChunksAway
from streamviz.records.models import Block, Session, Stream
from streamviz.records.queries import streams
from streamviz.records.queries.pages import Place
from streamviz.records.tapes import client_runs_of, upstream_runs_of

TURNS_SHOWN = 10
# Larger requests, and those beyond the total, are not read for a page of turns.
_MOST_REQUEST = 4_000_000
_MOST_REQUESTS = 24_000_000
_TEXT_CHARACTERS = 24_000
_LAST_WORDS = 1_000
# How many chunks and frames are read at most of streams that policies changed.
_MOST_CHUNKS = 4_000


class Turns(NamedTuple):
    """A page of a session's streams as a tree, and the place of the next page."""

    lines: list[Line]
    records: Mapping[UUID, Stream]
    views: Mapping[UUID, StreamView]
    following: Place | None

    @property
    def all(self) -> list[Turn]:
        return [turn for line in self.lines for turn in line.turns]

    def named(self, name: str) -> Turn | None:
        """The turn of this number, or of this stream, whether that is the last attempt or an earlier one."""
        return next(
            (turn for turn in self.all if name in (turn.number, *map(str, (turn.stream, *turn.attempts)))), None
        )


def turns_of(session: Session, after: Place | None) -> Turns:
    """A page of a session's turns, without what they said."""
    return _turns(*queries.streams_of(session, after))


def turn_alone(stream: Stream) -> Turns:
    """A stream as if it were alone in its session, whatever continued it or was tried before."""
    return _turns([queries.stream_alone(stream.pk)], None)


def _turns(page: Sequence[Stream], following: Place | None) -> Turns:
    records = {stream.pk: stream for stream in page}
    views = {stream.pk: view_of(streams.short_entries_of(stream)) for stream in page}
    return Turns(lines_of(map(_link, page)), records, views, following)


def _link(stream: Stream) -> Link:
    return Link(stream.pk, stream.parent, stream.relation)


def shown_of(turn: Turn) -> tuple[list[Turn], int]:
    """The turns of a turn's line that are shown with it, and the index of the first."""
    turns = turn.line.turns
    first = turns.index(turn) // TURNS_SHOWN * TURNS_SHOWN
    return turns[first : first + TURNS_SHOWN], first


def sources_of(turns: Turns, shown: Sequence[Turn]) -> list[Source]:
    """The shown turns with what they said, in five queries."""
    ids = {turn.stream for turn in shown}
    before = {turn.before for turn in shown if turn.before is not None and turn.before in turns.records}
    requests = _requests(turns, [*ids, *(before - ids)])
    views = _with_texts(turns, ids)
    instead = _instead([turns.records[each] for each in ids], views)
    return [
        Source(
            turn,
            views[turn.stream],
            [turns.views[each] for each in turn.attempts],
            requests.get(turn.stream),
            requests.get(turn.before) if turn.before else None,
            _why_not(turns.records[turn.stream]),
            instead.get(turn.stream, {}),
            turns.records[turn.stream].block_count,
        )
        for turn in shown
    ]


def _requests(turns: Turns, ids: Iterable[UUID]) -> dict[UUID, RequestOutline]:
    wanted, room = [], _MOST_REQUESTS
    for each in ids:
        size = _asked_bytes(turns.records[each])
        if 0 < size <= min(_MOST_REQUEST, room):
            wanted.append(each)
            room -= size
    found = streams.requests_of(wanted)
    return {each: outline_of(request, WIRE_FORMATS[name]) for each, name, request in found if name in WIRE_FORMATS}


def _asked_bytes(stream: Stream) -> int:
    # An annotation of `streams_of`, which the model does not declare.
    return int(vars(stream)["asked_bytes"] or 0)


def _why_not(stream: Stream) -> str:
    size = _asked_bytes(stream)
    return f"{byte_size(size)}, too large to show here" if size else NOT_KEPT


def _with_texts(turns: Turns, ids: Iterable[UUID]) -> dict[UUID, StreamView]:
    """The same streams with the beginnings of their blocks' texts."""
    texts: dict[UUID, dict[int, str]] = defaultdict(dict)
    blocks = Block.objects.filter(stream__in=list(ids), ordinal__lt=conversation.MOST_BLOCKS).order_by()
    found = blocks.annotate(beginning=Left("text", _TEXT_CHARACTERS)).values_list("stream_id", "ordinal", "beginning")
    for stream_id, ordinal, text in found:
        texts[stream_id][ordinal] = text
    return {each: view_of(streams.short_entries_of(turns.records[each], texts[each])) for each in ids}


def _instead(records: Iterable[Stream], views: Mapping[UUID, StreamView]) -> dict[UUID, dict[int, str]]:
    """What clients got in place of blocks, by stream; empty while their tapes cannot be read from the archive."""
    room, changed = _MOST_CHUNKS, {}
    for record in records:
        is_changed = any(block.state in ("replaced", "never sent") for block in views[record.pk].blocks)
        if is_changed and record.chunk_count + record.frame_count <= room and record.wire_format in WIRE_FORMATS:
            room -= record.chunk_count + record.frame_count
            changed[record.pk] = record.wire_format
    try:
        tapes = _tapes(list(changed))
    except ChunksAway:
        return {}
    return {each: conversation.instead_of(views[each], _got(name, tapes[each])) for each, name in changed.items()}


def _tapes(ids: list[UUID]) -> dict[UUID, bytes]:
    """What the clients of these streams were sent."""
    chunks: dict[UUID, dict[int, bytes]] = defaultdict(dict)
    for run in upstream_runs_of(ids):
        chunks[run.stream_id].update((chunk.seq, chunk.raw or b"") for chunk in run.chunks())
    tapes: dict[UUID, bytes] = defaultdict(bytes)
    for sent in client_runs_of(ids):
        known = chunks[sent.stream_id]
        frames = (frame.made if frame.seq is None else known.get(frame.seq, b"") for frame in sent.frames())
        tapes[sent.stream_id] += b"".join(frames)
    return tapes


def _got(wire_format: str, tape: bytes) -> list[tuple[BlockKind, str, str]]:
    state = aggregate_tape(wire_format, tape).state
    return [(block.kind, block.name, block.text) for block in state.blocks]


def last_words(turn: Turn) -> str:
    """The beginning of the text of a turn's answer; empty if it has none."""
    texts = Block.objects.filter(stream=turn.stream, kind=BlockKind.CONTENT.value).order_by("-ordinal")
    return texts.values_list(Left("text", _LAST_WORDS), flat=True).first() or ""


def interventions(turns: Turns) -> list[tuple[Decision, Turn, int]]:
    """How often policies changed what clients got, by decision, with the first turn in which one did."""
    found: dict[Decision, tuple[Turn, int]] = {}
    for turn in turns.all:
        for verdict in turns.views[turn.stream].verdicts:
            if verdict.intervened:
                first, number = found.get(verdict.decision, (turn, 0))
                found[verdict.decision] = (first, number + 1)
    return [(decision, turn, number) for decision, (turn, number) in found.items()]
