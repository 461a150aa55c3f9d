"""Icons and moments, the same on every page."""

import uuid
from datetime import UTC, datetime

from django import template
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from streamviz.live import row_markup
from streamviz.live.presentation import cutting, durations, figures, text

register = template.Library()

register.filter("age", durations.age)
register.filter("lasted", durations.lasted)
register.filter("exact", durations.exact)
register.filter("printable", text.printable)
register.filter("clipped", cutting.clipped)
register.filter("one_line", text.one_line)
register.filter("plural", figures.plural)
register.simple_tag(row_markup.strip, name="strip")
register.filter("count", figures.count)
register.filter("money", figures.money)
register.filter("about", figures.about)
register.filter("byte_size", figures.byte_size)


@register.simple_tag
def icon(name: str, css: str = "") -> SafeString:
    """A symbol of the sprite; the word beside it says what it means."""
    return format_html('<svg class="icon {}" aria-hidden="true"><use href="#i-{}"/></svg>', css, name)


@register.simple_tag
def block_url(stream_id: uuid.UUID, ordinal: int | None) -> str:
    """The URL of a stream's page with that block in view, however many there are; with None, of the page as such."""
    page = reverse("stream", args=[stream_id])
    return page if ordinal is None else f"{page}?from={ordinal}#b{ordinal}"


@register.simple_tag
def moment(at: datetime | None) -> SafeString | str:
    """A time as `4 min ago`, with the absolute time on hover; a script keeps it current."""
    if at is None:
        return figures.UNKNOWN
    absolute = at.astimezone(timezone.get_current_timezone()).strftime("%Y-%m-%d %H:%M:%S %Z")
    return format_html(
        '<time datetime="{}" title="{}" data-ago="{}">{}</time>',
        at.isoformat(),
        absolute,
        int(at.timestamp() * 1000),
        durations.ago((timezone.now() - at).total_seconds()),
    )


@register.simple_tag
def day_and_time(at: datetime) -> SafeString:
    """`28 Nov 14:05:11` in UTC, with the year on hover; a script shows both in the viewer's time zone."""
    utc = at.astimezone(UTC)
    return format_html(
        '<time datetime="{}" data-at="{}" data-shows="moment" title="{}">{}</time>',
        at.isoformat(),
        int(at.timestamp() * 1000),
        f"{utc:%Y-%m-%d %H:%M:%S} UTC",
        f"{utc:%d %b %H:%M:%S}",
    )
