"""How the admin looks: streamviz's name, icon and colours, as in static/css/tokens.css; its script and stylesheet."""

from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse


def icon(request: HttpRequest) -> str:
    """The URL of streamviz's icon."""
    return static("icon.svg")


def script(request: HttpRequest) -> str:
    """The URL of the script that makes the admin do what all pages do."""
    return static("js/admin.js")


def style(request: HttpRequest) -> str:
    """The URL of the stylesheet that makes the admin fit all windows."""
    return static("css/admin.css")


def site(request: HttpRequest) -> str:
    """Where streamviz's own pages begin, possibly below a path."""
    return reverse("live")


# From the light background (50), over lines and text, to the dark background (950).
_GREYS = {
    "50": "#f7f8fa",
    "100": "#f1f3f6",
    "200": "#e5e8ed",
    "300": "#d0d5dd",
    "400": "#8f97a5",
    "500": "#626a77",
    "600": "#454c58",
    "700": "#353c48",
    "800": "#242932",
    "900": "#14171c",
    "950": "#0e1014",
}
# The accent: 600 in light, 500 and 400 in dark.
_ACCENT = {
    "50": "#eeeefc",
    "100": "#eeeffc",
    "200": "#d8d8f8",
    "300": "#babbff",
    "400": "#9b9dff",
    "500": "#7a7bee",
    "600": "#4a49cf",
    "700": "#3d3cb4",
    "800": "#2f2e8c",
    "900": "#21225f",
    "950": "#1e2136",
}

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "streamviz admin",
    "SITE_HEADER": "streamviz",
    "SITE_SUBHEADER": "Administration",
    "SITE_URL": site,
    "SITE_ICON": icon,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": icon}],
    "SCRIPTS": [script],
    "STYLES": [style],
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "BORDER_RADIUS": "5px",
    "COLORS": {"base": _GREYS, "primary": _ACCENT},
}
