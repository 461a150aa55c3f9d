"""Build the policies that an operator set up, ready to judge."""

import logging
from dataclasses import replace

from django.db.models import F

from streamviz import policies
from streamviz.core.events import BlockKind
from streamviz.core.policy import ActivePolicy, CannotRun
from streamviz.core.policy_settings import BlockScope, ByHand, CallScope
from streamviz.core.verdicts import Decision, Mode
from streamviz.records.models import PolicyVersion
from streamviz.records.models.policies import PolicyFields, words
from streamviz.records.scoped_policies import ScopedPolicy

log = logging.getLogger(__name__)


def policies_in_force() -> tuple[ScopedPolicy, ...]:
    """The policies that are not off, in the order in which they run, as they now are in the database."""
    # In one query, because a policy can be changed or deleted at any moment.
    running = PolicyVersion.objects.filter(number=F("policy__version")).exclude(mode=Mode.OFF.value)
    running = running.exclude(policy__mode=Mode.OFF.value)  # an imported version has the mode that it had elsewhere
    return tuple(map(_scoped, running.select_related("policy").order_by("order", "policy__name")))


def _scoped(version: PolicyVersion) -> ScopedPolicy:
    scoped = scoped_policy(version.policy.name, version, version.number, version.pk)
    if scoped.trouble:
        # It was checked when saved, but a newer release may still refuse it. Never treat anything as judged by it.
        log.error("policy %s v%d: %s", scoped.name, scoped.version, scoped.trouble)
    return scoped


def scoped_policy(name: str, fields: PolicyFields, number: int = 0, version_id: int = 0) -> ScopedPolicy:
    """A policy with its scope; `trouble` says why it cannot run, if so."""
    scoped = ScopedPolicy(name, number, Mode(fields.mode), words(fields.models_scope), words(fields.keys_scope))
    try:
        return replace(scoped, active=active_policy(name, fields, version_id, number))
    except Exception as error:  # an unknown kind, or anybody's code; the other policies still apply
        trouble = f"it cannot run: {error}"
        failing = ActivePolicy(CannotRun(trouble), name, version_id, number, scoped.mode, fields.fail_open)
        return replace(scoped, active=failing if scoped.mode is Mode.ENFORCE else None, trouble=trouble)


def active_policy(name: str, fields: PolicyFields, version_id: int = 0, number: int = 0) -> ActivePolicy:
    """A policy as streams use it. Raises PolicyParametersError if its kind does not accept its parameters."""
    rule = policies.build_short(fields.kind, fields.parameters)
    by_hand = ByHand(fields.by_hand_seconds, Decision(fields.by_hand)) if fields.by_hand else None
    kinds = frozenset(BlockKind(kind) for kind in words(fields.kinds_scope))
    return ActivePolicy(
        rule,
        name,
        version_id,
        number,
        Mode(fields.mode),
        fields.fail_open,
        fields.time_limit,
        BlockScope(kinds, words(fields.tools_scope)),
        by_hand,
        CallScope(words(fields.models_scope), words(fields.keys_scope)),
    )
