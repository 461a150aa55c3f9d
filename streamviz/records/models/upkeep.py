"""What the upkeep of the record leaves behind."""

from django.db import models


class RetentionRun(models.Model):
    """A time at which retention was applied, and what each rule freed: rule, what it counts, how many, bytes."""

    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    freed = models.JSONField(default=list)

    class Meta:
        ordering = ["-started_at"]
