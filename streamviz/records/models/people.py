"""What people store: annotations of streams, saved views, and the progress of their downloads."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.urls import reverse
from django.utils import timezone

from streamviz.records.models.streams import Stream


class Annotation(models.Model):
    """A star, a note and labels on a stream. Deleted with the stream."""

    stream = models.OneToOneField(
        Stream, on_delete=models.DO_NOTHING, primary_key=True, related_name="annotation", db_constraint=False
    )
    is_starred = models.BooleanField(default=False)
    note = models.TextField(blank=True)
    labels = ArrayField(models.TextField(), default=list, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["stream"], condition=models.Q(is_starred=True), name="stream_starred"),
            GinIndex(fields=["labels"], name="stream_labels"),
        ]


class SavedView(models.Model):
    """A page of history as somebody wants to see it again: its URL name, and its query string."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views", db_index=False
    )
    name = models.CharField(max_length=60)
    page = models.CharField(max_length=20)
    query = models.CharField(max_length=1000, blank=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["user", "name"], name="view_name")]

    def __str__(self) -> str:
        return self.name

    @property
    def url(self) -> str:
        return f"{reverse(self.page)}?{self.query}"


class Download(models.Model):
    """A list of streams that somebody downloads: how many are written, of how many. `total` is None until they are
    counted, or if counting takes too long; it may be an estimate. A page names the download before it begins."""

    id = models.UUIDField(primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="downloads")
    streams = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(null=True)
    is_whole = models.BooleanField(default=False)
    updated_at = models.DateTimeField(default=timezone.now)
