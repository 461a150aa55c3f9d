"""Failures of a policy's hook or of a composer, and what becomes of the stream."""

from collections.abc import Sequence, Set
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock, StreamState
from streamviz.core.context import StreamingContext
from streamviz.core.events import BlockKind, StreamEvent
from streamviz.core.policy import Consult, Edit, Policy, Reading, Tail
from streamviz.core.verdicts import Decision, Mode, Verdict
from streamviz.core.wire.openai_chat_composer import OpenAIChatComposer
from tests.core.support import HEAD, Run, active, call, calls, chunks, delta, deny_names

SECRET = "secret"
CALL = chunks(calls(call(0, "x", "rm", f'{{"a":"{SECRET}')), calls(call(0, arguments='"}')), delta(finish="tool_calls"))
TEXT = chunks(delta(content=SECRET), delta(content=" and more"), delta(finish="stop"))


def whole(stream: Sequence[Chunk]) -> bytes:
    return b"".join(chunk.raw for chunk in stream)


class Base(Policy):
    kind = "broken"
    parameters_schema = {}

    def __init__(self) -> None:
        super().__init__({})


class Holding(Base):
    def holds(self, block: StreamBlock) -> bool:
        return True


class Watching(Base):
    def watches(self, block: StreamBlock) -> bool:
        return block.kind is BlockKind.CONTENT


class RaisesInHolds(Base):
    def holds(self, block: StreamBlock) -> bool:
        raise RuntimeError("it broke")


class RaisesInWatches(Base):
    def watches(self, block: StreamBlock) -> bool:
        raise RuntimeError("it broke")


class RaisesInDelta(Watching):
    def on_delta(self, block: StreamBlock, tail: Tail, context: StreamingContext) -> Reading:
        raise RuntimeError("it broke")


class RaisesInBlock(Holding):
    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Verdict | Consult | None:
        raise RuntimeError("it broke")


class RaisesInHeld(Holding):
    def on_held(self, block: StreamBlock, context: StreamingContext) -> Verdict | None:
        raise RuntimeError("it broke")


class ExitsInBlock(Holding):
    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Verdict | Consult | None:
        raise SystemExit("it broke")


class RaisesInChunk(Base):
    async def on_chunk(self, chunk: Chunk | None, state: StreamState, context: StreamingContext) -> None:
        raise RuntimeError("it broke")


HOOKS = [
    (RaisesInHolds, CALL), (RaisesInHeld, CALL), (RaisesInBlock, CALL), (ExitsInBlock, CALL), (RaisesInChunk, CALL),
    (RaisesInHolds, TEXT), (RaisesInWatches, TEXT), (RaisesInDelta, TEXT), (RaisesInBlock, TEXT), (RaisesInChunk, TEXT),
]  # fmt: skip


@pytest.mark.parametrize(("policy", "stream"), HOOKS)
async def test_a_hook_that_raises_denies(policy: type[Base], stream: list[Chunk]) -> None:
    it = await Run([active(policy())]).finish(stream)
    assert SECRET.encode() not in it.tape
    failed = [each for each in it.context.judgements if each.failure]
    assert failed
    assert all("it broke" in each.failure and each.verdict.decision is not Decision.ALLOW for each in failed)


@pytest.mark.parametrize(("policy", "stream"), HOOKS)
async def test_a_hook_that_raises_allows_where_its_policy_fails_open(policy: type[Base], stream: list[Chunk]) -> None:
    it = await Run([active(policy(), fail_open=True)]).finish(stream)
    assert it.tape == whole(stream)
    failed = [each for each in it.context.judgements if each.failure]
    assert failed
    assert all(each.verdict.decision is Decision.ALLOW for each in failed)


@pytest.mark.parametrize(("policy", "stream"), HOOKS)
async def test_a_hook_of_a_shadow_that_raises_changes_nothing(policy: type[Base], stream: list[Chunk]) -> None:
    it = await Run([active(policy(), Mode.SHADOW)]).finish(stream)
    assert it.tape == whole(stream)


async def test_a_hook_that_raises_at_the_end_is_noted() -> None:
    class RaisesAtTheEnd(Base):
        def on_finish(self, state: StreamState, context: StreamingContext) -> Verdict | None:
            raise RuntimeError("it broke")

    it = await Run([active(RaisesAtTheEnd())]).finish(CALL)
    assert it.tape == whole(CALL)
    assert [each.failure for each in it.context.judgements] == ["RuntimeError: it broke"]


odd: Any = object()
ODD_VERDICTS = [
    Verdict(odd), Verdict(Decision.DENY, odd), Verdict(Decision.DENY, "", odd), Verdict(Decision.REPLACE, "", odd),
    Verdict(Decision.DENY, evidence=odd), Verdict(Decision.DENY, evidence={"found": odd}),
    Verdict(Decision.DENY, evidence={"found": "\ud800"}), Verdict(Decision.ALLOW, request=odd),
]  # fmt: skip


@pytest.mark.parametrize("verdict", ODD_VERDICTS)
async def test_a_verdict_that_cannot_be_carried_out_is_a_failure(verdict: Verdict) -> None:
    class Odd(Holding):
        def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Verdict | Consult | None:
            return verdict

    it = await Run([active(Odd())]).finish(CALL)
    assert SECRET.encode() not in it.tape
    [judgement] = it.context.judgements
    assert judgement.failure
    assert judgement.verdict.decision is Decision.DENY


@pytest.mark.parametrize(
    "reading",
    [Reading(odd), Reading(6, (Edit(0, 6, odd, "x"),)), Reading(6, (Edit(0, 6, "x", odd),)), Reading(6, odd),
     Reading(0, verdict=odd), Reading(0, verdict=Verdict(Decision.HALT, odd))],
)  # fmt: skip
async def test_a_reading_that_cannot_be_carried_out_is_a_failure(reading: Reading) -> None:
    class Odd(Watching):
        def on_delta(self, block: StreamBlock, tail: Tail, context: StreamingContext) -> Reading:
            return reading

    it = await Run([active(Odd())]).finish(TEXT)
    assert SECRET.encode() not in it.tape
    assert it.context.halted_by == "rule"
    assert it.context.judgements[0].failure


class CannotFollow(OpenAIChatComposer):
    """A composer that fails on upstream's events."""

    def passed(self, events: Sequence[StreamEvent], chunk: Chunk | None = None) -> None:
        raise KeyError("an item that never began")


class CannotWrite(OpenAIChatComposer):
    """A composer that fails to write."""

    def carry_part(
        self, chunk: Chunk, read: Sequence[StreamEvent], said: Sequence[StreamEvent], touched: Set[int]
    ) -> list[bytes] | None:
        raise KeyError("an item that never began")

    def compose(self, events: Sequence[StreamEvent]) -> list[bytes]:
        raise KeyError("an item that never began")


AFTER_TEXT = chunks(delta(content="a"), calls(call(0, "x", "rm", SECRET)), delta(finish="tool_calls"))


async def test_a_composer_that_cannot_follow_is_of_no_account_while_nothing_is_to_be_written() -> None:
    it = await Run([active(deny_names("ls"))], CannotFollow(dict(HEAD))).finish(AFTER_TEXT)
    assert it.tape == whole(AFTER_TEXT)
    assert not it.processor.state.fault


@pytest.mark.parametrize("composer", [CannotFollow, CannotWrite])
async def test_a_composer_that_fails_breaks_the_stream_where_a_policy_enforces(composer: type[Any]) -> None:
    it = await Run([active(deny_names("rm"), name="no rm")], composer(dict(HEAD))).finish(AFTER_TEXT)
    assert it.tape == AFTER_TEXT[0].raw
    assert it.processor.is_broken
    assert not it.chain.is_holding
    assert it.context.judgements[-1].failure == it.processor.state.fault


@pytest.mark.parametrize("composer", [CannotFollow, CannotWrite])
async def test_a_composer_that_fails_changes_nothing_under_shadows(composer: type[Any]) -> None:
    it = await Run([active(deny_names("rm"), Mode.SHADOW)], composer(dict(HEAD))).finish(AFTER_TEXT)
    assert it.tape == whole(AFTER_TEXT)


@pytest.mark.parametrize("mode", [Mode.ENFORCE, Mode.SHADOW])
async def test_a_chain_that_fails_lets_bytes_on_where_no_policy_enforces(mode: Mode) -> None:
    it = Run([active(deny_names("rm"), mode)])
    await it.take(AFTER_TEXT[0])
    it.chain._judgings = odd
    await it.finish(AFTER_TEXT[1:])
    assert it.tape == (whole(AFTER_TEXT) if mode is Mode.SHADOW else AFTER_TEXT[0].raw)
    assert it.processor.state.fault
