"""What became of what is old: the index of the archive, which bytes of which object are the runs of a stream, and what
retention freed."""

from typing import ClassVar

from django.db import models


class ArchiveObject(models.Model):
    """An object in the storage. It `is_stale` while it holds, or may hold, bytes that no part leads to: they are
    streams' that were deleted, and the upkeep writes the rest anew. Its `size` is 0 while it is on its way there."""

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

    Parts have numbers from 0 on. Chunks are those from `first_seq` to before `end_seq`, `chunks` of them, with
    `payload_bytes` bytes, all of them kept if it `is_whole`; frames are counted alike.
    """

    pk = models.CompositePrimaryKey("stream_id", "number")
    stream_id = models.UUIDField()
    number = models.PositiveIntegerField()
    object = models.ForeignKey(ArchiveObject, on_delete=models.PROTECT, related_name="parts")
    start = models.BigIntegerField()
    size = models.PositiveIntegerField()
    length = models.PositiveBigIntegerField(
        default=0, db_default=0, help_text="Bytes when it is unpacked; 0 where that was not noted yet."
    )
    first_seq = models.PositiveIntegerField()
    end_seq = models.PositiveIntegerField()
    first_frame = models.PositiveIntegerField()
    end_frame = models.PositiveIntegerField()
    chunks = models.PositiveIntegerField()
    payload_bytes = models.BigIntegerField()
    is_whole = models.BooleanField()


class RetentionRun(models.Model):
    """A time at which retention was applied, and what each rule freed: rule, what it counts, how many, bytes."""

    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    freed = models.JSONField(default=list)

    class Meta:
        ordering = ["-started_at"]
