"""What people keep with a stream."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from streamviz.records.models.streams import Stream


class Annotation(models.Model):
    """A star, a note and labels of a stream. It goes with the stream."""

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
