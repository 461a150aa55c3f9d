"""The cost of making markup with f-strings and with templates, in µs, best of five: `python -m bench.markup`."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from timeit import repeat

import django

TEMPLATE = """{% for bar in bars %}<a href="{{ bar.href }}" tabindex="-1"><title>{{ bar.words }}</title>
<rect class="bar-room" x="{{ bar.x }}" width="{{ bar.width }}" y="0" height="100%"/>
{% for each in bar.pieces %}<rect class="bar-{{ each.css }}" x="{{ bar.x }}" width="{{ bar.width }}"
 y="{{ each.y }}" height="{{ each.height }}"/>{% endfor %}</a>{% endfor %}"""
STRIP = """<svg class="strip" role="img" aria-label="{{ drawn.words }}">{% for one in drawn.pieces %}
<rect class="fill-{{ one.css }}" x="{{ one.x }}" y="{{ one.top }}" width="{{ one.width }}"
 height="{{ one.height }}" rx="1.5"/>{% endfor %}</svg>"""

INSERTION = """<{{ tag }} hx-swap-oob="{{ where }}">{{ html }}</{{ tag }}>"""


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "streamviz.settings")
    django.setup()
    from django.template import engines

    from streamviz.dashboard.chart_markup import bars
    from streamviz.dashboard.charts import Bar, Chart, Piece
    from streamviz.live.presentation import strip as strips
    from streamviz.live.rendering import insertion
    from streamviz.live.row_markup import strip

    pieces = [Piece("completed", "20%", "80%"), Piece("halted", "0%", "20%")]
    now = datetime.now(UTC)
    chart = Chart([Bar(f"{n}%", "1%", f"{n} streams", f"/sessions/?at={n}", pieces, "", now) for n in range(60)], "100")
    blocks = [strips.Piece(f"{n}%", "5%", f"{n}%", 2, 10, "content", "", 7) for n in range(12)]
    drawn = strips.Strip(blocks, None, "12 blocks")
    sources = (TEMPLATE, STRIP, INSERTION)
    of_bars, of_strip, of_insertion = (engines["django"].from_string(source) for source in sources)
    update = {"where": "beforeend:#block-list", "tag": "ol", "html": strip(drawn)}
    print(f"60 bars   f-strings {_best(lambda: bars(chart, ())):7.0f}", end="   ")
    print(f"template {_best(lambda: of_bars.render({'bars': chart.bars})):7.0f}")
    print(f"a strip   f-strings {_best(lambda: strip(drawn)):7.0f}", end="   ")
    print(f"template {_best(lambda: of_strip.render({'drawn': drawn})):7.0f}")
    print(f"an update f-strings {_best(lambda: insertion(**update)):6.1f}", end="   ")
    print(f"template {_best(lambda: of_insertion.render(update)):7.1f}")


def _best(draw: Callable[[], object]) -> float:
    return min(repeat(draw, number=50, repeat=5)) / 50 * 1e6


if __name__ == "__main__":
    main()
