"""Light or dark: the system's choice, unless a person has made another for this browser."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from streamviz.dashboard.cookies import keep

_COOKIE = "theme"
_YEAR_SECONDS = 365 * 86400
THEMES = {"": "System", "light": "Light", "dark": "Dark"}


def chosen(request: HttpRequest) -> str:
    """One of THEMES; anything else in the cookie counts as none."""
    theme = request.COOKIES.get(_COOKIE, "")
    return theme if theme in THEMES else ""


def choose(response: HttpResponse, theme: str) -> None:
    """Have the browser remember it."""
    if theme in THEMES and theme:
        keep(response, _COOKIE, theme, _YEAR_SECONDS)
    else:
        response.delete_cookie(_COOKIE, path=settings.SESSION_COOKIE_PATH, samesite="Lax")
