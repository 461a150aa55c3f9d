"""Totals of streams, so that figures for long times need not be counted from every stream."""

from django.db import models


class HalfHour(models.Model):
    """A part of the totals of the finished streams that were requested in the half hour from `requested_at` on.

    Triggers on the streams' table add a row for each change, with negative values for what no longer holds; figures are
    the sums of the rows, however many there are. The upkeep merges them (`half_hours.py`). `reported_input`, `reported`
    and `priced` say for how many streams the respective sums are known, `estimated` for how many the tokens are
    estimates; `cached_tokens` are those of the input that were read from a cache.
    """

    requested_at = models.DateTimeField()
    requested_model = models.TextField()
    provider = models.TextField()
    key_id = models.BigIntegerField(null=True)
    outcome = models.TextField()
    streams = models.BigIntegerField()
    input_tokens = models.BigIntegerField()
    output_tokens = models.BigIntegerField()
    cost = models.DecimalField(max_digits=20, decimal_places=8)
    reported_input = models.BigIntegerField()
    reported = models.BigIntegerField()
    priced = models.BigIntegerField()
    cached_tokens = models.BigIntegerField(default=0)
    estimated = models.BigIntegerField(default=0)

    class Meta:
        indexes = [models.Index(fields=["requested_at"], name="half_hour_time")]
