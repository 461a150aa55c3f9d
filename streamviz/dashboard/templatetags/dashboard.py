"""What every page shows around its content, drawings, and texts for people to read."""

import re
import uuid

from django import template
from django.conf import settings
from django.template import Context
from django.templatetags.static import static
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from streamviz.dashboard import chart_markup, themes
from streamviz.dashboard.exports import FORMS, Form
from streamviz.dashboard.links import sessions_url, term
from streamviz.dashboard.sorting import Sorting
from streamviz.dashboard.timespans import ALL
from streamviz.live.presentation import durations, figures
from streamviz.live.publisher import publisher
from streamviz.records.models import Annotation, SavedView

register = template.Library()

_CODE = re.compile(r"`([^`]+)`")

register.simple_tag(chart_markup.bars, name="bars")
register.simple_tag(chart_markup.small_bars, name="small_bars")


@register.simple_tag
def stylesheets(*names: str) -> SafeString:
    """Links to these files of static/css, in the order in which they override each other."""
    return format_html_join("\n", '<link rel="stylesheet" href="{}">', ((static(f"css/{name}.css"),) for name in names))


@register.inclusion_tag("live/_nav_asks.html")
def nav_asks() -> dict[str, object]:
    """How many streams wait for a person now."""
    return publisher.asking_shown()


@register.inclusion_tag("live/_nav_count.html")
def nav_count() -> dict[str, object]:
    """The same where there is little room."""
    return publisher.asking_shown()


@register.simple_tag
def asks_in_title() -> str:
    """The same for the tab's title, which a script keeps current."""
    asking = publisher.count_asking()
    return f"({asking}) " if asking else ""


@register.simple_tag
def export_forms() -> dict[str, Form]:
    """The forms in which streams can be exported, by name."""
    return FORMS


@register.simple_tag
def public_links_allowed() -> bool:
    """Whether public links may be made."""
    return bool(settings.PUBLIC_LINKS)


@register.simple_tag(takes_context=True)
def saved_views(context: Context) -> list[SavedView]:
    """The views that the user has saved."""
    return list(SavedView.objects.filter(user=context["request"].user.pk))


@register.inclusion_tag("dashboard/_sorted_head.html")
def sorted_head(sorting: Sorting, column: str, words: str, css: str = "") -> dict[str, object]:
    """A table's header that sorts it by this column."""
    return {"head": sorting.head(column, words), "css": css}


@register.simple_tag
def annotation(stream_id: uuid.UUID) -> Annotation:
    """What people keep with a stream; an empty annotation if there is nothing."""
    return Annotation.objects.filter(stream=stream_id).first() or Annotation(stream_id=stream_id)


@register.simple_tag
def label_url(label: str) -> str:
    """The URL of the sessions of all streams with this label."""
    return sessions_url({"range": ALL}, term("label", label))


@register.simple_tag
def key_url(name: str) -> str:
    """The URL of the sessions of all streams with this key."""
    return sessions_url({"range": ALL}, term("key", name))


@register.simple_tag(takes_context=True)
def theme_attribute(context: Context) -> SafeString:
    """The html element's attribute for the theme that this browser's user chose; empty if the system's is used."""
    theme = themes.chosen(context["request"])
    return format_html(' data-theme="{}"', theme) if theme else SafeString("")


@register.filter
def spread(p50: int | None, p95: int | None) -> SafeString | str:
    """Two times (µs), each on a line of its own if there is little room."""
    if p50 is None:
        return figures.UNKNOWN
    return format_html("<span>{},</span> <span>{}</span>", durations.exact(p50), durations.exact(p95))


@register.filter
def offset(microseconds: int) -> str:
    """A time after the request, to the millisecond."""
    return f"{microseconds / 1_000_000:.3f} s"


@register.filter
def prose(text: str) -> SafeString:
    """Paragraphs and lists, with names set as code; everything is escaped."""
    return format_html_join("", "<p>{}</p>", ((_marked(each),) for each in text.split("\n\n")))


def _marked(paragraph: str) -> SafeString:
    # A line that begins with a dash is an item; any other line continues the one before.
    joined = re.sub(r"\n(?!- )\s*", " ", paragraph)
    lines = (_CODE.sub(r"<code>\1</code>", escape(line)) for line in joined.split("\n"))
    return mark_safe("<br>".join(re.sub("^- ", "• ", line) for line in lines))  # noqa: S308  escaped line by line
