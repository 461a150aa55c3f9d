"""Policies as an operator configures them, and all their versions."""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models, transaction

from streamviz import policies
from streamviz.core.errors import PolicyParametersError
from streamviz.core.events import BlockKind
from streamviz.core.policy import DEFAULT_SECONDS
from streamviz.core.verdicts import Mode
from streamviz.records.models.versions import Version, Versioned

BY_HAND = [("", "no"), ("deny", "yes; denied when nobody answers"), ("allow", "yes; allowed when nobody answers")]
OWN_CODE = "python"
MODES = [(mode.value, mode.value) for mode in Mode]


def may_build(kind: str, by: User | None) -> bool:
    """Whether this person may have a policy of this kind built: a policy with custom code runs a module."""
    return kind != OWN_CODE or by is None or by.is_superuser


def words(text: str) -> tuple[str, ...]:
    """The entries of a scope."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


class PolicyFields(models.Model):
    """The fields of a policy, now or in one of its versions."""

    kind = models.CharField(max_length=50, choices=policies.kinds)
    parameters = models.JSONField(default=dict, blank=True)
    mode = models.CharField(max_length=10, choices=MODES, default=Mode.OFF.value)
    order = models.PositiveIntegerField(default=100, help_text="Policies run in this order, the lowest first.")
    models_scope = models.CharField(
        "models", max_length=500, blank=True, help_text="Model names it applies to, with * and ?, comma-separated."
    )
    keys_scope = models.CharField(
        "keys", max_length=500, blank=True, help_text="Names of API keys it applies to, with * and ?, comma-separated."
    )
    kinds_scope = models.CharField(
        "kinds of block", max_length=200, blank=True, help_text="The kinds of block it applies to, comma-separated."
    )
    tools_scope = models.CharField(
        "tools", max_length=500, blank=True, help_text="Names of tools it applies to, with * and ?, comma-separated."
    )
    fail_open = models.BooleanField(
        default=False, help_text="Allow if the policy fails or times out. If off, it denies."
    )
    time_limit = models.FloatField(
        default=DEFAULT_SECONDS,
        validators=[MinValueValidator(0.1), MaxValueValidator(600)],
        help_text="How long it may take to answer, in seconds.",
    )
    by_hand = models.CharField(
        max_length=10,
        choices=BY_HAND,
        blank=True,
        default="",
        help_text="Whether a person has the last word on what it would deny.",
    )
    by_hand_seconds = models.FloatField(
        default=120,
        validators=[MinValueValidator(1), MaxValueValidator(3600)],
        help_text="How long a person has, in seconds.",
    )

    class Meta:
        abstract = True

    def fields(self) -> dict[str, Any]:
        """All of the fields above, by name."""
        return {field.name: getattr(self, field.name) for field in PolicyFields._meta.local_fields}


class Policy(PolicyFields, Versioned):
    """A policy as it is now. `save` makes a version of every change, with who made it and why."""

    name = models.SlugField(max_length=60, unique=True)
    version = models.PositiveIntegerField(default=0, editable=False)

    # Who asks for the change; None if the program does.
    asked_by: User | None = None

    class Meta:
        ordering = ["order", "name"]
        verbose_name_plural = "policies"

    def __str__(self) -> str:
        return self.name

    def present(self, versions: Iterable["PolicyVersion"]) -> "PolicyVersion":
        """Its present version. A newer one may have come with an import."""
        return next(each for each in versions if each.number == self.version)

    def clean(self) -> None:
        """Raises ValidationError, at the field, for parameters that the kind does not accept, for unknown kinds of
        block, and if `asked_by` may not make the change: then nothing is built, since that runs code."""
        self.require_may_change(self.asked_by, self.stored())
        unknown = set(words(self.kinds_scope)) - set(BlockKind)
        if unknown:
            raise ValidationError({"kinds_scope": f"There is no kind of block called {min(unknown)!r}."})
        if may_build(self.kind, self.asked_by):
            self._require_can_be_made()

    def _require_can_be_made(self) -> None:
        try:
            policies.build(self.kind, self.parameters)
        except PolicyParametersError as error:
            # The message quotes what somebody typed, in which a % has no meaning.
            told = ValidationError("%(problem)s", params={"problem": str(error), "field": error.field})
            raise ValidationError({"parameters": [told]}) from error

    def require_may_change(self, by: User | None, stored: "Policy | None") -> None:
        """Raises ValidationError if anybody but an administrator would choose what code the server runs, or enable code
        that does not run yet."""
        if may_build(self.kind, by):
            return
        if stored is None or (stored.kind, stored.parameters) != (self.kind, self.parameters):
            raise ValidationError({"parameters": "Only an administrator may choose the code that the server runs."})
        if stored.mode == Mode.OFF and self.mode != Mode.OFF:
            raise ValidationError({"mode": "Only an administrator may enable a policy that runs custom code."})

    def require_unchanged(self, seen: int | None, stored: "Policy | None") -> None:
        """Raises ValidationError if it has changed since version `seen`, on which the edit is based."""
        if seen is not None and stored is not None and stored.version != seen:
            raise ValidationError(
                f"It was changed in the meantime: it is now at v{stored.version}; you were editing v{seen}."
            )

    @transaction.atomic
    def save(
        self, *args: Any, by: User | None = None, reason: str = "", seen: int | None = None, **kwargs: Any
    ) -> None:
        stored = self.stored(is_locked=True)
        self.require_unchanged(seen, stored)
        self.require_may_change(by, stored)
        if by is not None and not reason.strip() and self.is_changed(stored):
            raise ValidationError({"why": "Give a reason; it is saved with the new version."})
        self.save_version(stored, by, reason, *args, **kwargs)


class PolicyVersion(PolicyFields, Version):
    """A policy as it was from `changed_at` on. Never changed once made, because verdicts refer to it."""

    policy = models.ForeignKey(Policy, on_delete=models.CASCADE, related_name="versions", db_index=False)

    class Meta(Version.Meta):
        constraints = [models.UniqueConstraint(fields=["policy", "number"], name="policy_version_number")]

    def __str__(self) -> str:
        return f"{self.policy.name} v{self.number}"
