"""A stream's two tapes, in runs: what upstream sent, and what the client got."""

from collections.abc import Iterator

from django.contrib.postgres.fields import ArrayField
from django.db import models

from streamviz.records.models.streams import Stream
from streamviz.records.runs import StoredChunk, StoredFrame, chunks_in, frames_in


class UpstreamRun(models.Model):
    """Consecutive chunks as upstream sent them: their bytes one after another, with the length and time of each.

    `first_at` is µs since the epoch, `offsets` are µs after it. `payload` is null if bytes are not kept. Partitioned by
    the time in `stream_id`, so a stream is in one partition. The view `records_chunk` gives one row per chunk.
    """

    pk = models.CompositePrimaryKey("stream_id", "first_seq")
    stream = models.ForeignKey(Stream, on_delete=models.CASCADE, related_name="upstream_runs", db_constraint=False)
    first_seq = models.IntegerField()
    first_at = models.BigIntegerField()
    offsets = ArrayField(models.IntegerField())
    lengths = ArrayField(models.IntegerField())
    payload = models.BinaryField(null=True)

    def times(self) -> Iterator[int]:
        """When each chunk was received (µs since the epoch)."""
        return (self.first_at + offset for offset in self.offsets)

    def chunks(self) -> Iterator[StoredChunk]:
        """The chunks, in order."""
        return chunks_in(self.first_seq, self.first_at, self.offsets, self.lengths, self.payload)


class ClientRun(models.Model):
    """Consecutive frames as the client got them: upstream's chunks from `first_seq` on or, if that is null, bytes that
    `origin` (a policy) made, which are in `payload`, with the length of each.

    Times and partitions are as in UpstreamRun. The view `records_frame` gives one row per frame.
    """

    pk = models.CompositePrimaryKey("stream_id", "first_frame")
    stream = models.ForeignKey(Stream, on_delete=models.CASCADE, related_name="client_runs", db_constraint=False)
    first_frame = models.IntegerField()
    first_at = models.BigIntegerField()
    offsets = ArrayField(models.IntegerField())
    first_seq = models.IntegerField(null=True)
    origin = models.TextField(blank=True)
    lengths = ArrayField(models.IntegerField())
    payload = models.BinaryField()

    def times(self) -> Iterator[int]:
        """When each frame was sent (µs since the epoch)."""
        return (self.first_at + offset for offset in self.offsets)

    def frames(self) -> Iterator[StoredFrame]:
        """The frames, in order."""
        fields = (self.first_frame, self.first_at, self.offsets, self.first_seq, self.origin, self.lengths)
        return frames_in(*fields, self.payload)
