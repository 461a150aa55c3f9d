"""The two tapes side by side: which chunks passed, when, and what they waited for."""

from bisect import bisect_right
from collections.abc import Sequence

from streamviz.core.tape_pairing import between
from streamviz.core.tapes import MOST_IN_A_RUN, Fate, Held, Row, Sent, Tapes
from streamviz.core.timeline import Timeline

# How many holds are considered. A chunk waits for the last of those that began before it, which may have been decided
# sooner than earlier ones.
_HOLDS_AT_ONCE = 8


def align(tapes: Tapes) -> list[Row]:
    """The rows of both tapes, in order. Neighbours that passed at once, or waited for the same, are one row."""
    rows: list[Row] = []
    seq = frame = 0
    for number, sent in enumerate(tapes.frames):
        if sent.seq is None or not seq <= sent.seq < len(tapes.upstream):
            continue  # made here, or of a chunk that the record lacks
        if seq < sent.seq or frame < number:
            rows += between(tapes, range(seq, sent.seq), range(frame, number))
        _extend(rows, _passed(tapes, sent.seq, number, sent))
        seq, frame = sent.seq + 1, number + 1
    rows += between(tapes, range(seq, len(tapes.upstream)), range(frame, len(tapes.frames)))
    return rows


def _extend(rows: list[Row], row: Row) -> None:
    """Add a chunk that passed, to the last row if it belongs there."""
    last = rows[-1] if rows else None
    if (
        last is None
        or last.waited is None
        or row.waited is None
        or (last.fate, last.owner, last.held) != (row.fate, row.owner, row.held)
        or (last.seqs.stop, last.frames.stop) != (row.seqs.start, row.frames.start)
        or len(last.seqs) >= MOST_IN_A_RUN
    ):
        rows.append(row)
        return
    seqs, frames = range(last.seqs.start, row.seqs.stop), range(last.frames.start, row.frames.stop)
    rows[-1] = last._replace(seqs=seqs, frames=frames, waited=max(last.waited, row.waited))


def _passed(tapes: Tapes, seq: int, number: int, sent: Sent) -> Row:
    received = tapes.upstream.at(seq)
    held = _held(tapes.holds, seq, received, sent.at)
    is_late = held is not None or _was_overtaken(tapes.upstream, seq, sent.at)
    return Row(
        Fate.DELAYED if is_late else Fate.PASSED,
        range(seq, seq + 1),
        range(number, number + 1),
        tapes.upstream.owner(seq),
        held=held,
        waited=sent.at - received,
    )


def _held(holds: Sequence[Held], seq: int, received: int, sent_at: int) -> Held | None:
    """The last hold that a chunk waited for; None if it waited for none."""
    begun = bisect_right(holds, seq, key=lambda hold: hold.seq)
    latest = reversed(holds[max(0, begun - _HOLDS_AT_ONCE) : begun])
    return next((hold for hold in latest if received <= hold.ended <= sent_at), None)


def _was_overtaken(upstream: Timeline, seq: int, sent_at: int) -> bool:
    """Whether a later chunk had come before this one was sent: what need not wait is sent as soon as it is read."""
    last = upstream.last_by(sent_at)
    return last is not None and last > seq and upstream.at(last) > upstream.at(seq)
