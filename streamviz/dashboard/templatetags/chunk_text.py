"""Chunks as people can read them."""

from django import template

register = template.Library()


@register.filter
def offset(microseconds: int) -> str:
    """A time after the request, to the millisecond."""
    return f"{microseconds / 1_000_000:.3f} s"
