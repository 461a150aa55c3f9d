"""Where Postgres is, for connections that psycopg makes without Django."""

from django.conf import settings
from psycopg.conninfo import make_conninfo

_NAMES = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}


def conninfo() -> str:
    """The connection string of Django's default database."""
    database = settings.DATABASES["default"]
    parts = {name: str(database[key]) for key, name in _NAMES.items() if database.get(key)}
    return make_conninfo("", **parts, **database.get("OPTIONS", {}))
