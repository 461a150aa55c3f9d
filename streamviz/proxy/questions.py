"""Who answers the questions of a stream's policies: models, people, and processes that judge in a policy's place."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import NamedTuple

from streamviz.core.errors import ClientFacingError
from streamviz.core.hooks import words
from streamviz.core.judgements import NO_ANSWER, Answer, InParts, ModelSaid, PersonDecided, Question, Unanswered
from streamviz.core.policy import Consult, Work
from streamviz.core.rerun import nobody
from streamviz.core.verdicts import Decision
from streamviz.exchange.stream import LiveStream
from streamviz.live.approvals import approvals

Consulting = Callable[[Consult], Awaitable[str]]
Working = Callable[[Work, float], Awaitable[Answer]]


class Helpers(NamedTuple):
    """Who is asked for a stream: a model, and a process that judges in a policy's place within so many seconds."""

    consult: Consulting
    work: Working


class Questions:
    """The open questions of one stream, by number, each with a task that waits for its answer."""

    def __init__(self, helpers: Helpers, stream: LiveStream) -> None:
        self._helpers = helpers
        self._stream = stream
        self._tasks: dict[int, asyncio.Task[Answer]] = {}
        self._people: dict[int, asyncio.Future[PersonDecided]] = {}
        self._answered: list[int] = []
        self._news: asyncio.Future[None] | None = None

    def ask(self, question: Question) -> None:
        """Have a question answered, by whoever has answered it for the whole session if somebody has."""
        number = question.number
        if question.is_for_a_person:
            self._people[number] = asyncio.get_running_loop().create_future()
            by = approvals.by(self._stream.session_id, question.policy.version_id)
            if by is not None:
                self.decide(number, Decision.ALLOW, by)
        task = self._tasks[number] = asyncio.ensure_future(self._ask(question))
        task.add_done_callback(partial(self._note_answer, number))

    def forget(self, number: int) -> None:
        """Cancel a question: nobody wants the answer any more."""
        if number in self._tasks:
            self._drop(number).cancel()

    def decide(self, number: int, decision: Decision, by: str) -> bool:
        """Take a person's answer. Return False if nobody is waiting for one (any more)."""
        asked = self._people.get(number)
        if asked is None or asked.done():
            return False
        asked.set_result(PersonDecided(decision, by))
        return True

    def news(self) -> "asyncio.Future[None]":
        """A future that is done once there is an answer to take."""
        self._news = asyncio.get_running_loop().create_future()
        if self._answered:
            self._news.set_result(None)
        return self._news

    def take(self) -> Iterator[tuple[int, Answer]]:
        """The answers since the last time, with the numbers of their questions."""
        answered, self._answered = self._answered, []
        for number in answered:
            if number in self._tasks:
                task = self._drop(number)
                error = None if task.cancelled() else task.exception()
                yield number, task.result() if error is None else Unanswered(f"{type(error).__name__}: {error}")

    def close(self) -> None:
        """Cancel all questions: nobody waits for the answers any more."""
        for number in list(self._tasks):
            self.forget(number)

    def _drop(self, number: int) -> "asyncio.Task[Answer]":
        self._people.pop(number, None)
        return self._tasks.pop(number)

    def _note_answer(self, number: int, task: "asyncio.Future[Answer]") -> None:
        self._answered.append(number)
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    async def _ask(self, question: Question) -> Answer:
        if not question.is_for_a_person:
            return await asked(question, self._helpers)
        try:
            async with asyncio.timeout(question.seconds):
                return await self._people[question.number]
        except TimeoutError:
            return Unanswered(f"{NO_ANSWER} {question.seconds:g} s")


async def asked(question: Question, helpers: Helpers) -> Answer:
    """The answer of a model or a process; there is none of a person."""
    if question.work is not None:
        return await helpers.work(question.work, question.seconds)
    if question.consult is None:
        return await nobody(question)
    parts = (_told(part, question.seconds, helpers) for part in question.consult.parts)
    return InParts(tuple(await asyncio.gather(*parts)))


async def _told(consult: Consult, seconds: float, helpers: Helpers) -> ModelSaid | Unanswered:
    try:
        async with asyncio.timeout(seconds):
            return ModelSaid(await helpers.consult(consult))
    except TimeoutError:
        return Unanswered(f"{NO_ANSWER} {seconds:g} s")
    except Exception as error:  # A provider's library may raise anything.
        why = error.message if isinstance(error, ClientFacingError) else words(error)
        return Unanswered(f"the model could not be asked: {why}")
