"""Links to the streams behind a figure."""

from collections.abc import Mapping
from urllib.parse import urlencode

from django.urls import reverse

from streamviz.live.filters import quoted_if_needed
from streamviz.live.presentation.text import UNKNOWN


def sessions_url(time: Mapping[str, str], written: str = "") -> str:
    """The Sessions page, of a stretch of time as it is in a URL, under a filter."""
    query = {**({"q": written} if written else {}), **time}
    return f"{reverse('sessions')}?{urlencode(query)}"


def term(field: str, name: str) -> str:
    """A filter for exactly this name; a dash is that of streams that have none."""
    return f"{field}:{quoted_if_needed(name or UNKNOWN)}"
