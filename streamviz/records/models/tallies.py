"""Running totals of sessions, for policies that limit them; visible to all workers."""

from django.db import models


class SessionTally(models.Model):
    """The totals of a session's finished streams. `touched_at` is when they last changed."""

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
    """What a running stream may still add; None is unlimited. Its worker renews `seen_at` while it lives.

    `session_id` is the tally that the stream counts towards: its session's or, if there is a `period` (hour, day or
    month), its key's.
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
