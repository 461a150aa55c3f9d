"""One-time sign-in links, for an administrator who has no password yet."""

from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.utils.encoding import force_bytes, force_str
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode


class SignInToken(PasswordResetTokenGenerator):
    """Good for one sign-in: signing in changes `last_login`, which is part of what the token is made from."""

    key_salt = "streamviz.accounts.SignInToken"

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        return f"{user.pk} {user.password} {user.last_login} {user.is_active} {timestamp}"


TOKENS = SignInToken()


def sign_in_link(user: User, base_url: str) -> str:
    """The URL, below `base_url`, that signs this user in, once, within settings.PASSWORD_RESET_TIMEOUT seconds."""
    uidb64 = urlsafe_base64_encode(force_bytes(user.pk))
    return f"{base_url}/sign-in/link/{uidb64}/{TOKENS.make_token(user)}/"


def user_for_link(uidb64: str, token: str) -> User | None:
    """The user whom the link signs in, locked until the transaction ends: of two requests at once, the second waits and
    finds the link used. None if the link is wrong, used or too old."""
    try:
        user = User.objects.select_for_update().get(pk=force_str(urlsafe_base64_decode(uidb64)), is_active=True)
    except (User.DoesNotExist, ValueError, OverflowError):
        return None
    return user if TOKENS.check_token(user, token) else None
