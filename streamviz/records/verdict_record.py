"""A verdict as entries have it and as it is stored.

As in entries (`recorder.py`), the order of the fields is the journal's format, and their types say how they are kept.
"""

from dataclasses import replace
from typing import Annotated, Self

import msgspec

from streamviz.core.judgements import Judgement
from streamviz.records.columns import DURATION, Content, Id, JsonContent, Moment


class VerdictRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A verdict; `number` is its place among the stream's verdicts, `ordinal` that of its block (None if it is about
    the request or the whole stream, as `subject` says). `at` is µs since the epoch, `took` µs, `client_had`
    characters."""

    number: int
    ordinal: int | None
    policy_version_id: Id
    mode: str
    decision: str
    reason: Content
    failure: str
    at: Moment
    took: Annotated[int, replace(DURATION, column="took_us")]
    subject: str = "block"
    evidence: JsonContent = {}
    by: str = ""
    client_had: int = 0

    @classmethod
    def of(cls, number: int, judgement: Judgement) -> Self:
        """The record of a judgement, with its number in the stream."""
        active, verdict = judgement.policy, judgement.verdict
        return cls(
            number=number,
            ordinal=judgement.ordinal,
            policy_version_id=active.version_id,
            mode=str(active.mode),
            decision=str(verdict.decision),
            reason=verdict.reason,
            failure=judgement.failure,
            at=judgement.at,
            took=judgement.took,
            subject=str(judgement.subject),
            evidence=dict(verdict.evidence),
            by=judgement.by,
            client_had=judgement.client_had,
        )
