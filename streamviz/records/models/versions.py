"""Models that keep all their versions, with who made each, when and why."""

from typing import Any, Self

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone


class Version(models.Model):
    """Something as it was from `changed_at` on. Never changed once made."""

    number = models.PositiveIntegerField()
    changed_at = models.DateTimeField(default=timezone.now)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    reason = models.CharField(max_length=500, blank=True)

    class Meta:
        abstract = True
        ordering = ["-number"]


class Versioned(models.Model):
    """Something as it is now. Both it and its `versions` have `fields()`: what a version keeps of it."""

    version: Any
    versions: Any

    class Meta:
        abstract = True

    def stored(self, *, is_locked: bool = False) -> Self | None:
        """The stored object, None if it is new. If locked, it stays unchanged until the transaction ends, so that two
        concurrent changes cannot get the same number."""
        objects = type(self)._default_manager
        return (objects.select_for_update() if is_locked else objects).filter(pk=self.pk).first()

    def is_changed(self, stored: Self | None) -> bool:
        """Whether it differs from what is stored. The newest version is no guide: an import adds versions that were in
        force elsewhere."""
        return stored is None or not stored.version or stored.fields() != self.fields()

    def fields(self) -> dict[str, Any]:
        """What a version keeps of it, by name."""
        raise NotImplementedError

    def save_version(self, stored: Self | None, by: User | None, reason: str, *args: Any, **kwargs: Any) -> None:
        """Save it as Django does, and make a version if it differs from what is stored, which must be locked."""
        is_changed = self.is_changed(stored)
        if is_changed:
            # Queried again, as `versions` may have been read and cached before the lock.
            newest = self.versions.order_by("-number").first() if self.pk else None
            self.version = newest.number + 1 if newest else 1
        super().save(*args, **kwargs)
        if is_changed:
            self.versions.create(number=self.version, changed_by=by, reason=reason, **self.fields())
