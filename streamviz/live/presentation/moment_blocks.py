"""The blocks of a stream at one moment, as upstream had sent them and as the client had them."""

from collections.abc import Iterable, Iterator
from enum import StrEnum

from msgspec import structs

from streamviz.core.blocks import StreamBlock
from streamviz.core.tapes import Tapes
from streamviz.live.presentation.block_states import Kept, by_block, deciding, state_of
from streamviz.live.presentation.block_views import BlockView, VerdictView
from streamviz.live.presentation.stream_views import block_view
from streamviz.live.presentation.views import StreamView
from streamviz.records.block_record import BlockRecord


class Side(StrEnum):
    """Whose tape is shown."""

    UPSTREAM = "upstream"
    CLIENT = "client"


def sent(whole: StreamView, tapes: Tapes, seq: int, at: int, verdicts: Iterable[VerdictView]) -> Iterator[BlockView]:
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
    """The blocks of a stream with chunks that are not kept: what a block said is only known once it had ended."""
    for block in whole.blocks:
        if block.first_seq <= seq:
            has_ended = block.last_seq <= seq
            text = block.text if has_ended else ""
            completed_at = block.completed_at if has_ended else None
            yield structs.replace(block, text=text, length=len(text), completed_at=completed_at, is_stream_over=False)


def had(whole: StreamView, tapes: Tapes, at: int) -> list[BlockView]:
    """The blocks as the client had them."""
    last = tapes.client.last_by(at)
    return [] if last is None else [_as_view(block, whole, at) for block in tapes.client.moment(last).blocks]


def _as_view(block: StreamBlock, whole: StreamView, at: int) -> BlockView:
    state = "arriving" if block.completed_at is None else "sent"
    return block_view(BlockRecord.of(block), whole.requested_at, state, as_of=at)
