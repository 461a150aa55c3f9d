"""The parts of a row that change all the time, as HTML, for all pages that have them.

Built without templates, which take many times as long (`python -m bench.markup`).
"""

import html

from django.utils.safestring import SafeString

from streamviz.live.presentation.rows import RowText, RowView
from streamviz.live.presentation.strip import Piece, Strip


def tail(text: RowText) -> str:
    """The end of the output."""
    return f'<p class="tail" id="r-{text.stream_id.hex}-tail"><bdi>{html.escape(text.tail)}</bdi></p>'


def last(text: RowText) -> str:
    """The time since the last chunk."""
    counts = "since" if text.is_running else "ago"
    return f'<b id="r-{text.stream_id.hex}-last" data-{counts}="{text.last.since_ms}">{text.last.text}</b>'


def age(row: RowView) -> str:
    """The time since the request."""
    clock = row.age
    since = f' data-since="{clock.since_ms}"' if clock.since_ms else ""
    return f'<span id="r-{row.stream.id.hex}-age"{since}>{clock.text}</span>'


def rate(row: RowView) -> str:
    """Chunks a second, with a sparkline of the seconds before."""
    spark, is_running = row.spark, row.stream.is_running
    css = ' class="spark-now"' if is_running else ""
    place = f'x="{spark.now_x}" y="{spark.now_y}" width="2.5" height="{spark.now_height}"'
    newest = f"<rect{css} {place}/>" if spark.now_height else ""
    return (
        f'<div class="row-rate" id="r-{row.stream.id.hex}-rate"><svg class="spark" viewBox="0 0 84 20" role="img"'
        f' aria-label="{spark.words if is_running else "finished"}"><path d="{spark.bars}"/>'
        f'<path class="spark-none" d="{spark.none}"/>{newest}</svg>'
        f"<span>{f'{spark.rate}/s' if is_running else '–'}</span></div>"
    )


def blocks(row: RowView) -> str:
    """The block strip."""
    return f'<div id="r-{row.stream.id.hex}-strip">{strip(row.strip)}</div>'


def strip(drawn: Strip) -> SafeString:
    """A block strip; it contains only words and figures of ours, so nothing is escaped."""
    edge = f'<rect class="strip-edge" x="{drawn.edge}" y="0" width="2" height="14"/>' if drawn.edge else ""
    pieces = "".join(map(_piece, drawn.pieces))
    return SafeString(
        f'<svg class="strip" role="img" aria-label="{drawn.words}"><rect class="strip-track" y="7" width="100%"'
        f' height="1"/>{pieces}{edge}</svg>'
    )


def _piece(one: Piece) -> str:
    place = f'x="{one.x}" y="{one.top}" width="{one.width}" height="{one.height}" rx="1.5"'
    line = f'x1="{one.x}" x2="{one.end}"'
    match one.state:
        case "never sent":
            strike = f'<line class="strip-strike" {line} y1="{one.middle}" y2="{one.middle}"/>'
            return f'<rect class="strip-denied" {place}/>{strike}'
        case "held":
            over = f'<rect fill="url(#hatch)" {place}/>'
        case "replaced":
            over = f'<line class="strip-replaced" {line} y1="14" y2="14"/>'
        case _:
            over = ""
    return f'<rect class="fill-{one.css}" {place}/>{over}'
