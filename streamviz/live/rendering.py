"""Fragments of the pages: the same partial templates make the first paint, live updates and history."""

import uuid
from collections.abc import Iterable, Sequence
from typing import Any, cast

from django.template.loader import get_template
from django.utils.safestring import SafeString

from streamviz.live.pace import Pace, paced
from streamviz.live.presentation.arguments import tree_of
from streamviz.live.presentation.block_views import BlockView, VerdictView
from streamviz.live.presentation.cutting import PAGE_BYTES, cut, share
from streamviz.live.presentation.durations import exact
from streamviz.live.presentation.facts import facts_of
from streamviz.live.presentation.figures import plural
from streamviz.live.presentation.moment import Moment
from streamviz.live.presentation.rows import asks_of
from streamviz.live.presentation.text import one_line
from streamviz.live.presentation.views import StreamView
from streamviz.live.presentation.waterfall import waterfall_of
from streamviz.live.presentation.windows import Window, window_of
from streamviz.version import version

_FRAMED = {"held": " is-held", "never sent": " is-denied"}


# The largest size of a card, a tree and a list of verdicts.
CARD_BYTES = 1_000_000
TREE_BYTES = 200_000
VERDICT_BYTES = 250_000
_HEAD_BYTES = 2_000
_LEAST_BYTES = 100_000
_HOLDS = 50


def fragment(template: str, **context: Any) -> SafeString:
    """Render a partial of templates/live. `oob` in its context marks it as an update of what the page has."""
    return cast(SafeString, get_template(f"live/{template}.html").render(context))


def insertion(where: str, tag: str, html: str) -> str:
    """An update that adds HTML to what the page has, at a place such as `beforeend:#block-list`. Like a removal, it is
    made without a template, which takes many times as long (`python -m bench.markup`)."""
    return f'<{tag} hx-swap-oob="{where}">{html}</{tag}>'


def removal(element: str, tag: str = "div") -> str:
    """An update that removes the element with this id from the page."""
    return f'<{tag} id="{element}" hx-swap-oob="delete"></{tag}>'


def card_class(block: BlockView) -> str:
    """The CSS class that frames a block's card."""
    return _FRAMED.get(block.state, "")


def block_card(block: BlockView, stream_id: uuid.UUID, room: int = CARD_BYTES, *, oob: bool = False) -> SafeString:
    """A block's card with as much of its text as there is room for (bytes). Arguments are shown as a tree, too."""
    room = room // 2 if block.is_tool_call else room
    context: dict[str, Any] = {"block": block, "css": card_class(block), "text": cut(block.text, room), "oob": oob}
    if block.is_tool_call:
        context["tree"] = tree_of(block.text, is_arriving=block.is_arriving, room=min(room, TREE_BYTES))
    return fragment("_block_card", stream_id=stream_id, **context)


def tree(block: BlockView) -> SafeString:
    """A tool call's arguments, as an update."""
    return fragment("_tree", block=block, tree=tree_of(block.text, is_arriving=block.is_arriving), oob=True)


def holds(view: StreamView, now: int, *, oob: bool = False) -> SafeString:
    """What is held now, by whom, and what a person may do about it."""
    asks = asks_of(view, now)[:_HOLDS]
    held = [block for block in view.held if not block.waits_for_person][: _HOLDS - len(asks)]
    more = len(view.held) - len(asks) - len(held)
    return fragment("_holds", stream=view, asks=asks, held=held, more=more, oob=oob)


def verdict(view: VerdictView) -> SafeString:
    """A verdict's entry in the list."""
    return fragment("_verdict", verdict=view)


def asking_shown(asking: int, newest: int, *, others_away: bool, teller: str) -> dict[str, object]:
    """What the navigation says about streams that wait for a person. `newest` is when a person was last asked something
    that is still open (µs since the epoch); `others_away` says that those of other servers are missing. Pages that were
    left open compare `version` with theirs; `teller` is which of a machine's processes has that version."""
    return {
        "asking": asking,
        "newest": newest,
        "others_away": others_away,
        "version": version(),
        "teller": teller,
    }


def nav_asks(shown: dict[str, object]) -> SafeString:
    """The same, as updates of the navigation."""
    return fragment("_nav_asks", **shown, oob=True) + fragment("_nav_count", **shown, oob=True)


def header(view: StreamView, now: int, *, oob: bool = False, is_current: bool = True) -> dict[str, SafeString]:
    """What is shown above a stream's tabs, by name. On a page that is not kept current, no time goes on."""
    facts = facts_of(view, now)
    if not is_current:
        facts = [fact._replace(since_ms=None) for fact in facts]
    return {
        "state": fragment("_state", state=view.state(now), finish_reason=one_line(view.finish_reason, 200), oob=oob),
        "facts": fragment("_facts", facts=facts, oob=oob),
        "error": fragment("_error", stream=view, oob=oob),
        "chunk_count": _count("chunk-count", f"{view.chunk_count:,}", oob),
    }


def counts(view: StreamView, *, oob: bool = False) -> dict[str, SafeString]:
    """How many blocks and verdicts there are, by name."""
    return {
        "block_count": _count("block-count", plural(len(view.blocks), "block"), oob),
        "verdict_count": _count("verdict-count", plural(len(view.verdicts), "verdict"), oob),
    }


def pages(shown: Window, stream_id: uuid.UUID, *, oob: bool = False) -> SafeString:
    """Which of the blocks a page shows, with links to those before and after them; hidden if it shows all."""
    return fragment("_pages", shown=shown, stream_id=stream_id, oob=oob)


def waterfall(
    view: StreamView,
    now: int,
    before: int | None = None,
    *,
    moment: Moment | None = None,
    is_played: bool = False,
    oob: bool = False,
) -> SafeString:
    """The waterfall as of the time `now`, of the blocks before `before`. If it `is_played`, it has a playhead, at a
    `moment` or at the end."""
    fall = waterfall_of(view, now, before)
    shown = {block.ordinal for block in moment.view.blocks} if moment else ()
    return fragment("_waterfall", fall=fall, shown=shown, moment=moment, is_played=is_played, oob=oob)


def _count(element: str, text: str, oob: bool) -> SafeString:
    return fragment("_count", id=element, text=text, oob=oob)


async def stream(
    view: StreamView,
    now: int,
    pace: Pace,
    first: int | None = None,
    *,
    moment: Moment | None = None,
    is_played: bool = False,
    asked: str = "",
    oob: bool = False,
) -> SafeString:
    """Everything below the tabs of a stream's page: with the blocks from `first` on, or the newest if that is None, or
    as they were at a `moment`. If it `is_played`, the waterfall has a playhead and playback controls. `asked` is the
    request, as a fragment; an update of the page needs none."""
    fall = waterfall(view, now, None if moment else window_of(view, first).end, moment=moment, is_played=is_played)
    taken = _size([fall, asked])
    return fragment(
        "_stream",
        stream=view,
        length=exact(view.since_start(view.ended_at)),
        waterfall=fall,
        panes=await panes(moment.view if moment else view, now, pace, first, moment=moment, taken=taken, asked=asked),
        moment=moment,
        is_played=is_played,
        oob=oob,
    )


async def panes(
    view: StreamView,
    now: int,
    pace: Pace,
    first: int | None = None,
    *,
    moment: Moment | None,
    taken: int = 0,
    asked: str = "",
) -> SafeString:
    """A stream's blocks, their texts and the verdicts on them, on a page of which `taken` bytes are used already."""
    shown = window_of(view, first)
    items = await paced((fragment("_block_item", block=block) for block in shown.blocks), pace)
    verdicts, more = _verdicts(shown.verdicts)
    held = "" if moment else holds(view, now)
    taken += _size([held, *items, *verdicts]) + _HEAD_BYTES * len(shown.blocks)
    room = share(_texts(shown.blocks), max(_LEAST_BYTES, PAGE_BYTES - taken))
    return fragment(
        "_panes",
        stream=view,
        shown=shown,
        **counts(view),
        pages=pages(shown, view.id),
        items=items,
        cards=await paced((block_card(block, view.id, room) for block in shown.blocks), pace),
        verdicts=verdicts,
        more_verdicts=more,
        holds=held,
        moment=moment,
        asked=asked,
    )


def _size(fragments: Iterable[str]) -> int:
    return sum(len(each.encode()) for each in fragments)


def _texts(blocks: Iterable[BlockView]) -> Iterable[str]:
    """The texts that share a page's room; arguments are there twice."""
    for block in blocks:
        yield block.text + block.text if block.is_tool_call else block.text


def _verdicts(views: Sequence[VerdictView]) -> tuple[list[SafeString], int]:
    """The newest verdicts, newest first, as far as there is room; and how many more there are."""
    rendered: list[SafeString] = []
    room = VERDICT_BYTES
    for view in reversed(views):
        if room <= 0:
            break
        rendered.append(verdict(view))
        room -= len(rendered[-1].encode())
    return rendered, len(views) - len(rendered)
