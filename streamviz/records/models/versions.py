"""What keeps every version that it has had, with who made it, when and why."""

from typing import Any

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

    def newest_version(self) -> Any:
        """The newest version, None if there is none yet; its row is locked until the transaction ends, so that two
        changes at once cannot take one number."""
        type(self)._default_manager.select_for_update().filter(pk=self.pk).first()
        # Asked for anew: `versions` may have been read, and kept, before the lock.
        return self.versions.order_by("-number").first() if self.pk else None

    def is_changed(self, newest: Any) -> bool:
        """Whether it differs from its newest version."""
        return bool(newest is None or newest.fields() != self.fields())

    def fields(self) -> dict[str, Any]:
        """What a version keeps of it, by name."""
        raise NotImplementedError

    def save_version(self, newest: Any, by: User | None, reason: str, *args: Any, **kwargs: Any) -> None:
        """Save it as Django does, with a version of it where it differs from the newest one."""
        is_changed = self.is_changed(newest)
        if is_changed:
            self.version = newest.number + 1 if newest else 1
        super().save(*args, **kwargs)
        if is_changed:
            self.versions.create(number=self.version, changed_by=by, reason=reason, **self.fields())
