"""What keeps every version that it has had, with who made it, when and why."""

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
    """Something as it stands. Both it and its `versions` have `fields()`: what a version keeps of it."""

    version: Any
    versions: Any

    class Meta:
        abstract = True

    def stored(self, *, is_locked: bool = False) -> Self | None:
        """It as it is stored now, None if it is not yet. Locked, it stays so until the transaction ends, so that two
        changes at once cannot take one number."""
        objects = type(self)._default_manager
        return (objects.select_for_update() if is_locked else objects).filter(pk=self.pk).first()

    def is_changed(self, stored: Self | None) -> bool:
        """Whether it differs from what is stored. What its newest version says may be another thing: an import brings
        versions that were in force elsewhere."""
        return stored is None or not stored.version or stored.fields() != self.fields()

    def fields(self) -> dict[str, Any]:
        """What a version keeps of it, by name."""
        raise NotImplementedError

    def save_version(self, stored: Self | None, by: User | None, reason: str, *args: Any, **kwargs: Any) -> None:
        """Save it as Django does, with a version of it where it differs from what is stored, which must be locked."""
        is_changed = self.is_changed(stored)
        if is_changed:
            # Asked for anew: `versions` may have been read, and kept, before the lock.
            newest = self.versions.order_by("-number").first() if self.pk else None
            self.version = newest.number + 1 if newest else 1
        super().save(*args, **kwargs)
        if is_changed:
            self.versions.create(number=self.version, changed_by=by, reason=reason, **self.fields())
