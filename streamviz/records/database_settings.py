"""Django's settings for the record's databases, read from the environment."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from streamviz import environment

CONNECT_TIMEOUT_SECONDS = 5
# A database that does not even acknowledge what it is sent counts as gone after this long; idle connections are probed.
SILENCE_SECONDS = 30
KEEPALIVES = {"keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3}
# The smallest pool, as health probes and the watch over keys and policies keep one connection.
LEAST_POOL = 2
REPLICA_TIMEOUT_SECONDS = 2  # a page waits no longer, as it can be read from the primary


def postgres(
    name: str, timeout: int = CONNECT_TIMEOUT_SECONDS, silence: int = SILENCE_SECONDS
) -> dict[str, Any] | None:
    """Django's settings for the Postgres at this variable's URL; None if it is unset. Unless the URL says otherwise, a
    new connection must be answered in `timeout` seconds, and one that is silent for `silence` seconds is lost.

    Raises ImproperlyConfigured without repeating the URL, which may hold a password.
    """
    url = environment.text(name)
    if not url:
        return None
    if _has_bare_mark(url):
        raise ImproperlyConfigured(f"In the user and password of {name}, / must be written as %2F, and @ as %40.")
    try:
        parts = conninfo_to_dict(url) if url.startswith(("postgres://", "postgresql://")) else {}
        int(str(parts.get("connect_timeout", timeout)))  # which the driver would refuse only as it connects
    except (ProgrammingError, ValueError):
        parts = {}
    database = parts.pop("dbname", None)
    if not database:
        raise ImproperlyConfigured(f"{name} must look like postgresql://USER:PASSWORD@HOST:5432/DATABASE.")
    known = {key.upper(): str(parts.pop(key, "") or "") for key in ("user", "password", "host", "port")}
    options = {"connect_timeout": timeout, **KEEPALIVES, "tcp_user_timeout": silence * 1000} | parts
    return {"ENGINE": "django.db.backends.postgresql", "NAME": database, **known, "OPTIONS": options}


def _has_bare_mark(url: str) -> bool:
    """Whether a part of the password would be taken for the host or the database, which errors name."""
    user, at, place = url.partition("://")[2].partition("@")
    if "/" in user:
        return bool(at) and "?" not in user  # there is no password, and @ is in a parameter
    return "@" in place.partition("?")[0]


def pooled(database: dict[str, Any], most: int, timeout: int = CONNECT_TIMEOUT_SECONDS) -> dict[str, Any]:
    """Django's settings for a database whose connections are kept for later requests, at most this many per process;
    with 0, each request makes its own. A connection that has died meanwhile is replaced."""
    if not most:
        return database
    pool = {"min_size": 0, "max_size": max(LEAST_POOL, most), "timeout": timeout, "num_workers": 1}
    return {**database, "CONN_HEALTH_CHECKS": True, "OPTIONS": {**database["OPTIONS"], "pool": pool}}
