"""Links to the streams behind a figure."""

from collections.abc import Mapping
from functools import cache, lru_cache
from urllib.parse import quote_plus

from django.urls import reverse

from streamviz.live.filter_terms import quoted_if_needed
from streamviz.live.presentation.figures import UNKNOWN


def page_url(page: str, time: Mapping[str, str], written: str) -> str:
    """The URL of a page of history, for a time span as it is in URLs, and a filter."""
    query = {**({"q": written} if written else {}), **time}
    return f"{_address(page)}?{'&'.join(f'{name}={_quoted(value)}' for name, value in query.items())}"


def sessions_url(time: Mapping[str, str], written: str) -> str:
    """The same for the Sessions page."""
    return page_url("sessions", time, written)


def sessions_between(written: str) -> str:
    """The same for a `charts.Brush`."""
    asked = f"q={_quoted(written)}&" if written else ""
    return f"{_address('sessions')}?{asked}since={{from}}&until={{to}}"


def term(field: str, name: str) -> str:
    """A filter term for exactly this name; a dash matches streams that have none."""
    return f"{field}:{quoted_if_needed(name or UNKNOWN)}"


@cache
def _address(page: str) -> str:
    return reverse(page)


# A page of drawings has hundreds of links to the same few dozen times.
@lru_cache(maxsize=1024)
def _quoted(value: str) -> str:
    return quote_plus(value)
