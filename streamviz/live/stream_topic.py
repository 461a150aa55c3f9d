"""One running stream, for its page."""

import uuid
from collections.abc import AsyncIterator, Callable, Iterator

from django.utils.safestring import SafeString

from streamviz.exchange.stream import LiveStream
from streamviz.live import rendering
from streamviz.live.pace import Pace, paced
from streamviz.live.presentation.block_views import BlockView
from streamviz.live.presentation.cutting import PAGE_BYTES, fits
from streamviz.live.presentation.stream_views import paced_view_of_running, whole_view_of
from streamviz.live.presentation.text import printable
from streamviz.live.presentation.views import StreamView
from streamviz.live.presentation.windows import first_of_newest, window_of
from streamviz.live.topics import Update

_SECOND = 1_000_000
# A text that grew by more bytes than this is rendered anew, cut as on a page that is opened now.
_PIECE_BYTES = 100_000


class StreamTopic:
    """Text goes out piece by piece as it grows, a block's head when it changes, and what is expensive once a second."""

    def __init__(self, stream: LiveStream, nav_asks: Callable[[], SafeString]) -> None:
        self._stream = stream
        self._nav_asks = nav_asks  # how many streams wait in all: every page's navigation says so
        self._shown: StreamView | None = None  # None until somebody watches
        self._is_over = stream.is_closed
        self._second = 0
        self._parts: dict[str, str] = {}

    @property
    def is_over(self) -> bool:
        return self._is_over

    async def updates(self, changed: set[uuid.UUID], now: int, pace: Pace) -> AsyncIterator[Update]:
        if (before := self._shown) is None:
            return
        shown = before
        if self._stream.id in changed:
            shown = await self._look(pace)
            # One chunk can bring many blocks.
            if blocks := "".join(await paced(_changed_blocks(before, shown, now), pace)):
                yield Update(blocks + "".join(self._changed_parts(shown, now)), is_text=False)
            if text := "".join(await paced(_grown_text(before, shown), pace)):
                yield Update(text, is_text=True)
        second = now // _SECOND
        if second != self._second or self.is_over:
            self._second = second
            if parts := "".join(self._changed_parts(shown, now, each_second=True)):
                yield Update(parts, is_text=False)

    async def snapshot(self, now: int, pace: Pace) -> str:
        # The text is as of the last updates, not of this moment: what came since is in the next ones.
        view = whole_view_of(self._stream, self._shown or await self._look(pace))
        html = await rendering.stream(view, now, pace, oob=True) + "".join(self._around(view, now).values())
        # The snapshot may differ from the parts that were last sent, so the next updates send all of them again.
        self._parts.clear()
        return html

    async def _look(self, pace: Pace) -> StreamView:
        """The stream as it is now. If it ends meanwhile, the next updates say so."""
        is_over = self._stream.is_closed
        self._shown = await paced_view_of_running(self._stream, pace)
        self._is_over = is_over
        return self._shown

    def _changed_parts(self, shown: StreamView, now: int, *, each_second: bool = False) -> Iterator[str]:
        view = whole_view_of(self._stream, shown)
        parts = self._around(view, now) | rendering.counts(view, oob=True)
        if each_second:
            # No more often: a click on a link fails if the link is replaced while the mouse button is down.
            parts["pages"] = rendering.pages(window_of(view), view.id, oob=True)
            parts["waterfall"] = rendering.waterfall(view, now, oob=True)
        for name, html in parts.items():
            if self._parts.get(name) != html:
                self._parts[name] = html
                yield html

    def _around(self, view: StreamView, now: int) -> dict[str, SafeString]:
        """What the page shows of the stream outside its main part."""
        return rendering.header(view, now, oob=True) | {"nav_asks": self._nav_asks()}


def _changed_blocks(before: StreamView, after: StreamView, now: int) -> Iterator[str]:
    """New blocks, transitions, verdicts: what no browser may miss. Each unchanged block yields an empty string, so that
    a turn may end at any of them. Blocks before the newest, which a page opened now does not show, are removed."""
    first = first_of_newest(after)
    framed_anew = sum(map(_is_framed_anew, before.blocks, after.blocks))
    room = _room_of_each(framed_anew + len(after.blocks) - len(before.blocks))
    for block in after.blocks:
        old = before.blocks[block.ordinal] if block.ordinal < len(before.blocks) else None
        if block.ordinal < first:
            yield ""
        elif old is None:
            yield rendering.insertion("beforeend:#block-list", "ol", rendering.fragment("_block_item", block=block))
            yield rendering.insertion("beforeend:#block-cards", "div", rendering.block_card(block, after.id, room))
        elif _head_of(old) != _head_of(block):
            yield rendering.fragment("_block_item", block=block, oob=True)
            yield (
                rendering.block_card(block, after.id, room, oob=True)
                if _is_framed_anew(old, block)
                else rendering.fragment("_block_head", block=block, oob=True)
            )
        else:
            yield ""
    yield from _left_behind(before, first)
    for verdict in after.verdicts[len(before.verdicts) :]:
        if verdict.ordinal is None or verdict.ordinal >= first:
            yield rendering.insertion("afterbegin:#verdict-list", "ol", rendering.verdict(verdict))
    if _holding(before) != _holding(after):
        yield rendering.holds(after, now, oob=True)


def _left_behind(before: StreamView, first: int) -> Iterator[str]:
    """Remove what the page has of blocks before `first`: a browser gets ever slower drawing thousands of them."""
    gone = range(first_of_newest(before), min(first, len(before.blocks)))
    for ordinal in gone:
        yield rendering.removal(f"i{ordinal}") + rendering.removal(f"b{ordinal}")
    for verdict in before.verdicts if gone else ():
        if verdict.ordinal in gone:
            yield rendering.removal(f"v{verdict.number}")


def _grown_text(before: StreamView, after: StreamView) -> Iterator[str]:
    """What blocks that are still on the page have grown by; an empty string for each that has not grown."""
    first = first_of_newest(after)
    room = _room_of_each(sum(map(_has_grown, before.blocks, after.blocks)))
    for old, block in zip(before.blocks, after.blocks, strict=False):
        is_same = not _has_grown(old, block) and old.is_arriving == block.is_arriving
        if is_same or block.ordinal < first or _is_framed_anew(old, block):
            yield ""
        elif fits(piece := block.text[old.length :], _PIECE_BYTES):
            yield _with_piece(block, piece)
        else:
            yield rendering.block_card(block, after.id, room, oob=True)


def _with_piece(block: BlockView, piece: str) -> str:
    """A block that grew by a piece of text, or by nothing because it is complete."""
    tree = rendering.tree(block) if block.is_tool_call else ""
    grown = rendering.fragment("_text_piece", id=f"b{block.ordinal}-text", piece=printable(piece)) if piece else ""
    return tree + grown + rendering.fragment("_block_size", block=block, oob=True)


def _has_grown(old: BlockView, block: BlockView) -> bool:
    return block.length > old.length


def _is_framed_anew(old: BlockView, block: BlockView) -> bool:
    return rendering.card_class(old) != rendering.card_class(block)


def _room_of_each(cards: int) -> int:
    """How large each of so many cards may be (bytes) if they go out together."""
    return min(rendering.CARD_BYTES, max(_PIECE_BYTES, PAGE_BYTES // max(1, cards)))


def _holding(view: StreamView) -> list[tuple[int, int | None, int | None]]:
    """What the list of held blocks shows."""
    return [(block.ordinal, block.decided_at, block.asks) for block in view.held]


def _head_of(block: BlockView) -> tuple[object, ...]:
    """What a block's head and its line in the list show."""
    number = block.verdict.number if block.verdict else None
    return block.title, block.state, block.completed_at, block.hold_ended_at, block.is_truncated, number
