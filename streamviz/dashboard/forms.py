"""What people fill in on the pages."""

from typing import Any, ClassVar

from django import forms
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.http import QueryDict

from streamviz.core.events import BlockKind
from streamviz.core.verdicts import Mode
from streamviz.dashboard.parameter_fields import PREFIX, ReadableJSON, fields_of, parameters_in
from streamviz.dashboard.sign_ins import Attempt, TooManyAttempts
from streamviz.policies.registry import REGISTRY
from streamviz.records.models import ApiKey, Policy
from streamviz.records.models.routes import UNSEEN, has_unseen

KINDS = f"Block kinds it applies to, comma-separated: {', '.join(BlockKind)}. Empty means all."
WHY = "Saved with the new version."
_may_be_new = MaxLengthValidator(2000)


def wrong_with(form: forms.BaseForm) -> str:
    """What is wrong with a form, on one line."""
    return " ".join(_labelled(form, name, " ".join(map(str, errors))) for name, errors in form.errors.items())


def _labelled(form: forms.BaseForm, name: str, words: str) -> str:
    """Words about a field, after its label unless they begin with it."""
    label = str(form[name].label) if name in form.fields else ""
    return words if words.startswith(label) else f"{label}: {words}"


class GuardedForm(forms.Form):
    """Asks for a password. `refused_seconds` is how long to wait after too many attempts."""

    refused_seconds = 0

    def begin(self, name: str, address: str) -> Attempt:
        """Begin an attempt at an account's password. Raises ValidationError if there were too many."""
        try:
            return Attempt(name, address)
        except TooManyAttempts as error:
            self.refused_seconds = error.seconds
            raise ValidationError(str(error)) from error


class SignInForm(GuardedForm, AuthenticationForm):
    """A name and a password."""

    def clean(self) -> dict[str, Any]:
        name, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if not name or not password:
            return super().clean()
        assert self.request is not None
        attempt = self.begin(name, self.request.META.get("REMOTE_ADDR", ""))
        try:
            cleaned = super().clean()
        except ValidationError:
            attempt.failed()
            raise
        attempt.succeeded()
        return cleaned


class OwnPasswordForm(GuardedForm, PasswordChangeForm):
    """A new password in place of the current one, which somebody who finds a browser signed in may not know."""

    def __init__(self, user: User, data: QueryDict | None, address: str) -> None:
        super().__init__(user, data)
        self._address = address

    def clean_old_password(self) -> str:
        attempt = self.begin(self.user.get_username(), self._address)
        try:
            password: str = super().clean_old_password()
        except ValidationError:
            attempt.failed()
            raise
        attempt.succeeded()
        return password


class ViewNameForm(forms.Form):
    """The name of a user's own view."""

    name = forms.CharField(max_length=60)

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if has_unseen(name):
            raise ValidationError(UNSEEN)
        return name


class SavedViewForm(ViewNameForm):
    """A user's own view: its name, and what it shows."""

    page = forms.ChoiceField(choices=[("sessions", "Sessions"), ("errors", "Errors")])
    query = forms.CharField(max_length=1000, required=False)


class PolicyWhyForm(forms.Form):
    """Why a policy is changed; `seen` is its version on the page that asks."""

    seen = forms.IntegerField(required=False)
    reason = forms.CharField(max_length=500, label="Why")


class PolicyModeForm(PolicyWhyForm):
    """A policy's new mode, and why."""

    mode = forms.ChoiceField(choices=[(mode.value, mode.value) for mode in Mode])


class PolicyForm(forms.ModelForm):
    """A policy of one kind: its parameters by its kind's schema, and how it runs. `reason` says why it changes. `seen`
    is the version that the form was filled in from: what somebody else has saved since is not overwritten unseen."""

    seen = forms.IntegerField(required=False)
    reason = forms.CharField(max_length=500, label="Why", help_text=WHY)

    class Meta:
        model = Policy
        fields = (
            "name",
            "mode",
            "order",
            "models_scope",
            "keys_scope",
            "kinds_scope",
            "tools_scope",
            "fail_open",
            "time_limit",
            "by_hand",
            "by_hand_seconds",
        )
        labels = {
            "by_hand": "Approval by a person",
            "by_hand_seconds": "Approval timeout",
            "fail_open": "Allow on failure",
        }
        error_messages: ClassVar = {
            "name": {
                "unique": "There is a policy of this name already.",
                "invalid": "Only letters, digits, - and _ are allowed.",
            }
        }
        help_texts = {
            "order": "Policies run in this order, lowest first.",
            "models_scope": "Models it applies to, comma-separated; * and ? are wildcards. Empty means all.",
            "keys_scope": "API keys it applies to, by name, comma-separated; * and ? are wildcards. Empty means all.",
            "kinds_scope": KINDS,
            "tools_scope": "Tools it applies to, comma-separated; * and ? are wildcards. Empty means all.",
            "fail_open": "Allow when the policy fails or times out. Otherwise it denies.",
            "time_limit": "In seconds.",
            "by_hand": "Whether a person can overrule a denial of a block. Requests are denied at once.",
            "by_hand_seconds": "How long to wait for approval, in seconds.",
        }

    def __init__(self, *args: Any, kind: str, by: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.instance.kind = kind
        self.instance.asked_by = by
        self._schema = REGISTRY[kind].schema
        self.fields.update(fields_of(self._schema, self.instance.parameters))
        if self.instance.pk:
            # Verdicts, holds and the audit trail know it by its name.
            del self.fields["name"]

    @property
    def parameter_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name.startswith(PREFIX)]

    @property
    def running_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if not name.startswith(PREFIX) and name not in ("reason", "seen")]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        self.instance.parameters = parameters_in(
            self._schema, {name: value for name, value in cleaned.items() if name in self.data}
        )
        return cleaned

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]
        try:
            self.instance.require_unchanged(self.cleaned_data.get("seen"), self.instance.stored())
        except ValidationError as error:
            self.add_error(None, error)

    def add_error(self, field: str | None, error: Any) -> None:
        """Shows a kind's complaint about a parameter at that parameter's field. One about the parameters as a whole
        follows from what is wrong with a field, if anything is."""
        names = self._names_in(error)
        if len(names) == 1 and any(each.startswith(PREFIX) for each in self.errors):
            return
        for name in names:
            if name in self.fields:
                told = ValidationError(error.error_dict["parameters"]).messages
                super().add_error(name, [each.removeprefix(f"{name.removeprefix(PREFIX)}: ") for each in told])
                return
        super().add_error(field, error)

    def _names_in(self, error: Any) -> list[str]:
        """The fields that an error about the parameters may belong to, innermost first."""
        found = getattr(error, "error_dict", {}).get("parameters")
        if not found or "parameters" in self.fields:
            return []
        path = [each for each in (found[0].params or {}).get("field", "").split(".") if each]
        names = [PREFIX + ".".join(path[:end]) for end in range(len(path), 0, -1)]
        return [*names, next(name for name in self.fields if name.startswith(PREFIX))]


class TryOutForm(forms.Form):
    """What a policy is to be tried on: a recorded stream, or something pasted."""

    stream = forms.UUIDField(required=False, label="Stream id")
    subject = forms.ChoiceField(
        choices=[("tool_call", "a tool call"), ("content", "a text"), ("thinking", "thinking")], required=False
    )
    name = forms.CharField(required=False, max_length=200, label="Tool name")
    text = forms.CharField(
        required=False,
        max_length=200_000,
        label="Text or tool arguments",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 5}),
    )
    tools = ReadableJSON(
        required=False,
        label="Tools declared by the request (JSON)",
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class BacktestForm(forms.Form):
    """The streams to back-test a policy on."""

    version = forms.IntegerField(min_value=1, label="Version")
    streams = forms.IntegerField(min_value=1, max_value=1_000_000, initial=1000, label="Newest streams")
    days = forms.FloatField(min_value=0.01, max_value=3650, required=False, label="Maximum age (days)")


class NoteForm(forms.Form):
    """What people want to remember about a session. `seen` in its data is the note that it was filled in with: what was
    saved since, in another window, is not overwritten; then there is a `notice` for the user."""

    note = forms.CharField(required=False, label="Note")
    notice = ""

    def clean_note(self) -> str:
        """The note. One that was there may be longer, if it has the texts of two windows."""
        note = str(self.cleaned_data["note"])
        if not _is_same(note, self.data.get("seen", "")):
            _may_be_new(note)
        return note

    def merged(self, stored: str) -> str:
        """What to keep instead of the note `stored` now: both texts, if both are new."""
        note, seen = self.cleaned_data["note"], self.data.get("seen", stored)
        if _is_same(stored, seen) or _is_same(stored, note):
            return str(note)
        if _is_same(note, seen):
            return stored
        if stored:
            done = "Both texts were kept." if note else "It was not removed."
            self.notice = f"This note was changed in the meantime. {done}"
        return "\n\n".join(filter(None, (stored, note)))


class StreamNoteForm(NoteForm):
    """The same for a stream, and its labels, separated by commas; `seen_labels` are those it was filled in with."""

    labels = forms.CharField(required=False, max_length=400, label="Labels")

    def clean_labels(self) -> list[str]:
        """Each label once, in the order in which they were given."""
        return _labels(self.cleaned_data["labels"])

    def merged_labels(self, stored: list[str]) -> list[str]:
        """What to keep instead of the labels `stored` now: without those taken away, with those added. One that was
        imported with a comma counts as several, as it does where it is shown to be changed."""
        shown = ", ".join(stored)
        labels, seen, stored = self.cleaned_data["labels"], _labels(self.data.get("seen_labels", shown)), _labels(shown)
        others = [each for each in stored if each not in seen]
        return [*others, *(each for each in labels if each not in others and (each in stored or each not in seen))]


def _labels(written: str) -> list[str]:
    words = (" ".join(each.split()) for each in written.split(","))
    return list(dict.fromkeys(filter(None, words)))


def _is_same(one: str, other: str) -> bool:
    """Browsers send line ends of their own."""
    return one.splitlines() == other.splitlines()


class KeyForm(forms.ModelForm):
    """A new key's name, the models that it allows, and where calls go that are passed through."""

    class Meta:
        model = ApiKey
        fields = ("name", "models_scope", "default_provider")
        labels: ClassVar = {
            "name": "Name",
            "models_scope": "Models",
            "default_provider": "Provider for other endpoints",
        }
        widgets: ClassVar = {
            "name": forms.TextInput({"placeholder": "e.g. review-bot"}),
            "models_scope": forms.TextInput({"placeholder": "all, or e.g. gpt-4o*"}),
            "default_provider": forms.TextInput({"placeholder": "none, or e.g. openai"}),
        }
        error_messages: ClassVar = {"name": {"unique": "There is a key of this name already."}}
