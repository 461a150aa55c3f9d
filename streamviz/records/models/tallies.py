"""What limits count."""

from django.contrib.postgres.fields import ArrayField
from django.db import models


class Tally(models.Model):
    """A part of what finished streams came to: those of a session, or of a key if `session_id` is null, that began in
    the same hour (later, on the same day) and called the same model with the same key.

    The writer adds rows as it stores the ends of streams, and rows with negative values if they move to another
    session; the totals are the sums of the rows, however many there are. The upkeep merges them (`tally_rows.py`).
    Deleting streams takes nothing off: they were used all the same. `began_at` is the earliest of their beginnings,
    `is_unread` says that nothing read which model they call; `estimated` counts those whose tokens are estimates,
    `unpriced` those of unknown price. `cost` is in US dollars.
    """

    session_id = models.UUIDField(null=True)
    key_id = models.BigIntegerField(null=True)
    began_at = models.DateTimeField()
    requested_model = models.TextField()
    provider = models.TextField()
    upstream_model = models.TextField()
    other_names = ArrayField(models.TextField())
    is_unread = models.BooleanField()
    streams = models.BigIntegerField()
    blocks = models.BigIntegerField()
    tool_calls = models.BigIntegerField()
    output_tokens = models.BigIntegerField()
    cost = models.FloatField()
    estimated = models.BigIntegerField()
    unpriced = models.BigIntegerField()

    class Meta:
        indexes = [
            models.Index(fields=["session_id"], condition=models.Q(session_id__isnull=False), name="tally_of_session"),
            models.Index(
                fields=["key_id", "began_at"], condition=models.Q(session_id__isnull=True), name="tally_of_key"
            ),
            models.Index(fields=["began_at"], name="tally_time"),
        ]


class Use(models.Model):
    """What a limited stream may use while it runs (None is unlimited), and what it used once it `is_over`, until the
    record has its end and it is in a Tally. Its worker renews `seen_at` while it runs."""

    stream_id = models.UUIDField(primary_key=True)
    session_id = models.UUIDField(db_index=True)
    key_id = models.BigIntegerField(null=True)
    began_at = models.DateTimeField()
    requested_model = models.TextField()
    provider = models.TextField()
    upstream_model = models.TextField()
    other_names = ArrayField(models.TextField())
    is_unread = models.BooleanField()
    worker = models.UUIDField(db_index=True)
    seen_at = models.DateTimeField()
    is_over = models.BooleanField(default=False)
    blocks = models.BigIntegerField(default=0)
    tool_calls = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(null=True)
    cost = models.FloatField(null=True)
    is_estimate = models.BooleanField(default=False)
    unpriced = models.BigIntegerField(default=0)

    class Meta:
        indexes = [models.Index(fields=["key_id", "began_at"], name="use_of_key")]

    def __str__(self) -> str:
        return str(self.stream_id)
