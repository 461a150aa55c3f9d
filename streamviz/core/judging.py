"""The verdicts on one subject, a block or a request, in the policies' order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from streamviz.core.blocks import StreamBlock
from streamviz.core.hooks import Failed, called, checked, require_in_time
from streamviz.core.judgements import (
    Answer,
    ChainContext,
    InParts,
    Judged,
    Judgement,
    ModelSaid,
    PersonDecided,
    Question,
    Subject,
    Unanswered,
)
from streamviz.core.policy import ActivePolicy, Consult, TakesLong, Work
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import Decision, Mode, Verdict

SubjectT = TypeVar("SubjectT", bound=StreamBlock | ModelCall)
Hook = Callable[[ActivePolicy, SubjectT], Verdict | Consult | None]
Revise = Callable[[SubjectT, Verdict], SubjectT]


@dataclass(slots=True)
class _Opinion:
    """What one policy says: nothing, a verdict, or a question that is open yet. Times are in µs since the epoch."""

    began: int
    verdict: Verdict | None = None
    consult: Consult | None = None
    question: Question | None = None
    failure: str = ""
    by: str = ""
    formed_at: int = 0
    """When it had a verdict without asking."""
    at: int = 0
    is_by_hand: bool = False
    is_unanswered: bool = False


class Judging(Generic[SubjectT]):
    """Asks all policies at once, so that slow judges work side by side, and takes their verdicts in order.

    A shadow is asked too and never waited for. Where `counts` is false nobody held the subject: verdicts are recorded
    and only one that halts changes anything. After a replacement the policies after it are asked again, about what
    there is then. `final` is the verdict that ended it, `replaced_by` the last policy that replaced the subject.
    """

    def __init__(
        self,
        subject: SubjectT,
        policies: Sequence[ActivePolicy],
        hook: "Hook[SubjectT]",
        revise: "Revise[SubjectT]",
        *,
        ordinal: int | None,
        counts: bool,
    ) -> None:
        self.subject = subject
        self.replaced_by: ActivePolicy | None = None
        self.final: tuple[ActivePolicy, Verdict] | None = None
        self.is_settled = False
        self.client_had = 0
        self.ordinal = ordinal
        self._policies = policies
        self._hook = hook
        self._revise = revise
        self._counts = counts
        self._opinions: list[_Opinion | None] = [None] * len(policies)
        self._next = 0

    def advance(self, context: ChainContext) -> None:
        """Go on as far as the verdicts that are in allow."""
        while not self.is_settled and self._next < len(self._policies):
            self._form_opinions(context)
            active, opinion = self._policies[self._next], self._opinions[self._next]
            assert opinion is not None
            if opinion.question is not None and active.mode is Mode.ENFORCE:
                return
            if opinion.question is None and not self._take(active, opinion, context):
                return
            self._next += 1
        self.is_settled = True

    def answer(self, question: Question, answer: Answer, context: ChainContext) -> None:
        """The answer to a question that was asked here; `advance` goes on from it."""
        for at, (active, opinion) in enumerate(zip(self._policies, self._opinions, strict=True)):
            if opinion is not None and opinion.question is question:
                opinion.question, opinion.at = None, context.now()
                self._note_until(context)
                _answer(opinion, active, question, answer)
                if at < self._next:
                    # A shadow's, which nobody waited for.
                    self._record(active, opinion, context)

    def _note_until(self, context: ChainContext) -> None:
        """When what is still open will be decided without an answer."""
        hold = None if self.ordinal is None else context.holds.get(self.ordinal)
        if hold is not None:
            asked = [opinion.question for opinion in self._opinions if opinion is not None]
            hold.until = max((each.given_up_at for each in asked if each and each.is_awaited), default=None)

    def _form_opinions(self, context: ChainContext) -> None:
        """Ask every policy that was not asked yet, but none behind a verdict that ends it."""
        for at in range(self._next, len(self._policies)):
            active, opinion = self._policies[at], self._opinions[at]
            if opinion is None:
                opinion = self._opinions[at] = _Opinion(context.now())
                self._form(opinion, active, context)
            if opinion.question is not None and active.mode is Mode.ENFORCE:
                continue
            if self._acts(active, opinion.verdict) and active.by_hand is None and not self._waits_before(at):
                return

    def _form(self, opinion: _Opinion, active: ActivePolicy, context: ChainContext) -> None:
        said = called(self._said, active, opinion.began, context)
        if isinstance(said, Consult):
            self._ask(opinion, active, active.time_limit, context, consult=said)
        elif not isinstance(said, Failed):
            opinion.verdict, opinion.formed_at = said, context.now()
        elif isinstance(said.error, TakesLong):
            self._ask(opinion, active, active.time_limit, context, work=Work(active.policy, self.subject, context))
        else:
            opinion.verdict, opinion.failure = active.failed(said.words), said.words
            opinion.formed_at = context.now()

    def _said(self, active: ActivePolicy, began: int, context: ChainContext) -> Verdict | Consult | None:
        said = self._hook(active, self.subject)
        if isinstance(said, Consult):
            return said
        verdict = checked(said)
        require_in_time(active, context.now() - began)
        return verdict

    def _waits_before(self, at: int) -> bool:
        return any(own is not None and own.question is not None for own in self._opinions[self._next : at])

    def _ask(
        self,
        opinion: _Opinion,
        active: ActivePolicy,
        seconds: float,
        context: ChainContext,
        consult: Consult | None = None,
        verdict: Verdict | None = None,
        work: Work | None = None,
    ) -> Question:
        is_awaited = self._counts and active.mode is Mode.ENFORCE
        question = Question(
            context.next_number(), active, self.ordinal, context.now(), seconds, consult, verdict, is_awaited, work
        )
        opinion.question = context.questions[question.number] = question
        self._note_until(context)
        return question

    def _take(self, active: ActivePolicy, opinion: _Opinion, context: ChainContext) -> bool:
        """Record a verdict and let it act. False where a person has to be asked first."""
        verdict = opinion.verdict
        if verdict is None or not self._acts(active, verdict):
            self._record(active, opinion, context)
            return True
        if self._is_for_a_person(active, opinion, verdict):
            self._ask_a_person(active, opinion, verdict, context)
            return False
        self._record(active, opinion, context)
        self._forget_later(context)
        if verdict.decision is Decision.REPLACE:
            self.subject, self.replaced_by = self._revise(self.subject, verdict), active
        else:
            self.final, self.is_settled = (active, verdict), True
        return True

    def _acts(self, active: ActivePolicy, verdict: Verdict | None) -> bool:
        if verdict is None or active.mode is not Mode.ENFORCE or verdict.decision is Decision.ALLOW:
            return False
        return self._counts or verdict.decision is Decision.HALT

    def _is_for_a_person(self, active: ActivePolicy, opinion: _Opinion, verdict: Verdict) -> bool:
        is_asked = active.by_hand is not None and self._counts and self.ordinal is not None
        return is_asked and not opinion.is_by_hand and verdict.decision is not Decision.REPLACE

    def _ask_a_person(self, active: ActivePolicy, opinion: _Opinion, verdict: Verdict, context: ChainContext) -> None:
        assert active.by_hand is not None
        assert self.ordinal is not None
        question = self._ask(opinion, active, active.by_hand.seconds, context, verdict=verdict)
        hold = context.holds[self.ordinal]
        hold.asks, hold.asked_by, hold.asked_at = question.number, active.name, question.asked_at
        hold.reason, hold.otherwise = verdict.reason, active.by_hand.otherwise

    def _forget_later(self, context: ChainContext) -> None:
        """What later policies think of what is no more."""
        for at in range(self._next + 1, len(self._opinions)):
            opinion, self._opinions[at] = self._opinions[at], None
            if opinion is not None and opinion.question is not None:
                context.questions.pop(opinion.question.number, None)

    def _record(self, active: ActivePolicy, opinion: _Opinion, context: ChainContext) -> None:
        if opinion.verdict is None:
            return
        at = opinion.at or context.now()
        took = (opinion.at or opinion.formed_at or at) - opinion.began
        subject = Subject.REQUEST if self.ordinal is None else Subject.BLOCK
        said = (opinion.verdict, at, took, opinion.failure, subject, opinion.by)
        context.judgements.append(Judgement(active, self.ordinal, *said, self.client_had, opinion.is_unanswered))


def _answer(opinion: _Opinion, active: ActivePolicy, question: Question, answer: Answer) -> None:
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
    """What a part of a question makes of its answer, and why it failed where it did."""
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
    """A part that is denied is denied whatever became of the others."""
    for verdict, failure in opinions:
        if verdict is not None and verdict.decision is not Decision.ALLOW:
            return verdict, failure
    failures = [failure for _, failure in opinions if failure]
    return (active.failed(failures[0]), failures[0]) if failures else opinions[0]


def _by_hand(verdict: Verdict, decision: Decision, by: str) -> Verdict:
    """What a person, or nobody in time, made of a verdict."""
    word = "allowed" if decision is Decision.ALLOW else "denied"
    reason = f"{by} {word} it." if by else f"Nobody answered in time, so it is {word}."
    reason = f"{reason} The policy said: {verdict.reason}"
    if decision is Decision.ALLOW:
        return Verdict(Decision.ALLOW, reason, evidence=verdict.evidence)
    return Verdict(verdict.decision, reason, verdict.text, verdict.evidence)
