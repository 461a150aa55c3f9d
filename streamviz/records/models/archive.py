"""What became of old data: the index of the archive, which says which bytes of which object are a stream's runs, and
what retention freed."""

from typing import ClassVar

from django.db import models


class ArchiveObject(models.Model):
    """An object in the storage. It `is_stale` while it has, or may have, bytes that no part refers to, namely those of
    deleted streams; the upkeep then writes the rest to a new object. Its `size` is 0 while it is being uploaded."""

    id = models.UUIDField(primary_key=True)
    key = models.TextField()
    size = models.BigIntegerField(default=0)
    made_at = models.DateTimeField()
    is_stale = models.BooleanField(default=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["made_at"], condition=models.Q(is_stale=True), name="archive_object_stale")
        ]


class ArchivedPart(models.Model):
    """Runs of one stream in an object: `size` bytes from `start` on.

    A stream's parts are numbered from 0. A part has `chunks` chunks, from `first_seq` to `end_seq` (exclusive), with
    `payload_bytes` bytes, all of which are kept if it `is_whole`. Frames are numbered alike.
    """

    pk = models.CompositePrimaryKey("stream_id", "number")
    stream_id = models.UUIDField()
    number = models.PositiveIntegerField()
    object = models.ForeignKey(ArchiveObject, on_delete=models.PROTECT, related_name="parts")
    start = models.BigIntegerField()
    size = models.PositiveIntegerField()
    length = models.PositiveBigIntegerField(default=0, db_default=0, help_text="Bytes when unpacked; 0 if unknown.")
    first_seq = models.PositiveIntegerField()
    end_seq = models.PositiveIntegerField()
    first_frame = models.PositiveIntegerField()
    end_frame = models.PositiveIntegerField()
    chunks = models.PositiveIntegerField()
    payload_bytes = models.BigIntegerField()
    is_whole = models.BooleanField()


class RetentionRun(models.Model):
    """One application of retention, and what each rule freed: the rule, what it counts, how many, and bytes."""

    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    freed = models.JSONField(default=list)

    class Meta:
        ordering = ["-started_at"]
