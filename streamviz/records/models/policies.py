"""Policies as an operator sets them, and every version that they have had."""

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.utils import timezone

from streamviz import policies
from streamviz.core.errors import PolicyParametersError
from streamviz.core.policy import Mode

MODES = [(mode.value, mode.value) for mode in Mode]


class PolicyFields(models.Model):
    """What a policy is, now or in one of its versions."""

    kind = models.CharField(max_length=50, choices=policies.kinds)
    parameters = models.JSONField(default=dict, blank=True)
    mode = models.CharField(max_length=10, choices=MODES, default=Mode.OFF.value)
    order = models.PositiveIntegerField(default=100, help_text="Policies run in this order, the lowest first.")
    models_scope = models.CharField(
        "models", max_length=500, blank=True, help_text="Model names it applies to, with * and ?, comma separated."
    )
    keys_scope = models.CharField(
        "keys", max_length=500, blank=True, help_text="Names of API keys it applies to, with * and ?, comma separated."
    )
    fail_open = models.BooleanField(
        default=False, help_text="When the policy itself fails: allow. Otherwise it denies."
    )

    class Meta:
        abstract = True

    def fields(self) -> dict[str, Any]:
        """All of the above, by name."""
        return {field.name: getattr(self, field.name) for field in PolicyFields._meta.local_fields}


class Policy(PolicyFields):
    """A policy as it stands. `save` makes a version of every change; who made it and why goes in with it."""

    name = models.SlugField(max_length=60, unique=True)
    version = models.PositiveIntegerField(default=0, editable=False)

    class Meta:
        ordering = ["order", "name"]
        verbose_name_plural = "policies"

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Raises ValidationError, at the field, for parameters that the kind does not accept."""
        try:
            policies.build(self.kind, self.parameters)
        except PolicyParametersError as error:
            raise ValidationError({"parameters": str(error)}) from error

    @transaction.atomic
    def save(self, *args: Any, by: User | None = None, reason: str = "", **kwargs: Any) -> None:
        # The row is locked until the end, so that two changes at once cannot take one number.
        Policy.objects.select_for_update().filter(pk=self.pk).first()
        # Asked for anew: `versions` may have been read, and kept, before the lock.
        newest = PolicyVersion.objects.filter(policy=self.pk).first() if self.pk else None
        is_changed = newest is None or newest.fields() != self.fields()
        if is_changed:
            self.version = newest.number + 1 if newest else 1
        super().save(*args, **kwargs)
        if is_changed:
            self.versions.create(number=self.version, changed_by=by, reason=reason, **self.fields())


class PolicyVersion(PolicyFields):
    """A policy as it was from `changed_at` on. Never changed once made: verdicts point here."""

    policy = models.ForeignKey(Policy, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    changed_at = models.DateTimeField(default=timezone.now)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    reason = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["policy", "number"], name="policy_version_number")]

    def __str__(self) -> str:
        return f"{self.policy.name} v{self.number}"
