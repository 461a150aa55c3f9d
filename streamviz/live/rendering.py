"""Fragments of the pages: the same partial templates make the first paint, live updates and history."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar, cast

from django.template.loader import get_template
from django.utils.safestring import SafeString

from streamviz.live import row_markup
from streamviz.live.entries import Entry
from streamviz.live.pace import Pace
from streamviz.live.presentation.arguments import tree_of
from streamviz.live.presentation.facts import facts_of
from streamviz.live.presentation.rows import RowText, RowView
from streamviz.live.presentation.text import plural, printable
from streamviz.live.presentation.views import BlockView, StreamView, VerdictView
from streamviz.live.presentation.waterfall import waterfall_of

_Shown = TypeVar("_Shown")
_Text = TypeVar("_Text", bound=str)

_FRAMED = {"held": " is-held", "never sent": " is-denied"}


def fragment(template: str, **context: Any) -> SafeString:
    """One partial of templates/live. `oob` in its context marks it as an update of what the page has."""
    return cast(SafeString, get_template(f"live/{template}.html").render(context))


class Part(NamedTuple, Generic[_Shown]):
    """A part of a row: what it shows, and how that is painted. It is painted again only when it shows another thing."""

    shows: Callable[[_Shown], object]
    paint: Callable[[_Shown], str]


def _by_template(name: str) -> Callable[[RowView], str]:
    return lambda row: fragment(f"_row_{name}", row=row)


ROW_PARTS: dict[str, Part[RowView]] = {
    "who": Part(lambda row: row.state, _by_template("who")),
    "strip": Part(lambda row: row.strip, row_markup.blocks),
    "rate": Part(lambda row: row.stream.is_running and row.now // 1_000_000, row_markup.rate),
    "age": Part(lambda row: row.stream.is_running, row_markup.age),
    "verdicts": Part(lambda row: ([badge._replace(age="") for badge in row.badges], row.why), _by_template("verdicts")),
}
# These change with almost every chunk.
TEXT_PARTS: dict[str, Part[RowText]] = {
    "tail": Part(lambda text: text.tail, row_markup.tail),
    "last": Part(lambda text: (text.last.since_ms, text.is_running), row_markup.last),
}


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


async def stream(view: StreamView, now: int, pace: Pace, *, oob: bool = False) -> SafeString:
    """All of a stream's page below its tabs."""
    return fragment(
        "_stream",
        stream=view,
        **counts(view),
        waterfall=waterfall(view, now),
        items=await paced((fragment("_block_item", block=block) for block in view.blocks), pace),
        cards=await paced((block_card(block) for block in view.blocks), pace),
        verdicts=await paced((verdict(entry) for entry in reversed(view.verdicts)), pace),
        holds=holds(view),
        oob=oob,
    )


async def wall(
    groups: Sequence[tuple[str, Sequence[Entry]]], pace: Pace, *, is_filtered: bool, oob: bool = False
) -> SafeString:
    """The Live page's list: each group's title with its rows."""
    rendered = [
        {"name": name, "title": GROUP_TITLES[name], "rows": await paced((row(entry) for entry in entries), pace)}
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


async def paced(fragments: Iterable[_Text], pace: Pace) -> list[_Text]:
    """All of them, letting the event loop serve clients in between."""
    rendered = []
    for one in fragments:
        rendered.append(one)
        await pace.rest()
    return rendered
