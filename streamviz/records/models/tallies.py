"""What sessions have come to, for policies that limit them: counted where all workers see it."""

from django.db import models


class SessionTally(models.Model):
    """What the streams of a session add up to that are over. `touched_at` is when it last changed."""

    session_id = models.UUIDField(primary_key=True)
    began_at = models.DateTimeField()
    touched_at = models.DateTimeField(db_index=True)
    streams = models.BigIntegerField()
    blocks = models.BigIntegerField()
    tool_calls = models.BigIntegerField()
    output_tokens = models.BigIntegerField()
    cost = models.FloatField()
    is_estimate = models.BooleanField()
    unpriced = models.BigIntegerField()

    def __str__(self) -> str:
        return str(self.session_id)


class Reservation(models.Model):
    """What a running stream may still come to; None is without bound. Its worker renews `seen_at` while it lives.

    `session_id` is the tally that it is counted in: its session's, or where there is a `period` (hour, day or month)
    its key's.
    """

    pk = models.CompositePrimaryKey("stream_id", "period")
    stream_id = models.UUIDField()
    period = models.CharField(max_length=5, blank=True)
    session_id = models.UUIDField(db_index=True)
    worker = models.UUIDField(db_index=True)
    seen_at = models.DateTimeField()
    output_tokens = models.BigIntegerField(null=True)
    cost = models.FloatField(null=True)

    def __str__(self) -> str:
        return f"{self.stream_id} {self.period}".rstrip()
