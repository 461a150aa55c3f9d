"""What came of a policy's verdicts: what the client got, and who decided."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from streamviz.core.judgements import NO_ANSWER, Subject
from streamviz.core.verdicts import Decision, Mode
from streamviz.records.models import Verdict

# Of several verdicts on the same thing, the client notices the one that comes last here.
_STRONGEST_LAST = (Decision.ALLOW, Decision.REPLACE, Decision.DENY, Decision.HALT)
# What the client got after verdicts on its request, and after those on a block.
_GOT = {
    Decision.ALLOW: ("the answer to its request", "the original"),
    Decision.REPLACE: ("the answer to a changed request", "a changed text"),
    Decision.DENY: ("an error", "the refusal text"),
    Decision.HALT: ("an error", "the end of the stream"),
}

_About = tuple[UUID, str, int | None]


class VerdictRow(NamedTuple):
    """A verdict; `got` is what the client got after all policies' verdicts on the same thing, `had` how many characters
    of it had been sent before. `decided_by` is a person or the policy, `how` says in what way."""

    verdict: Verdict
    got: str
    had: int
    decided_by: str
    how: str


def verdict_rows(policy: str, verdicts: Sequence[Verdict]) -> list[VerdictRow]:
    """Rows in the order of the verdicts, in one query."""
    enforced = _enforced(verdicts)
    return [_row(policy, verdict, enforced.get(_about(verdict), Decision.ALLOW)) for verdict in verdicts]


def _enforced(verdicts: Sequence[Verdict]) -> dict[_About, Decision]:
    """The strongest enforced verdict on each thing that these verdicts are about, unless all allowed it."""
    found = Verdict.objects.filter(stream__in={verdict.stream_id for verdict in verdicts}, mode=Mode.ENFORCE.value)
    strongest: dict[_About, Decision] = {}
    for verdict in found.exclude(decision=Decision.ALLOW.value).order_by():
        known = strongest.get(_about(verdict), Decision.ALLOW)
        strongest[_about(verdict)] = max(known, Decision(verdict.decision), key=_STRONGEST_LAST.index)
    return strongest


def _about(verdict: Verdict) -> _About:
    return verdict.stream_id, verdict.subject, verdict.ordinal


def _row(policy: str, verdict: Verdict, came_to: Decision) -> VerdictRow:
    of_request, of_block = _GOT[came_to]
    got = of_request if verdict.subject == Subject.REQUEST else of_block
    had = verdict.client_had if came_to is not Decision.ALLOW else 0
    if verdict.by:
        return VerdictRow(verdict, got, had, verdict.by, "by hand")
    return VerdictRow(verdict, got, had, f"{policy} v{verdict.policy_version.number}", _how(verdict))


def _how(verdict: Verdict) -> str:
    """In what way a policy decided, if not in its usual one."""
    if verdict.mode == Mode.SHADOW:
        return "in shadow"
    if verdict.failure.startswith(NO_ANSWER):
        return "nobody answered"
    return "on failure" if verdict.failure else ""
