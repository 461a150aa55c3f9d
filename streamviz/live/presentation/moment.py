"""A stream that is over as it was at one moment: its blocks as far as they had come, and what came later."""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from msgspec import structs

from streamviz.core.blocks import StreamBlock
from streamviz.core.tapes import Tapes
from streamviz.live.presentation.block_states import Kept, by_block, deciding, state_of
from streamviz.live.presentation.block_views import BlockView, VerdictView
from streamviz.live.presentation.stream_views import block_view
from streamviz.live.presentation.views import StreamView
from streamviz.records.block_record import BlockRecord

_LATER = 20


class Side(StrEnum):
    """Whose tape is shown."""

    UPSTREAM = "upstream"
    CLIENT = "client"


class Step(StrEnum):
    """Where to go from a chunk: to the next one, or to that at which a block or a policy does something."""

    FIRST = "first"
    PREVIOUS = "previous"
    NEXT = "next"
    EARLIER = "earlier"
    LATER = "later"


class Moment(NamedTuple):
    """The stream when the chunk `seq` had come. Times are µs after the request, `following` that of the next chunk;
    `share` is how far along it was, in per cent as text."""

    view: StreamView
    side: Side
    seq: int
    at: int
    following: int | None
    share: str
    later_blocks: Sequence[BlockView]
    later_verdicts: Sequence[VerdictView]
    more_later: int

    @property
    def seconds(self) -> str:
        return f"{self.at / 1_000_000:.3f} s"

    @property
    def ms(self) -> int:
        return -(-self.at // 1000)

    @property
    def next_ms(self) -> int | None:
        """When the next chunk has come."""
        return None if self.following is None else -(-self.following // 1000)


def moment_of(whole: StreamView, tapes: Tapes, seq: int, side: Side) -> Moment:
    """`whole` as it was when the chunk `seq` had come; as it ended, where there is none of that number."""
    upstream = tapes.upstream
    is_over = seq >= len(upstream)
    seq = min(seq, len(upstream) - 1)
    at = max(whole.ended_at or 0, upstream.at(seq)) if is_over else upstream.at(seq)
    verdicts = [verdict for verdict in whole.verdicts if verdict.at <= at]
    blocks = _had(whole, tapes, at) if side is Side.CLIENT else list(_sent(whole, tapes, seq, at, verdicts))
    later = [block for block in whole.blocks if block.first_seq > seq]
    start, end = whole.requested_at, max(whole.ended_at or 0, at, whole.requested_at + 1)
    # The first that came later: several can come at once.
    following = (upstream.last_by(at) or 0) + 1
    return Moment(
        view=structs.replace(whole, blocks=blocks, verdicts=verdicts),
        side=side,
        seq=seq,
        at=at - start,
        following=upstream.at(following) - start if following < len(upstream) else None,
        share=f"{(at - start) / (end - start) * 100:.2f}",
        later_blocks=later[:_LATER],
        later_verdicts=[verdict for verdict in whole.verdicts if verdict.at > at][:_LATER],
        more_later=len(later[_LATER:]),
    )


def stepped(whole: StreamView, tapes: Tapes, seq: int, step: Step) -> int | None:
    """The chunk that a step leads to; None is the end of the stream."""
    last = len(tapes.upstream) - 1
    match step:
        case Step.FIRST:
            return 0
        case Step.PREVIOUS:
            return max(0, seq - 1)
        case Step.NEXT:
            return seq + 1 if seq < last else None
        case Step.EARLIER:
            return max((turn for turn in _turns(whole, tapes) if turn < seq), default=0)
        case Step.LATER:
            return min((turn for turn in _turns(whole, tapes) if seq < turn <= last), default=None)


def _turns(whole: StreamView, tapes: Tapes) -> Iterator[int]:
    """The chunks at which something had just changed, in no order; some are behind the last."""
    yield from tapes.upstream.turns()
    times = [verdict.at for verdict in whole.verdicts]
    times += [at for block in whole.blocks for at in (block.held_at, block.hold_ended_at) if at is not None]
    for at in times:
        # The first that came when it had happened.
        before = tapes.upstream.last_by(at - 1)
        yield 0 if before is None else before + 1


def _sent(whole: StreamView, tapes: Tapes, seq: int, at: int, verdicts: Iterable[VerdictView]) -> Iterator[BlockView]:
    """The blocks as upstream had sent them."""
    of_blocks, waits = by_block(verdicts), False
    for block in _known(whole, seq) if tapes.lost else tapes.upstream.moment(seq).blocks:
        known = whole.blocks[block.ordinal] if block.ordinal < len(whole.blocks) else None
        held_at, ended_at = (None, None) if known is None else (known.held_at, known.hold_ended_at)
        was_held = held_at is not None and held_at <= at
        is_held = was_held and (ended_at is None or ended_at > at)
        verdict = deciding(of_blocks.get(block.ordinal, ()))
        kept = Kept(was_held, is_held, waits)
        yield structs.replace(
            _as_view(block, whole, at) if isinstance(block, StreamBlock) else structs.replace(block, as_of=at),
            state=state_of(kept, verdict, is_running=True, is_complete=block.completed_at is not None),
            held_at=held_at if was_held else None,
            released_at=known.released_at if known and was_held and not is_held else None,
            held_by=known.held_by if known and was_held else (),
            verdict=verdict,
        )
        waits |= is_held


def _known(whole: StreamView, seq: int) -> Iterator[BlockView]:
    """The blocks of a stream some of whose chunks are kept nowhere: what they said is known once they had ended."""
    for block in whole.blocks:
        if block.first_seq <= seq:
            has_ended = block.last_seq <= seq
            text = block.text if has_ended else ""
            completed_at = block.completed_at if has_ended else None
            yield structs.replace(block, text=text, length=len(text), completed_at=completed_at, is_stream_over=False)


def _had(whole: StreamView, tapes: Tapes, at: int) -> list[BlockView]:
    """The blocks as the client had them."""
    last = tapes.client.last_by(at)
    return [] if last is None else [_as_view(block, whole, at) for block in tapes.client.moment(last).blocks]


def _as_view(block: StreamBlock, whole: StreamView, at: int) -> BlockView:
    state = "arriving" if block.completed_at is None else "sent"
    return block_view(BlockRecord.of(block), whole.requested_at, state, as_of=at)
