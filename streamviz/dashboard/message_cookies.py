"""What pages say once, after a form was sent."""

from typing import Any

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.http import HttpResponseBase


class MessageCookies(FallbackStorage):
    """Django's way to keep it until the next page, in a cookie that is sent to BASE_PATH alone."""

    def update(self, response: HttpResponseBase) -> Any:
        """Called by Django with each response."""
        unstored = super().update(response)
        if (cookie := response.cookies.get(CookieStorage.cookie_name)) is not None:
            cookie["path"] = settings.SESSION_COOKIE_PATH
        return unstored
