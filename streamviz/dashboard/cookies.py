"""Cookies: for messages that pages show once after a form was sent, for sign-ins, and for what a browser keeps."""

import re
from typing import Any

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.sessions.backends import db
from django.http import HttpResponseBase

_KEY = re.compile(r"[0-9a-z]{32}")


def keep(response: HttpResponseBase, name: str, value: str, seconds: int) -> None:
    """Have the browser keep this, out of reach of scripts, and send it to BASE_PATH alone."""
    response.set_cookie(
        name,
        value,
        max_age=seconds,
        path=settings.SESSION_COOKIE_PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


class MessageCookies(FallbackStorage):
    """Django's way of keeping messages until the next page, in a cookie that is sent to BASE_PATH alone."""

    def update(self, response: HttpResponseBase) -> Any:
        """Called by Django with each response."""
        unstored = super().update(response)
        if (cookie := response.cookies.get(CookieStorage.cookie_name)) is not None:
            cookie["path"] = settings.SESSION_COOKIE_PATH
        return unstored


class SessionStore(db.SessionStore):
    """Django's session store, which is asked for nothing but keys that it could have made.

    A cookie is untrusted text. Postgres accepts none with a NUL, and each such request would fail with a traceback.
    """

    def create(self) -> None:
        """Called by Django at each sign-in. Deletes those that have expired, which Django leaves to a command."""
        self.clear_expired()
        super().create()

    def _validate_session_key(self, key: str | None) -> bool:
        """Called by Django with the cookie's value; without a valid key it looks nothing up."""
        return bool(key and _KEY.fullmatch(key))
