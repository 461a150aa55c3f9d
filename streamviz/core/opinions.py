"""What one policy says about a subject, and how an answer to its question changes that."""

from dataclasses import dataclass

from streamviz.core.hooks import Failed, called, checked
from streamviz.core.judgements import Answer, InParts, Judged, ModelSaid, PersonDecided, Question, Unanswered
from streamviz.core.policy import ActivePolicy, Consult
from streamviz.core.verdicts import Decision, Verdict


@dataclass(slots=True)
class Opinion:
    """What one policy says: nothing, a verdict, or a question that is still open. Times are in µs since the epoch."""

    began: int
    verdict: Verdict | None = None
    question: Question | None = None
    failure: str = ""
    by: str = ""
    formed_at: int = 0
    """When it had a verdict without asking."""
    at: int = 0
    is_by_hand: bool = False
    is_unanswered: bool = False


def take_answer(opinion: Opinion, active: ActivePolicy, question: Question, answer: Answer) -> None:
    """Settle an opinion by the answer to its question."""
    if question.verdict is not None and active.by_hand is not None:
        opinion.is_by_hand = True
        if isinstance(answer, PersonDecided):
            opinion.by = answer.by
            opinion.verdict = _by_hand(question.verdict, answer.decision, answer.by)
        else:
            opinion.failure = answer.why if isinstance(answer, Unanswered) else ""
            opinion.is_unanswered = True
            opinion.verdict = _by_hand(question.verdict, active.by_hand.otherwise, "")
        return
    if isinstance(answer, Judged):
        opinion.failure = answer.failure
        opinion.verdict = active.failed(answer.failure) if answer.failure else answer.verdict
        return
    parts = question.consult.parts if question.consult is not None else (None,)
    answers = answer.answers if isinstance(answer, InParts) else (answer,) * len(parts)
    opinions = [_read(part, each) for part, each in zip(parts, answers, strict=True)]
    opinion.verdict, opinion.failure = _strictest(opinions, active)


def _read(consult: Consult | None, answer: Answer) -> tuple[Verdict | None, str]:
    """The verdict of one part of a question on its answer, and why it failed if it did."""
    said = called(_verdict_in, consult, answer)
    return (None, said.words) if isinstance(said, Failed) else (said, "")


def _verdict_in(consult: Consult | None, answer: Answer) -> Verdict:
    if consult is None or not isinstance(answer, ModelSaid):
        raise TimeoutError(answer.why if isinstance(answer, Unanswered) else "no model answered")
    verdict = checked(consult.read(answer.text))
    if verdict is None:
        raise TypeError("the answer has no verdict in it")
    return verdict


def _strictest(opinions: list[tuple[Verdict | None, str]], active: ActivePolicy) -> tuple[Verdict | None, str]:
    """The first verdict that does not allow, or else the first failure, or else the first verdict."""
    for verdict, failure in opinions:
        if verdict is not None and verdict.decision is not Decision.ALLOW:
            return verdict, failure
    failures = [failure for _, failure in opinions if failure]
    return (active.failed(failures[0]), failures[0]) if failures else opinions[0]


def _by_hand(verdict: Verdict, decision: Decision, by: str) -> Verdict:
    """A verdict after a person decided about it, or nobody did in time."""
    word = "allowed" if decision is Decision.ALLOW else "denied"
    reason = f"{by} {word} it." if by else f"Nobody answered in time, so it is {word}."
    reason = f"{reason} The policy said: {verdict.reason}"
    if decision is Decision.ALLOW:
        return Verdict(Decision.ALLOW, reason, evidence=verdict.evidence)
    return Verdict(verdict.decision, reason, verdict.text, verdict.evidence)
