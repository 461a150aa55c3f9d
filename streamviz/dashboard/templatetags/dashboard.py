"""What the frame of every page shows, and drawings."""

from django import template
from django.template import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString

from streamviz.dashboard import chart_markup, themes
from streamviz.live.hub import hub

register = template.Library()

register.simple_tag(chart_markup.bars, name="bars")
register.simple_tag(chart_markup.small_bars, name="small_bars")


@register.simple_tag
def nav_held() -> SafeString:
    """How many streams wait for a verdict just now."""
    return hub.nav_held()


@register.simple_tag(takes_context=True)
def theme_attribute(context: Context) -> SafeString:
    """For the html element: the theme that this browser's user chose; nothing where the system's is to be used."""
    theme = themes.chosen(context["request"])
    return format_html(' data-theme="{}"', theme) if theme else SafeString("")
