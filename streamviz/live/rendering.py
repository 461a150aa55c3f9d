"""Fragments of the pages: the same partial templates make the first paint, live updates and history."""

import asyncio
import html
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from django.template.loader import get_template
from django.utils.safestring import SafeString

from streamviz.live.entries import Entry
from streamviz.live.presentation.arguments import tree_of
from streamviz.live.presentation.facts import facts_of
from streamviz.live.presentation.rows import RowView
from streamviz.live.presentation.text import plural, printable
from streamviz.live.presentation.views import BlockView, StreamView, VerdictView
from streamviz.live.presentation.waterfall import waterfall_of

_FRAMED = {"held": " is-held", "never sent": " is-denied"}


def fragment(template: str, **context: Any) -> SafeString:
    """One partial of templates/live. `oob` in its context marks it as an update of what the page has."""
    return cast(SafeString, get_template(f"live/{template}.html").render(context))


def _row_tail(view: RowView) -> SafeString:
    stream = view.stream
    return SafeString(f'<p class="tail" id="r-{stream.id.hex}-tail"><bdi>{html.escape(stream.tail)}</bdi></p>')


def _row_time(view: RowView) -> SafeString:
    last, age = view.last, view.age
    counts = "since" if view.stream.is_running else "ago"
    since = f' data-since="{age.since_ms}"' if age.since_ms else ""
    return SafeString(
        f'<div class="row-time" id="r-{view.stream.id.hex}-time"><b>'
        f'<span data-{counts}="{last.since_ms}">{last.text}</span></b><span{since}>{age.text}</span></div>'
    )


# The parts of a row, and for each what it shows: it is painted again only when that is another.
ROW_PARTS: dict[str, Callable[[RowView], object]] = {
    "who": lambda row: row.state,
    "strip": lambda row: row.strip,
    "tail": lambda row: row.stream.tail,
    "rate": lambda row: (row.now // 1_000_000, row.stream.is_running) if row.stream.is_running else None,
    "time": lambda row: (row.last.since_ms, row.stream.is_running),
    "verdicts": lambda row: ([badge._replace(age="") for badge in row.badges], row.why),
}
# These two change with almost every chunk, and a template costs ten times as much.
_QUICK = {"tail": _row_tail, "time": _row_time}


def row_part(view: RowView, part: str) -> SafeString:
    """One of ROW_PARTS."""
    return _QUICK[part](view) if part in _QUICK else fragment(f"_row_{part}", row=view)


def as_update(part: str) -> str:
    """A part of the page as an update of what the page has: its first element has an id."""
    return part.replace(' id="', ' hx-swap-oob="true" id="', 1)


def row(entry: Entry) -> SafeString:
    """A whole row of the Live page."""
    # The parts were made by the functions above, here or in another worker, and are escaped.
    parts = {name: SafeString(part) for name, part in entry.parts.items()}
    return fragment("_row", entry=entry, parts=parts)


def card_class(block: BlockView) -> str:
    """What frames a block's card."""
    return _FRAMED.get(block.state, "")


def block_card(block: BlockView, *, oob: bool = False) -> SafeString:
    """A block's card with all of its text."""
    context: dict[str, Any] = {"block": block, "css": card_class(block), "text": printable(block.text), "oob": oob}
    if block.is_tool_call:
        context["tree"] = tree_of(block.text, is_arriving=block.is_arriving)
    return fragment("_block_card", **context)


def tree(block: BlockView) -> SafeString:
    """A tool call's arguments, as an update."""
    return fragment("_tree", block=block, tree=tree_of(block.text, is_arriving=block.is_arriving), oob=True)


def holds(view: StreamView, *, oob: bool = False) -> SafeString:
    """What is held now, by whom, and what a person may do about it."""
    return fragment("_holds", stream=view, held=view.held, oob=oob)


def verdict(view: VerdictView) -> SafeString:
    """A verdict's place in the list."""
    return fragment("_verdict", verdict=view)


def nav_held(held: int, *, oob: bool = False) -> SafeString:
    """How many streams wait for a verdict, for the navigation."""
    return fragment("_nav_held", held=held, oob=oob)


def header(view: StreamView, now: int, *, oob: bool = False) -> dict[str, SafeString]:
    """What stands above a stream's tabs, by name."""
    return {
        "state": fragment("_state", state=view.state(now), finish_reason=printable(view.finish_reason), oob=oob),
        "facts": fragment("_facts", facts=facts_of(view, now), oob=oob),
        "error": fragment("_error", stream=view, oob=oob),
        "chunk_count": _count("chunk-count", f"{view.chunk_count:,}", oob),
    }


def counts(view: StreamView, *, oob: bool = False) -> dict[str, SafeString]:
    """How many blocks and verdicts there are, by name."""
    return {
        "block_count": _count("block-count", plural(len(view.blocks), "block"), oob),
        "verdict_count": _count("verdict-count", plural(len(view.verdicts), "verdict"), oob),
    }


def waterfall(view: StreamView, now: int, *, oob: bool = False) -> SafeString:
    """The waterfall as it is at the time `now`."""
    return fragment("_waterfall", fall=waterfall_of(view, now), oob=oob)


def _count(element: str, text: str, oob: bool) -> SafeString:
    return fragment("_count", id=element, text=text, oob=oob)


async def stream(view: StreamView, now: int, *, oob: bool = False) -> SafeString:
    """All of a stream's page below its tabs."""
    return fragment(
        "_stream",
        stream=view,
        **counts(view),
        waterfall=waterfall(view, now),
        items=await _paced(fragment("_block_item", block=block) for block in view.blocks),
        cards=await _paced(block_card(block) for block in view.blocks),
        verdicts=await _paced(verdict(entry) for entry in reversed(view.verdicts)),
        holds=holds(view),
        oob=oob,
    )


def wall(groups: Sequence[tuple[str, Sequence[Entry]]], *, is_filtered: bool, oob: bool = False) -> SafeString:
    """The Live page's list: each group's title with its rows."""
    rendered = [
        {"name": name, "title": GROUP_TITLES[name], "rows": [row(entry) for entry in entries]}
        for name, entries in groups
    ]
    return fragment("_wall", groups=rendered, is_filtered=is_filtered, oob=oob)


GROUP_TITLES = {
    "held": "Held",
    "stalled": "Stalled",
    "running": "Running",
    "finished": "Just finished",
    "recent": "Recent",
}


async def _paced(fragments: Iterable[SafeString]) -> list[SafeString]:
    """All of them, letting the event loop serve clients after each."""
    rendered = []
    for one in fragments:
        rendered.append(one)
        await asyncio.sleep(0)
    return rendered
