"""Where a model's calls go and what answers them, and all versions of a route."""

import re
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import models, transaction

from streamviz.core.base_urls import wrong_with_url
from streamviz.executors import registry
from streamviz.executors.executor import ExecutorError
from streamviz.records.models.versions import Version, Versioned

# Control characters take effect in a terminal, those of direction on pages too; a scope, which is one line, could not
# list a name with a line break; and with what shows nothing or only a gap, two names could look alike. Joiners and
# marks of direction are part of ordinary names.
_UNSEEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2028-\u202e\u2060-\u206f\u2800"
    r"\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
UNSEEN = "It may not contain a line break or another character that cannot be seen."


def require_listable(named: models.Model, name: str) -> None:
    """Raises ValidationError for a new name that a list of names could not have. An old name may stay until it is
    changed."""
    wrong = _wrong_with(name)
    if wrong and not type(named)._default_manager.filter(pk=named.pk, name=name).exists():
        raise ValidationError({"name": wrong})


def _wrong_with(name: str) -> str:
    if "," in name:
        return "It may not contain a comma: scopes separate names with commas."
    return UNSEEN if has_unseen(name) else ""


def has_unseen(name: str) -> bool:
    """Whether a name has characters that cannot be seen: it could look like another."""
    return _UNSEEN.search(name) is not None


class RouteFields(models.Model):
    """The fields of a route, now or in one of its versions.

    `target` is a model as LiteLLM names it (`openai/gpt-4.1`), `credential` the name of an environment variable: the
    credential itself is never stored.
    """

    target = models.CharField(max_length=200, help_text="The model as LiteLLM names it, such as openai/gpt-4.1.")
    base_url = models.CharField(
        "base URL", max_length=500, blank=True, help_text="Where it is served, if not at its provider's."
    )
    credential = models.CharField(
        max_length=100, blank=True, help_text="The environment variable that holds the credential."
    )
    executor = models.CharField(
        max_length=50,
        choices=registry.names,
        default="passthrough",
        db_default="passthrough",
        help_text="What answers its calls.",
    )
    parameters = models.JSONField(
        default=dict,
        db_default=models.Value({}, models.JSONField()),
        blank=True,
        help_text="The executor's; none means its defaults.",
    )

    class Meta:
        abstract = True

    def fields(self) -> dict[str, Any]:
        """All of the fields above, by name."""
        return {field.name: getattr(self, field.name) for field in RouteFields._meta.local_fields}


class Route(RouteFields, Versioned):
    """A model name that clients ask for, and what LiteLLM makes of it. `save` makes a version of every change."""

    name = models.CharField(max_length=200, unique=True, help_text="The model name that clients ask for.")
    version = models.PositiveIntegerField(default=0, db_default=0, editable=False)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Raises ValidationError for a base URL that cannot be called, for parameters that the executor does not
        accept, and for a name that cannot be in a list of names."""
        require_listable(self, self.name)
        if self.base_url and (why := wrong_with_url(self.base_url)):
            raise ValidationError({"base_url": f"It {why}."})
        try:
            registry.build(self.executor, self.parameters)
        except ExecutorError as error:
            told = ValidationError("%(problem)s", params={"problem": str(error)})
            raise ValidationError({"parameters": [told]}) from error

    @transaction.atomic
    def save(self, *args: Any, by: User | None = None, reason: str = "", **kwargs: Any) -> None:
        self.save_version(self.stored(is_locked=True), by, reason, *args, **kwargs)


class RouteVersion(RouteFields, Version):
    """A route as it was from `changed_at` on. Never changed once made."""

    route = models.ForeignKey(Route, on_delete=models.CASCADE, related_name="versions", db_index=False)

    class Meta(Version.Meta):
        constraints = [models.UniqueConstraint(fields=["route", "number"], name="route_version_number")]

    def __str__(self) -> str:
        return f"{self.route.name} v{self.number}"
