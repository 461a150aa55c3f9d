"""Carries out what the policies of one stream ask for while they hold it: models, people, keep-alives."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple, TypeVar

from streamviz.core.chain import PolicyChain
from streamviz.core.errors import ClientFacingError
from streamviz.core.judgements import Answer, InParts, ModelSaid, PersonDecided, Question, Unanswered
from streamviz.core.judging import words
from streamviz.core.policy import Consult, Decision, Work
from streamviz.core.request_judging import RequestJudging
from streamviz.live.streams import LiveStream
from streamviz.proxy.clock import Clock

# Clients give up after some 20 s without a byte, and proxies on the way even sooner.
KEEP_ALIVE_SECONDS = 5.0

T = TypeVar("T")
Consulting = Callable[[Consult], Awaitable[str]]
Working = Callable[[Work, float], Awaitable[Answer]]


class Helpers(NamedTuple):
    """Who is asked for a stream: a model, and a process that judges in a policy's place within so many seconds."""

    consult: Consulting
    work: Working


class Driver:
    """Waits for upstream and for answers at once, so that neither keeps the other.

    `keep_alive` is called where the client has had nothing for KEEP_ALIVE_SECONDS while something is held, `flush`
    once answers have let something out.
    """

    def __init__(
        self,
        stream: LiveStream,
        clock: Clock,
        helpers: Helpers,
        keep_alive: Callable[[], Awaitable[None]],
        flush: Callable[[], Awaitable[None]],
    ) -> None:
        self.request: RequestJudging | None = None
        self.chain: PolicyChain | None = None
        self._stream = stream
        self._clock = clock
        self._helpers = helpers
        self._keep_alive = keep_alive
        self._flush = flush
        # By number of the question; of thousands that are open, only what is new is looked at.
        self._tasks: dict[int, asyncio.Task[Answer]] = {}
        self._awaited: set[int] = set()
        self._answered: list[int] = []
        self._newest = 0
        self._news: asyncio.Future[None] | None = None
        self._people: dict[int, asyncio.Future[PersonDecided]] = {}
        stream.decide = self.decide

    def decide(self, ordinal: int, decision: Decision, by: str) -> bool:
        """A person's word on a held block, from the event loop. False where nobody waits for one (any more)."""
        hold = self._stream.context.holds.get(ordinal)
        asked = None if hold is None or hold.asks is None else self._people.get(hold.asks)
        if asked is None or asked.done():
            return False
        asked.set_result(PersonDecided(decision, by))
        return True

    async def reads(self, answer: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """What upstream sends, while the questions that come up are answered."""
        reading: asyncio.Future[bytes] | None = None
        try:
            while True:
                self._start_asking()
                if self._is_idle() and reading is None:
                    data = await anext(answer, None)
                else:
                    reading = reading or asyncio.ensure_future(anext(answer))
                    if not await self._wait(reading):
                        continue
                    data, reading = _result(reading), None
                if data is None:
                    return
                yield data
        finally:
            if reading is not None:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)

    async def settle(self) -> None:
        """Wait until nothing of this stream waits for an answer; a shadow's is not waited for."""
        self._start_asking()
        while not self._stream.context.is_terminated and self._is_awaited():
            await self._wait(None)
            self._start_asking()

    async def alive_during(self, step: Coroutine[Any, Any, None]) -> None:
        """Run a step that may wait, as a policy's own `on_chunk` may, with keep-alives while it does."""
        if self.chain is None or not self.chain.may_wait:
            await step
            return
        running = asyncio.ensure_future(step)
        try:
            while not running.done():
                await asyncio.wait((running,), timeout=self._until_keep_alive())
                if not running.done():
                    await self._keep_alive()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        running.result()

    async def finish_shadows(self) -> None:
        """Wait for what only shadows asked, once the client has everything."""
        context = self._stream.context
        for number in [number for number, question in context.questions.items() if question.is_awaited]:
            del context.questions[number]
        self._start_asking()
        while self._tasks:
            await self._next_answer()
            self._take_answers()
            self._start_asking()

    @property
    def has_questions(self) -> bool:
        """Whether anything was asked that is not answered yet."""
        return bool(self._stream.context.questions)

    def close(self) -> None:
        """Nobody waits for any answer any more."""
        self._stream.decide = None
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()
        self._awaited.clear()

    def _is_idle(self) -> bool:
        """Whether there is nothing to wait for but upstream."""
        return not self._tasks and (self.chain is None or not self.chain.is_holding)

    def _keeps_waiting(self) -> bool:
        """Whether the client has to wait for a policy, and can be shown that it does: before a whole answer there is
        only its head, and a request that is denied later needs one of its own."""
        if self.chain is None and not self._stream.is_streaming:
            return False
        return self._is_awaited() or (self.chain is not None and (self.chain.is_holding or self.chain.may_wait))

    def _is_awaited(self) -> bool:
        return bool(self._awaited)

    def _start_asking(self) -> None:
        """Have what was asked since the last time answered, and let go of what nobody wants to know any more."""
        questions = self._stream.context.questions
        asked = list(takewhile(lambda number: number > self._newest, reversed(questions)))
        for number in reversed(asked):
            self._start(questions[number])
        if len(self._tasks) > len(questions):
            for number in self._tasks.keys() - questions.keys():
                self._drop(number).cancel()

    def _start(self, question: Question) -> None:
        number = self._newest = question.number
        if question.is_for_a_person:
            self._people[number] = asyncio.get_running_loop().create_future()
        if question.is_awaited:
            self._awaited.add(number)
        task = self._tasks[number] = asyncio.ensure_future(self._ask(question))
        task.add_done_callback(partial(self._note_answer, number))

    def _note_answer(self, number: int, task: "asyncio.Future[Answer]") -> None:
        self._answered.append(number)
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def _drop(self, number: int) -> "asyncio.Task[Answer]":
        self._people.pop(number, None)
        self._awaited.discard(number)
        return self._tasks.pop(number)

    def _next_answer(self) -> "asyncio.Future[None]":
        """Done once there is an answer to take."""
        self._news = asyncio.get_running_loop().create_future()
        if self._answered:
            self._news.set_result(None)
        return self._news

    async def _ask(self, question: Question) -> Answer:
        if not question.is_for_a_person:
            return await asked(question, self._helpers)
        try:
            async with asyncio.timeout(question.seconds):
                return await self._people[question.number]
        except TimeoutError:
            return Unanswered(f"no answer within {question.seconds:g} s")

    async def _wait(self, reading: "asyncio.Future[bytes] | None") -> bool:
        """Wait for upstream or for answers, whichever comes first; True once upstream's bytes are there."""
        waiting: set[asyncio.Future[Any]] = {self._next_answer()}
        if reading is not None:
            waiting.add(reading)
        done, _ = await asyncio.wait(waiting, timeout=self._until_keep_alive(), return_when=asyncio.FIRST_COMPLETED)
        if self._take_answers():
            await self._flush()
        elif not done:
            await self._keep_alive()
        return reading is not None and reading.done()

    def _take_answers(self) -> bool:
        answered, self._answered = self._answered, []
        known = [number for number in answered if number in self._tasks]
        for number in known:
            task = self._drop(number)
            error = None if task.cancelled() else task.exception()
            answer = task.result() if error is None else Unanswered(f"{type(error).__name__}: {error}")
            self._tell(number, answer)
        return bool(known)

    def _tell(self, number: int, answer: Answer) -> None:
        context = self._stream.context
        question = context.questions.get(number)
        if question is not None and question.ordinal is None and self.request is not None:
            self.request.answer(number, answer)
        elif self.chain is not None:
            self.chain.answer(number, answer, self._stream.state, context)

    def _until_keep_alive(self) -> float | None:
        if not self._keeps_waiting():
            return None
        last = self._stream.last_sent_at or self._stream.requested_at
        return max(0.0, KEEP_ALIVE_SECONDS - (self._clock.now() - last) / 1_000_000)


async def asked(question: Question, helpers: Helpers) -> Answer:
    """The answer of a model, or of a process; of a person there is none."""
    if question.work is not None:
        return await helpers.work(question.work, question.seconds)
    if question.consult is None:
        return Unanswered("nobody was asked")
    parts = (_told(part, question.seconds, helpers) for part in question.consult.parts)
    return InParts(tuple(await asyncio.gather(*parts)))


async def _told(consult: Consult, seconds: float, helpers: Helpers) -> ModelSaid | Unanswered:
    try:
        async with asyncio.timeout(seconds):
            return ModelSaid(await helpers.consult(consult))
    except TimeoutError:
        return Unanswered(f"no answer within {seconds:g} s")
    except Exception as error:  # A provider's library may raise anything.
        why = error.message if isinstance(error, ClientFacingError) else words(error)
        return Unanswered(f"the model could not be asked: {why}")


def _result(reading: "asyncio.Future[bytes]") -> bytes | None:
    """What was read; None at the end. Raises what the reading met."""
    with suppress(StopAsyncIteration):
        return reading.result()
    return None
