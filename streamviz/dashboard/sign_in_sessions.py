"""The store of people's sign-ins: Django's, which is asked for nothing but keys that it could have made.

A cookie is a stranger's text. Postgres takes none with a NUL, and each such request would fail with a traceback.
"""

import re

from django.contrib.sessions.backends import db

_KEY = re.compile(r"[0-9a-z]{32}")


class SessionStore(db.SessionStore):
    """What `SESSION_ENGINE` names."""

    def _validate_session_key(self, key: str | None) -> bool:
        """Called by Django with what a cookie says; without a key it looks nothing up."""
        return bool(key and _KEY.fullmatch(key))
