"""What the frame of every page shows, and drawings."""

from django import template
from django.template import Context
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from streamviz.dashboard import chart_markup, themes
from streamviz.live.publisher import publisher

register = template.Library()

register.simple_tag(chart_markup.bars, name="bars")
register.simple_tag(chart_markup.small_bars, name="small_bars")


@register.simple_tag
def stylesheets(*names: str) -> SafeString:
    """Links to these files of static/css, in the order in which one overrides another."""
    return format_html_join("\n", '<link rel="stylesheet" href="{}">', ((static(f"css/{name}.css"),) for name in names))


@register.simple_tag
def nav_held() -> SafeString:
    """How many streams wait for a verdict just now."""
    return publisher.nav_held()


@register.simple_tag(takes_context=True)
def theme_attribute(context: Context) -> SafeString:
    """For the html element: the theme that this browser's user chose; nothing where the system's is to be used."""
    theme = themes.chosen(context["request"])
    return format_html(' data-theme="{}"', theme) if theme else SafeString("")
