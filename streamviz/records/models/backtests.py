"""Back-tests: a policy run over the record, and what it would have done."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from streamviz.records.models.policies import Policy, PolicyFields


class BacktestState(models.TextChoices):
    """The state of a back-test."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


class Backtest(PolicyFields):
    """A run of a policy, with the fields given here, over the newest streams of the record.

    It covers at most `streams` of them, and none from before `since`. `figures` and `examples` are as in
    records/backtests/figures.py. Setting `state` to cancelled ends it.
    """

    policy = models.ForeignKey(Policy, on_delete=models.CASCADE, related_name="backtests")
    streams = models.PositiveIntegerField(default=1000)
    since = models.DateTimeField(null=True)
    state = models.CharField(max_length=10, choices=BacktestState.choices, default=BacktestState.WAITING)
    total = models.PositiveIntegerField(default=0)
    figures = models.JSONField(default=dict)
    examples = models.JSONField(default=list)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"back-test {self.pk} of {self.policy.name}"

    @property
    def is_under_way(self) -> bool:
        return self.state in (BacktestState.WAITING, BacktestState.RUNNING)
