"""Where Postgres is, for connections that psycopg makes without Django."""

from django.conf import settings
from psycopg.conninfo import make_conninfo

_NAMES = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}


def conninfo() -> str:
    """The connection string of Django's default database, outside its pool: for what listens, or copies for long."""
    database = settings.DATABASES["default"]
    parts = {name: str(database[key]) for key, name in _NAMES.items() if database.get(key)}
    options = {name: value for name, value in database.get("OPTIONS", {}).items() if name != "pool"}
    return make_conninfo("", **parts, **options)
