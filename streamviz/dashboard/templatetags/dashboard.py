"""What the frame of every page shows."""

from django import template
from django.utils.safestring import SafeString

from streamviz.live import rendering
from streamviz.live.feed import feed
from streamviz.live.topics import count_held

register = template.Library()


@register.simple_tag
def nav_held() -> SafeString:
    """How many streams wait for a verdict just now."""
    return rendering.nav_held(count_held(feed))
