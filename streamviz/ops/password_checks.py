"""Passwords without which other machines are not let in: an administrator's, and the databases'."""

from django.conf import settings
from django.contrib.auth.models import User
from django.db import DEFAULT_DB_ALIAS, connections

from streamviz.environment import COMMAND
from streamviz.faults import Refused
from streamviz.records import replica

LEAST_PASSWORD = 12


def require_password_if_public() -> None:
    """Raises Refused if other machines can reach the server and no administrator has a password to keep them out."""
    if settings.PUBLIC and not has_administrators_password():
        # The embedded Postgres stops with this start, so no command would have a database to run on.
        command = f"Run `{COMMAND} createsuperuser`, or `changepassword` with the administrator's name. Or start"
        raise Refused(
            f"HOST={settings.HOST} can be reached from other machines and no administrator has a password. "
            f"{'Start' if settings.EMBEDDED_POSTGRES else command} once without HOST, sign in with the link, and set "
            "it on the Account page."
        )


def has_administrators_password() -> bool:
    """Whether any administrator has a password to sign in with."""
    administrators = User.objects.filter(is_superuser=True, is_active=True)
    return any(user.has_usable_password() for user in administrators)


def require_database_password_if_public() -> None:
    """Raises Refused if other machines can reach the server and a database has a password that can be guessed."""
    for name, alias in (("DATABASE_URL", DEFAULT_DB_ALIAS), ("DATABASE_REPLICA_URL", replica.ALIAS)):
        password = connections[alias].settings_dict["PASSWORD"] if alias in settings.DATABASES else ""
        if settings.PUBLIC and password and len(password) < LEAST_PASSWORD:
            raise Refused(f"The password in {name} is too weak: it needs at least {LEAST_PASSWORD} characters.")
