"""What the first start creates: an administrator and an API key."""

from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction

from streamviz.dashboard.sign_in_links import sign_in_link
from streamviz.faults import Fault
from streamviz.ops import password_checks
from streamviz.ops.handing_over import HandedOver, hand_over
from streamviz.ops.welcome import say
from streamviz.records.models import ApiKey

ADMINISTRATOR = "admin"
KEY_NAME = "first key"


def ensure_administrator() -> User:
    """The first administrator, created if there is none; a new one has no password and signs in with a link."""
    administrator = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    return administrator or User.objects.create_superuser(ADMINISTRATOR)


def link_if_needed(administrator: User, base_url: str, file: Path) -> HandedOver | None:
    """A one-time sign-in link, until some administrator has a password to sign in with. Without a terminal it is
    written to `file`, which is removed once it is no longer needed."""
    if password_checks.has_administrators_password():
        file.unlink(missing_ok=True)
        return None
    try:
        return hand_over(sign_in_link(administrator, base_url), file)
    except OSError as error:  # everything runs by now, and on a full disk the writer makes room
        say(f"The sign-in link cannot be written to {file}: {error.strerror}. The next start makes one")
        return None


def issue_first_key(file: Path) -> HandedOver | None:
    """A new API key if there was none; without a terminal to show it on, it is in `file`, and nowhere else.

    Raises Fault if the file cannot be written; then there is no key either, and the next start makes one.
    """
    if ApiKey.objects.exists():
        return None
    try:
        with transaction.atomic():
            _, secret = ApiKey.objects.issue(name=KEY_NAME, may_choose_executor=True)
            return hand_over(secret, file)
    except OSError as error:
        raise Fault(f"The first API key cannot be written to {file}: {error.strerror}.") from None
