"""Running a recorded response through policies again: what the client would have got, and when."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.blocks import StreamState
from streamviz.core.chain import PolicyChain
from streamviz.core.composer import Composer
from streamviz.core.context import Frame, Price, unknown_price
from streamviz.core.json_value import JsonObject
from streamviz.core.judgements import NOBODY_ASKED, Answer, ChainContext, Judgement, Question
from streamviz.core.policy import ActivePolicy, Bounded, Rest, no_rest
from streamviz.core.processor import StreamProcessor
from streamviz.core.request import ModelCall
from streamviz.core.request_judging import RequestJudging
from streamviz.core.sse import events_in
from streamviz.core.verdicts import Verdict
from streamviz.core.wire import AGGREGATORS, BODY_COMPOSERS, COMPOSERS

Ask = Callable[[Question], Awaitable[Answer]]


class Recording(NamedTuple):
    """A recorded call: its request, its chunks as they came (times in µs since the epoch), what its tokens cost."""

    call: ModelCall
    chunks: Sequence[Chunk]
    is_streaming: bool
    price: Price = unknown_price


@dataclass(slots=True)
class Rerun:
    """The result of a rerun. `denied` is the verdict that kept the request from going upstream; nothing follows then.

    `longest_wait` is the longest that a chunk would have been kept back (µs), assuming that judges answer at once.
    `asked` counts the questions to models and people that came up.
    """

    state: StreamState
    judgements: list[Judgement]
    frames: list[Frame] = field(default_factory=list)
    call: ModelCall | None = None
    denied: tuple[ActivePolicy, Verdict] | None = None
    halted_by: str = ""
    longest_wait: int = 0
    asked: int = 0


def chunks_of(data: bytes) -> list[Chunk]:
    """The chunks of a recorded stream that has no times."""
    return [Chunk(seq, 0, event.raw, event.data, event.name) for seq, event in enumerate(events_in(data))]


async def nobody(question: Question) -> Answer:
    """The answer if no model is to be asked."""
    return NOBODY_ASKED


async def rerun(
    recording: Recording,
    policies: Sequence[ActivePolicy],
    ask: Ask = nobody,
    within: Bounded | None = None,
    rest: Rest = no_rest,
) -> Rerun:
    """Run a recording through policies; the clock is the recording's own. `within` limits what a policy awaits, `rest`
    lets others run."""
    chunks = recording.chunks
    received_at = {chunk.seq: chunk.received_at for chunk in chunks}  # a damaged record may lack some
    now = [chunks[0].received_at if chunks else 0]
    aggregator = AGGREGATORS[recording.call.wire_format]()
    context = ChainContext("rerun", lambda: now[0], recording.call, state=aggregator.state, began_at=now[0])
    context.price = recording.price
    made = Rerun(aggregator.state, context.judgements)
    judging = RequestJudging(policies, recording.call, context)
    while not judging.is_settled:
        await _answer(context, made, ask, judging.answer)
    made.call, made.denied = judging.call, judging.denied
    context.request = judging.call
    if judging.denied is not None or not chunks:
        return made
    chain = PolicyChain(policies, _composer(recording, aggregator), within, rest)
    processor = StreamProcessor(chain.on_chunk, aggregator, is_enforcing=chain.is_enforcing)

    def tell(number: int, answer: Answer) -> None:
        chain.answer(number, answer, aggregator.state, context)

    for chunk in chunks:
        now[0] = chunk.received_at
        await processor.take((chunk,), context)
        await _answer(context, made, ask, tell)
        _collect(context, made, received_at, now[0])
        if context.is_terminated:
            break
    await processor.end(context)
    while context.questions:
        await _answer(context, made, ask, tell)
    _collect(context, made, received_at, now[0])
    made.halted_by = context.halted_by
    return made


def _composer(recording: Recording, aggregator: Aggregator[Chunk, JsonObject]) -> Composer:
    wire_format = recording.call.wire_format
    if recording.is_streaming:
        return COMPOSERS[wire_format](aggregator.head)
    return BODY_COMPOSERS[wire_format](aggregator.body)


async def _answer(context: ChainContext, made: Rerun, ask: Ask, tell: Callable[[int, Answer], None]) -> None:
    for number, question in list(context.questions.items()):
        made.asked += question.work is None
        tell(number, await ask(question))


def _collect(context: ChainContext, made: Rerun, received_at: Mapping[int, int], now: int) -> None:
    for frame in context.outbox:
        if frame.seq is not None:
            made.longest_wait = max(made.longest_wait, now - received_at[frame.seq])
    made.frames += context.outbox
    context.outbox = []


def told(wire_format: str, frames: Sequence[Frame], *, is_streaming: bool = True) -> StreamState:
    """What a client reads in these frames."""
    aggregator = AGGREGATORS[wire_format]()
    raw = b"".join(frame.raw for frame in frames)
    for chunk in chunks_of(raw) if is_streaming else [Chunk(0, 0, raw, raw)]:
        aggregator.aggregate(chunk)
    aggregator.close()
    return aggregator.state
