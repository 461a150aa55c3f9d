"""The driver: what it does for each answer, however many are still to come."""

import asyncio
import uuid
from collections.abc import Iterator
from typing import Any

from streamviz.core.chain import PolicyChain
from streamviz.core.context import StreamingContext
from streamviz.core.judgements import Answer, Question, Unanswered
from streamviz.core.policy import Consult, Mode, Work
from streamviz.core.processor import StreamProcessor
from streamviz.core.wire.openai_chat import OpenAIChatAggregator
from streamviz.core.wire.openai_chat_composer import OpenAIChatComposer
from streamviz.live.streams import LiveStream
from streamviz.policies import build
from streamviz.proxy.clock import Clock
from streamviz.proxy.driver import Driver, Helpers
from tests.core.support import HEAD, active, call, calls, chunks, delta

ALLOWED = '{"score": 0, "reason": "harmless"}'


class Counted(dict[int, Question]):
    """Questions that count how many of them were looked at by walking through."""

    looked_at = 0

    def _count(self, walk: Any) -> Iterator[Any]:
        for each in walk:
            self.looked_at += 1
            yield each

    def __iter__(self) -> Iterator[int]:
        return self._count(super().__iter__())

    def __reversed__(self) -> Iterator[int]:
        return self._count(super().__reversed__())

    def keys(self) -> Any:
        self.looked_at += len(self)
        return super().keys()

    def values(self) -> Any:
        self.looked_at += len(self)
        return super().values()

    def items(self) -> Any:
        self.looked_at += len(self)
        return super().items()


class Judges:
    """Models that answer one after the other, each when the last answer has been taken."""

    def __init__(self) -> None:
        self.asked: list[asyncio.Future[str]] = []

    async def consult(self, question: Consult) -> str:
        self.asked.append(asyncio.get_running_loop().create_future())
        return await self.asked[-1]

    async def work(self, work: Work, seconds: float) -> Answer:
        return Unanswered("nobody works here")


async def judged(count: int, mode: Mode = Mode.ENFORCE) -> tuple[Counted, StreamingContext, int]:
    """A stream of so many calls, each judged by a model that answers in its turn; how often something was let out."""
    aggregator = OpenAIChatAggregator()
    questions = Counted()
    context = StreamingContext("run-1", lambda: 0, state=aggregator.state, questions=questions)
    stream = LiveStream(
        uuid.uuid4(), uuid.uuid4(), "", None, "", "", "openai_chat", True, "m", 0, aggregator.state, context
    )
    flushed, judges = 0, Judges()

    async def flush() -> None:
        nonlocal flushed
        flushed += 1
        if flushed < count:
            judges.asked[flushed].set_result(ALLOWED)

    async def keep_alive() -> None:
        """Nobody is kept waiting for long."""

    driver = Driver(stream, Clock(), Helpers(judges.consult, judges.work), keep_alive, flush)
    policy = active(build("llm_judge", {"model": "m", "instructions": "It is bad."}), mode)
    chain = driver.chain = PolicyChain([policy], OpenAIChatComposer(dict(HEAD)))
    processor = StreamProcessor(chain.on_chunk, aggregator, is_enforcing=chain.is_enforcing)
    pieces = [calls(call(number, f"c{number}", "run", "{}")) for number in range(count)]
    await processor.take(chunks(*pieces, delta(finish="tool_calls")), context)
    await processor.end(context)
    waiting = asyncio.ensure_future(driver.settle() if mode is Mode.ENFORCE else driver.finish_shadows())
    while len(judges.asked) < count:
        await asyncio.sleep(0)
    if mode is Mode.ENFORCE:
        judges.asked[0].set_result(ALLOWED)
    else:
        for future in judges.asked:
            future.set_result(ALLOWED)
    await waiting
    return questions, context, flushed


async def test_each_answer_costs_the_same_however_many_are_open() -> None:
    questions, context, flushed = await judged(200)
    assert not questions
    assert flushed == 200
    assert len(context.outbox) == 201
    assert questions.looked_at <= 4 * 200


async def test_shadows_are_heard_out_at_the_same_cost() -> None:
    questions, context, _ = await judged(200, Mode.SHADOW)
    assert not questions
    assert len(context.judgements) == 200
    assert questions.looked_at <= 4 * 200
