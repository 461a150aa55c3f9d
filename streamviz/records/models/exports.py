"""Files that are being downloaded."""

from django.conf import settings
from django.db import models
from django.utils import timezone


class Download(models.Model):
    """A list of streams that somebody downloads: how many are written, of how many. `total` is None until they are
    counted, or where that takes too long; it may be an estimate. A page names it before the download begins."""

    id = models.UUIDField(primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="downloads")
    streams = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(null=True)
    is_whole = models.BooleanField(default=False)
    updated_at = models.DateTimeField(default=timezone.now)
