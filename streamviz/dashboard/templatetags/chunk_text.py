"""Chunks as people can read them."""

from django import template

from streamviz.live.presentation.text import printable

register = template.Library()


@register.filter
def decoded(raw: bytes) -> str:
    """A chunk's bytes as text; its line ends are shown, so that what ends an event is seen."""
    return printable(raw.decode("utf-8", "replace").replace("\r", "␍").replace("\n", "␊"))


@register.filter
def offset(microseconds: int) -> str:
    """A time after the request, to the millisecond."""
    return f"{microseconds / 1_000_000:.3f} s"
