"""Links to the turns of a session, and turns as they are drawn, without templates: a page has hundreds, and templates
take many times as long (`python -m bench.markup`)."""

from collections.abc import Iterator, Mapping
from html import escape
from uuid import UUID

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from streamviz.dashboard.turn_links import TurnLinks
from streamviz.live.presentation.turn_drawing import Bar, DrawnTurn, TurnLane
from streamviz.live.presentation.turn_tree import Turn
from streamviz.records.models import Annotation
from streamviz.records.moments import as_datetime

register = template.Library()


@register.simple_tag
def turn_url(links: TurnLinks, turn: Turn) -> str:
    """The URL of the page with this turn selected."""
    return links.to(turn)


@register.simple_tag
def annotated(annotations: Mapping[UUID, Annotation], stream_id: UUID) -> Annotation | None:
    """What people keep with a turn's stream."""
    return annotations.get(stream_id)


@register.simple_tag
def time_url(links: TurnLinks, turn: Turn, is_cut: bool) -> str:
    """The URL of the page with the drawing's idle time cut out, or to scale."""
    return links.with_time(turn, is_cut=is_cut)


@register.simple_tag
def clock(microseconds: int) -> SafeString:
    """A time of day to the ms, with its date on hover; a script shows it in the viewer's time zone."""
    at = as_datetime(microseconds).astimezone(timezone.get_current_timezone())
    shown = f"{at:%H:%M:%S}.{at.microsecond // 1000:03}"
    marks = at.isoformat(), microseconds // 1000, f"{at:%Y-%m-%d %H:%M:%S %Z}"
    return format_html('<time datetime="{}" data-at="{}" data-shows="ms" title="{}">{}</time>', *marks, shown)


@register.filter
def spaced(name: str) -> str:
    """One of our names in words."""
    return name.replace("_", " ")


@register.simple_tag
def drawn_turns(lane: TurnLane, links: TurnLinks, selected: Turn) -> SafeString:
    """The turns of a lane, each a link. Only figures of ours are not escaped here."""
    urls = {turn.number: links.to(turn) for turn in lane.line.turns}
    return SafeString("".join(_turn(each, urls[each.number], selected.number) for each in lane.turns))


def _turn(turn: DrawnTurn, url: str, selected: str) -> str:
    css = " is-selected" if turn.number == selected and turn.wait is not None else ""
    hit = f'<rect class="turn-hit" x="{turn.hit.x}" y="1" width="{turn.hit.width}" height="33" rx="2"/>'
    denied = f'<line class="mark-deny" {_line(turn.denied_x, turn.denied_x, "11", "33")}/>' if turn.denied_x else ""
    inside = "".join([hit, *_marks(turn), *map(_bar, turn.bars), denied])
    return f'<a class="turn-link{css}" href="{escape(url)}" aria-label="{escape(turn.words)}">{inside}</a>'


def _marks(turn: DrawnTurn) -> Iterator[str]:
    if turn.shown:
        css = "turn-num is-spare" if turn.is_spare else "turn-num"
        yield f'<text class="{css}" text-anchor="middle" x="{turn.middle}" y="11">{turn.shown}</text>'
    if turn.wait:
        yield f'<line class="turn-wait" {_line(turn.wait.x, turn.wait.end, "22.5", "22.5")}/>'
        yield f'<line class="turn-wait" {_line(turn.wait.x, turn.wait.x, "18", "27")}/>'
    if turn.cross:
        x, end = turn.cross.x, f"{float(turn.cross.x[:-1]) + 0.5:.2f}%"
        yield f'<line class="mark-deny" {_line(x, end, "18.5", "26.5")}/>'
        yield f'<line class="mark-deny" {_line(x, end, "26.5", "18.5")}/>'


def _line(x1: str, x2: str, y1: str, y2: str) -> str:
    return f'x1="{x1}" x2="{x2}" y1="{y1}" y2="{y2}"'


def _bar(bar: Bar) -> str:
    place = f'x="{bar.span.x}" y="{bar.top}" width="{bar.span.width}" height="{bar.height}" rx="1"'
    if bar.is_unsent:
        strike = _line(bar.span.x, bar.span.end, bar.middle, bar.middle)
        return f'<rect class="strip-denied" {place}/><line class="strip-strike" {strike}/>'
    over = f'<rect fill="url(#hatch)" {place}/>' if bar.is_held else ""
    return f'<rect class="fill-{bar.css}" {place}/>{over}'
