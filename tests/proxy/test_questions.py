"""A policy's question to a model, split into concurrent parts if it is long."""

import asyncio

from streamviz.core.judgements import InParts, ModelSaid, Question, Unanswered
from streamviz.core.policy import ActivePolicy, Consult, Work
from streamviz.core.verdicts import ALLOW, Mode, Verdict
from streamviz.policies import build
from streamviz.proxy.questions import Helpers, asked


def question(*texts: str, seconds: float = 30) -> Question:
    first, *rest = (Consult("judge", "judge it", text, lambda answer: Verdict(ALLOW.decision)) for text in texts)
    whole = Consult(first.model, first.instructions, first.text, first.read, tuple(rest))
    policy = ActivePolicy(build("limits", {"stream": {"blocks": 1}}), "judge", 1, 1, Mode.ENFORCE)
    return Question(1, policy, 0, 0, seconds, whole)


async def no_work(work: Work, seconds: float) -> Unanswered:
    return Unanswered("there is none")


async def test_parts_are_asked_side_by_side() -> None:
    all_asked = asyncio.Barrier(3)

    async def consult(consult: Consult) -> str:
        await all_asked.wait()
        return consult.text.upper()

    said = await asked(question("a", "b", "c"), Helpers(consult, no_work))
    assert said == InParts((ModelSaid("A"), ModelSaid("B"), ModelSaid("C")))


async def test_a_part_that_is_not_answered_leaves_the_others() -> None:
    async def consult(consult: Consult) -> str:
        if consult.text == "late":
            await asyncio.Event().wait()
        if consult.text == "bad":
            raise OSError("gone")
        return consult.text

    said = await asked(question("late", "bad", "c", seconds=0.05), Helpers(consult, no_work))
    assert isinstance(said, InParts)
    assert said.answers[2] == ModelSaid("c")
    assert [type(answer) for answer in said.answers[:2]] == [Unanswered, Unanswered]
