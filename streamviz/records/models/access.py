"""Who may call, and who tried to sign in."""

import hashlib
import secrets

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone

from streamviz.records.models.routes import Route, require_listable
from streamviz.upstream.providers import PROVIDERS

PREFIX = "sv-"  # how each key begins
_SHOWN = 8


def digest(secret: str) -> str:
    """What is stored of a key. A key is 32 random bytes, so a plain SHA-256 cannot be reversed by guessing."""
    return hashlib.sha256(secret.encode()).hexdigest()


class ApiKeyManager(models.Manager["ApiKey"]):
    def issue(
        self,
        name: str,
        by: User | None = None,
        models: str = "",
        provider: str = "",
        *,
        may_choose_executor: bool = False,
    ) -> tuple["ApiKey", str]:
        """Create a key and return it with its secret, which is kept nowhere and cannot be shown again. `models` are the
        models it may call, `provider` is where its passed-through calls go."""
        secret = f"{PREFIX}{secrets.token_urlsafe(32)}"
        key = self.create(
            name=name,
            prefix=secret[:_SHOWN],
            digest=digest(secret),
            created_by=by,
            models_scope=models,
            default_provider=provider,
            may_choose_executor=may_choose_executor,
        )
        return key, secret


class ApiKey(models.Model):
    """A client's key. Only its digest is stored; `prefix` is what people may see of it."""

    name = models.CharField(max_length=100, unique=True)
    prefix = models.CharField(max_length=_SHOWN, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    models_scope = models.CharField(
        "models",
        max_length=1000,
        blank=True,
        default="",
        db_default="",
        help_text="Models this key may call: comma-separated, * and ? are wildcards, empty means all.",
    )
    default_provider = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="Provider or route for calls to other endpoints (files, images, …) that do not name one.",
    )
    may_choose_executor = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Its requests may say what answers them (x-streamviz-executor), whatever their route says.",
    )
    # Whose sessions the key's are, so that no other key shares them, whatever it is called. For older keys, and keys
    # that an older release creates, it is the name.
    owner = models.CharField(default=secrets.token_hex, db_default="", max_length=100, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", editable=False
    )
    revoked_at = models.DateTimeField(null=True, editable=False)

    objects = ApiKeyManager()

    # The key itself, set only when it has just been issued; not a column.
    secret = ""

    class Meta:
        verbose_name = "API key"
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Raises ValidationError for an unknown provider, and for a name that cannot be in a list of names."""
        require_listable(self, self.name)
        name = self.default_provider
        if name and name not in PROVIDERS and not Route.objects.filter(name=name).exists():
            raise ValidationError({"default_provider": f"There is no provider or route named {name}."})

    @property
    def is_revoked(self) -> bool:
        return self.revoked_at is not None

    def revoke(self) -> None:
        """Revoke the key, so that it opens nothing from now on; a second time has no effect."""
        if self.revoked_at is None:
            self.revoked_at = timezone.now()
            self.save(update_fields=["revoked_at"])


class SignInAttempt(models.Model):
    """An attempt to sign in, kept for minutes so that attempts can be counted; `account` is a digest of what was
    typed."""

    account = models.CharField(max_length=64, db_index=True)
    address = models.CharField(max_length=50, db_index=True)
    at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.address} at {self.at:%H:%M:%S}"
