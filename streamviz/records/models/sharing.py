"""Public links, with which strangers can read a stream or a session."""

import secrets
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.utils import timezone

from streamviz.records.models.access import digest
from streamviz.records.models.sessions import Session
from streamviz.records.models.streams import Stream


class PublicLinkManager(models.Manager["PublicLink"]):
    def issue(self, of: Session | Stream, by: User, lasts: timedelta) -> tuple["PublicLink", str]:
        """Create a link and return it with its secret, which is kept nowhere and cannot be shown again."""
        secret = secrets.token_urlsafe(32)
        link = self.model(digest=digest(secret), created_by=by, expires_at=timezone.now() + lasts)
        if isinstance(of, Session):
            link.session = of
        else:
            link.stream = of
        link.save(force_insert=True)
        return link, secret

    def opened_by(self, secret: str) -> "PublicLink | None":
        """The link with this secret; None if there is none, or it is no longer valid."""
        if not settings.PUBLIC_LINKS:
            return None
        found = self.filter(digest=digest(secret), revoked_at=None, expires_at__gt=timezone.now())
        return found.select_related("session", "stream__session").first()


class PublicLink(models.Model):
    """A link to one session or one stream, deleted with it. Only a digest of its secret is stored."""

    digest = models.CharField(max_length=64, unique=True, editable=False)
    session = models.ForeignKey(Session, null=True, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+")
    stream = models.ForeignKey(Stream, null=True, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)

    objects = PublicLinkManager()

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(
                condition=Q(session=None, stream__isnull=False) | Q(stream=None, session__isnull=False),
                name="public_link_of_one",
            )
        ]

    def __str__(self) -> str:
        return f"link {self.pk}"

    @property
    def is_open(self) -> bool:
        """Whether the link is still valid."""
        return self.revoked_at is None and self.expires_at > timezone.now()

    def revoke(self) -> None:
        """Revoke the link, so that it leads nowhere from now on; a second time has no effect."""
        if self.revoked_at is None:
            self.revoked_at = timezone.now()
            self.save(update_fields=["revoked_at"])
