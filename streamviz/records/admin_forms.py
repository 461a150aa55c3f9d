"""The admin's forms: the fields that are changed, and the reason for the change."""

from typing import Any, ClassVar, cast

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import QueryDict
from unfold.widgets import UnfoldAdminTextInputWidget

from streamviz.records.json_field import StoredJSON
from streamviz.records.models import Policy, Route


class PolicyForm(forms.ModelForm):
    """A policy's fields, and the reason for the change."""

    why = forms.CharField(
        label="Why",
        max_length=500,
        help_text="Saved with the new version.",
        widget=UnfoldAdminTextInputWidget(),
    )

    seen = forms.IntegerField(required=False, widget=forms.HiddenInput())

    by: User | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["seen"].initial = self.instance.version or None
        self.instance.asked_by = self.by

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        for name in ("kind", "parameters"):
            setattr(self.instance, name, cleaned.get(name, getattr(self.instance, name)))
        # The row is locked until it is saved, so that of two people who save at once the second is refused.
        self._require_unchanged(cleaned.get("seen"), self.instance.stored(is_locked=True))
        return cleaned

    def _require_unchanged(self, seen: int | None, stored: Policy | None) -> None:
        """Refuse once: what changed is then shown below the form, and whoever saves again has seen it."""
        try:
            self.instance.require_unchanged(seen, stored)
        except ValidationError:
            assert stored is not None
            data = cast(QueryDict, self.data).copy()
            data[self.add_prefix("seen")] = str(stored.version)
            self.data = data
            raise

    class Meta:
        model = Policy
        fields = "__all__"  # operators may set all of a policy's fields
        field_classes: ClassVar = {"parameters": StoredJSON}
        help_texts: ClassVar = {
            "by_hand": "Whether a person can overrule a denial of a block. Requests are denied at once.",
        }


class RouteForm(forms.ModelForm):
    """A route's fields, and the reason for the change."""

    why = forms.CharField(
        label="Why",
        max_length=500,
        required=False,
        help_text="Saved with the new version.",
        widget=UnfoldAdminTextInputWidget(),
    )

    class Meta:
        model = Route
        fields = "__all__"  # operators may set all of a route's fields
        field_classes: ClassVar = {"parameters": StoredJSON}
