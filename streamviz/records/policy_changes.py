"""Changing policies: the same for the pages and the admin. Each change says why, is checked, and makes a version."""

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction

from streamviz.core.verdicts import Mode
from streamviz.records.models import Policy, PolicyVersion


def switch(policy_id: int, mode: Mode, by: User, why: str) -> Policy:
    """Put a policy into a mode. Raises ValidationError where nothing is said of why, or it cannot run as it is."""
    with transaction.atomic():
        policy = Policy.objects.select_for_update().get(pk=policy_id)
        policy.mode = mode.value
        return _saved(policy, by, why)


def roll_back(version: PolicyVersion, by: User, why: str) -> Policy:
    """Make a policy what it was in one of its versions; that is a version of its own."""
    with transaction.atomic():
        policy = Policy.objects.select_for_update().get(pk=version.policy_id)
        for name, value in version.fields().items():
            setattr(policy, name, value)
        return _saved(policy, by, why)


def _saved(policy: Policy, by: User, why: str) -> Policy:
    policy.asked_by = by
    if policy.mode != Mode.OFF:
        # A newer release may refuse what an older one took: what cannot run must not look as if it did.
        policy.full_clean()
    policy.save(by=by, reason=why)
    return policy


def errors_of(error: ValidationError) -> str:
    """What is wrong, in a line."""
    return " ".join(error.messages)
