"""Bar charts over time as HTML, without templates, which take many times as long (`python -m bench.markup`)."""

import html
from collections.abc import Sequence
from datetime import UTC, datetime

from django.utils.safestring import SafeString

from streamviz.dashboard.charts import Bar, Brush, Chart, percent
from streamviz.dashboard.time_axis import Mark

_GROUND = '<line class="bars-ground" x1="0" x2="100%" y1="100%" y2="100%"/>'


def bars(chart: Chart, axis: Sequence[Mark], changes: Sequence[Mark] = (), brush: Brush | None = None) -> SafeString:
    """A drawing with its axis, and vertical lines for changes; with a `brush`, a script lets people drag across it."""
    top = f'<text class="axis-text" x="0" y="10">{html.escape(chart.top)}</text>' if chart.top else ""
    lines = "".join(f'<line class="axis-line" x1="{mark.x}" x2="{mark.x}" y1="0" y2="100%"/>' for mark in axis)
    words = "".join(map(_moment, axis))
    plot = f"{lines}{''.join(map(_bar, chart.bars))}{''.join(map(_change, changes))}{_GROUND}"
    return SafeString(
        f'<svg class="bars" aria-hidden="true"{brush_attributes(brush)}>{top}'
        f'<svg class="bars-plot" y="14" width="100%" height="72">{plot}</svg>{words}</svg>'
    )


def brush_attributes(brush: Brush | None) -> str:
    """The attributes of a drawing that static/js/brush.js needs."""
    if brush is None:
        return ""
    since, until = (_ms(at) for at in (brush.span.since, brush.span.until))
    step = round(brush.span.step.total_seconds() * 1000)
    return f' data-from="{since}" data-to="{until}" data-step="{step}" data-href="{html.escape(brush.href)}"'


def small_bars(chart: Chart) -> SafeString:
    """A drawing for a row of a table."""
    drawn = "".join(map(_bar, chart.bars))
    return SafeString(f'<svg class="small-bars-plot" aria-hidden="true">{_GROUND}{drawn}</svg>')


def _ms(at: datetime) -> int:
    """In ms since the epoch."""
    return round(at.timestamp() * 1000)


def _link(href: str, at: datetime, words: str, drawn: str) -> str:
    """The title begins with the time in UTC, which a script shows in the viewer's time zone."""
    title = f'<title data-begins="{_ms(at)}">{at.astimezone(UTC):%d %b %H:%M:%S}: {html.escape(words)}</title>'
    return f'<a href="{html.escape(href)}" tabindex="-1">{title}{drawn}</a>'


def _bar(bar: Bar) -> str:
    across = f'x="{bar.x}" width="{bar.width}"'
    pieces = "".join(
        f'<rect class="bar-{each.css}" {across} y="{each.y}" height="{each.height}"/>' for each in bar.pieces
    )
    return _link(
        bar.href, bar.at, bar.words, f'<rect class="bar-room" {across} y="0" height="100%"/>{pieces}{_cut(bar)}'
    )


def _cut(bar: Bar) -> str:
    """A gap in a bar that is higher than the drawing, and its value."""
    if not bar.over:
        return ""
    gap = f'<rect class="outlier-break" x="{bar.x}" width="{bar.width}" y="10%" height="4%"/>'
    left, width = float(bar.x.rstrip("%")), float(bar.width.rstrip("%"))
    place = f'text-anchor="start" dx="4" x="{percent(left + width)}"'
    if left >= 50:
        place = f'text-anchor="end" dx="-4" x="{bar.x}"'
    return f'{gap}<text class="outlier-text" {place} y="9">{html.escape(bar.over)}</text>'


def _moment(mark: Mark) -> str:
    at = f'data-at="{_ms(mark.at)}" data-shows="{mark.shows}"'
    place = 'class="axis-text axis-late" text-anchor="end"' if mark.is_late else 'class="axis-text"'
    return f'<text {place} x="{mark.x}" y="100%" dy="-3" {at}>{html.escape(mark.words)}</text>'


def _change(mark: Mark) -> str:
    line = f'<line class="bar-change" x1="{mark.x}" x2="{mark.x}" y1="0" y2="100%"/>'
    return _link(mark.href, mark.at, mark.words, line)
