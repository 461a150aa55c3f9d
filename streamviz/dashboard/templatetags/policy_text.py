"""What a kind's docstring says, as people read it on a page."""

import re

from django import template
from django.utils.html import escape, format_html_join
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

_CODE = re.compile(r"`([^`]+)`")


@register.filter
def prose(text: str) -> SafeString:
    """Paragraphs and lists, with names set as code; everything is escaped."""
    return format_html_join("", "<p>{}</p>", ((_marked(each),) for each in text.split("\n\n")))


def _marked(paragraph: str) -> SafeString:
    # A line that begins with a dash is an item; any other line goes on from the one before.
    joined = re.sub(r"\n(?!- )\s*", " ", paragraph)
    lines = (_CODE.sub(r"<code>\1</code>", escape(line)) for line in joined.split("\n"))
    return mark_safe("<br>".join(re.sub("^- ", "• ", line) for line in lines))  # noqa: S308  escaped line by line
