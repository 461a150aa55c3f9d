"""What people fill in on the pages."""

from django import forms

from streamviz.core.policy import Mode
from streamviz.records.models import ApiKey


class PolicyModeForm(forms.Form):
    """A policy's new mode, and why."""

    mode = forms.ChoiceField(choices=[(mode.value, mode.value) for mode in Mode])
    reason = forms.CharField(max_length=500, label="Why")


class KeyForm(forms.ModelForm):
    """A new key's name."""

    class Meta:
        model = ApiKey
        fields = ("name",)
