"""The verdicts on one subject, a block or a request, in the policies' order."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from streamviz.core.blocks import StreamBlock
from streamviz.core.hooks import Failed, called, checked, require_in_time
from streamviz.core.judgements import Answer, ChainContext, Judgement, Question, Subject
from streamviz.core.opinions import Opinion, take_answer
from streamviz.core.policy import ActivePolicy, Consult, TakesLong, Work
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import Decision, Mode, Verdict

SubjectT = TypeVar("SubjectT", bound=StreamBlock | ModelCall)
Hook = Callable[[ActivePolicy, SubjectT], Verdict | Consult | None]
Revise = Callable[[SubjectT, Verdict], SubjectT]


class Judging(Generic[SubjectT]):
    """Asks all policies at once, so that slow judges work side by side, and takes their verdicts in order.

    A shadow is asked, too, but never waited for. If `counts` is false, the subject was not held: verdicts are recorded,
    and only one that halts changes anything. After a replacement, the policies after it are asked again, about the new
    subject. `final` is the verdict that ended it, `replaced_by` the last policy that replaced the subject.
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
        self._opinions: list[Opinion | None] = [None] * len(policies)
        self._next = 0

    def advance(self, context: ChainContext) -> None:
        """Go on as far as the verdicts so far allow."""
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
        """Take the answer to a question that was asked here; `advance` goes on from it."""
        for at, (active, opinion) in enumerate(zip(self._policies, self._opinions, strict=True)):
            if opinion is not None and opinion.question is question:
                opinion.question, opinion.at = None, context.now()
                self._note_until(context)
                take_answer(opinion, active, question, answer)
                if at < self._next:
                    # A shadow's verdict, which nobody waited for.
                    self._record(active, opinion, context)

    def _note_until(self, context: ChainContext) -> None:
        """Note when what is still open will be decided without an answer."""
        hold = None if self.ordinal is None else context.holds.get(self.ordinal)
        if hold is not None:
            asked = [opinion.question for opinion in self._opinions if opinion is not None]
            hold.until = max((each.given_up_at for each in asked if each and each.is_awaited), default=None)

    def _form_opinions(self, context: ChainContext) -> None:
        """Ask every policy that has not been asked yet, but none after a verdict that takes effect."""
        for at in range(self._next, len(self._policies)):
            active, opinion = self._policies[at], self._opinions[at]
            if opinion is None:
                opinion = self._opinions[at] = Opinion(context.now())
                self._form(opinion, active, context)
            if opinion.question is not None and active.mode is Mode.ENFORCE:
                continue
            if self._acts(active, opinion.verdict) and active.by_hand is None and not self._waits_before(at):
                return

    def _form(self, opinion: Opinion, active: ActivePolicy, context: ChainContext) -> None:
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
        opinion: Opinion,
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

    def _take(self, active: ActivePolicy, opinion: Opinion, context: ChainContext) -> bool:
        """Record a verdict and let it act. False if a person has to be asked first."""
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

    def _is_for_a_person(self, active: ActivePolicy, opinion: Opinion, verdict: Verdict) -> bool:
        is_asked = active.by_hand is not None and self._counts and self.ordinal is not None
        return is_asked and not opinion.is_by_hand and verdict.decision is not Decision.REPLACE

    def _ask_a_person(self, active: ActivePolicy, opinion: Opinion, verdict: Verdict, context: ChainContext) -> None:
        assert active.by_hand is not None
        assert self.ordinal is not None
        question = self._ask(opinion, active, active.by_hand.seconds, context, verdict=verdict)
        hold = context.holds[self.ordinal]
        hold.asks, hold.asked_by, hold.asked_at = question.number, active.name, question.asked_at
        hold.reason, hold.otherwise = verdict.reason, active.by_hand.otherwise

    def _forget_later(self, context: ChainContext) -> None:
        """Drop the opinions of later policies: they are about a subject that is gone."""
        for at in range(self._next + 1, len(self._opinions)):
            opinion, self._opinions[at] = self._opinions[at], None
            if opinion is not None and opinion.question is not None:
                context.questions.pop(opinion.question.number, None)

    def _record(self, active: ActivePolicy, opinion: Opinion, context: ChainContext) -> None:
        if opinion.verdict is None:
            return
        at = opinion.at or context.now()
        took = (opinion.at or opinion.formed_at or at) - opinion.began
        subject = Subject.REQUEST if self.ordinal is None else Subject.BLOCK
        said = (opinion.verdict, at, took, opinion.failure, subject, opinion.by)
        context.judgements.append(Judgement(active, self.ordinal, *said, self.client_had, opinion.is_unanswered))
