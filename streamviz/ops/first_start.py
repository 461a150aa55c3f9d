"""What the first start makes: an administrator and an API key."""

from django.contrib.auth.models import User

from streamviz.dashboard.sign_in_links import sign_in_link
from streamviz.records.models import ApiKey

ADMINISTRATOR = "admin"
KEY_NAME = "first key"


def ensure_administrator() -> User:
    """The first administrator, made when there is none; a new one has no password and signs in with a link."""
    administrator = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    return administrator or User.objects.create_superuser(ADMINISTRATOR)


def link_if_needed(administrator: User, base_url: str) -> str | None:
    """A one-time sign-in link while this administrator has never signed in, or has no password to sign in with."""
    if administrator.last_login and administrator.has_usable_password():
        return None
    return sign_in_link(administrator, base_url)


def issue_first_key() -> str | None:
    """The text of a new API key when there was none; it is not kept and cannot be shown again."""
    if ApiKey.objects.exists():
        return None
    return ApiKey.objects.issue(name=KEY_NAME)[1]
