"""Change policies, the same way for the pages and the admin. Each change gives a reason, is checked, and makes a
version."""

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction

from streamviz.core.verdicts import Mode
from streamviz.records.models import Policy, PolicyVersion

_IN_WORDS = {Mode.OFF: "off", Mode.SHADOW: "in shadow", Mode.ENFORCE: "enforced"}


def switch(policy_id: int, mode: Mode, by: User, why: str, seen: int | None = None) -> Policy:
    """Switch a policy to a mode. Raises ValidationError if no reason is given, if it cannot run as it is, or if it has
    changed since version `seen`."""
    with transaction.atomic():
        policy = Policy.objects.select_for_update().get(pk=policy_id)
        policy.mode = mode.value
        return _saved(policy, by, why, seen)


def roll_back(version: PolicyVersion, by: User, why: str, seen: int | None = None) -> Policy:
    """Restore a policy to one of its versions; that makes a new version. Raises ValidationError as `switch` does."""
    with transaction.atomic():
        policy = Policy.objects.select_for_update().get(pk=version.policy_id)
        for name, value in version.fields().items():
            setattr(policy, name, value)
        return _saved(policy, by, why, seen)


def _saved(policy: Policy, by: User, why: str, seen: int | None) -> Policy:
    if not policy.is_changed(policy.stored()):
        return policy  # somebody clicked twice
    policy.asked_by = by
    if policy.mode != Mode.OFF:
        # A newer release may refuse what an older one accepted: a policy that cannot run must not look as if it did.
        policy.full_clean()
    policy.save(by=by, reason=why, seen=seen)
    return policy


def switched(policy: Policy) -> str:
    """What a switch has come to."""
    return f"{policy.name} is now {_IN_WORDS[Mode(policy.mode)]}, as v{policy.version}."


def not_switched(policy: Policy, error: ValidationError) -> str:
    """Why a policy stays as it is."""
    return f"{policy.name} stays {_IN_WORDS[Mode(policy.mode)]}: {errors_of(error)}"


def errors_of(error: ValidationError) -> str:
    """All messages of the error, in one line."""
    return " ".join(error.messages)
