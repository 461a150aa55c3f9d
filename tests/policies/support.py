"""Shared by the tests of policy kinds: a context, blocks, and a policy applied to a stream."""

import itertools
from typing import Any

from streamviz.core.blocks import StreamBlock, new_block
from streamviz.core.events import BlockDelta, BlockKind, BlockStarted
from streamviz.core.json_value import JsonObject
from streamviz.core.judgements import ChainContext
from streamviz.core.policy import Consult, Policy
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import Verdict
from streamviz.policies import build
from tests.core.support import Run, active, chunks, delta


def context(request: JsonObject | None = None, format: str = "openai_chat", **more: Any) -> ChainContext:
    """A stream that has just begun; its clock advances by 1 µs each time it is read."""
    ticks = itertools.count(1_000_000)
    return ChainContext("run-1", lambda: next(ticks), ModelCall(format, request or {}), **more)


def block(text: str = "", kind: BlockKind = BlockKind.TOOL_CALL, name: str = "", ordinal: int = 0) -> StreamBlock:
    """A block with this text."""
    made = new_block(BlockStarted(ordinal, kind, name=name), 0, 0)
    made.grow(BlockDelta(ordinal, text))
    return made


def judge(policy: Policy, judged: StreamBlock, of: ChainContext | None = None) -> Verdict:
    """The policy's verdict on a whole block."""
    verdict = policy.on_block_complete(judged, of or context())
    assert isinstance(verdict, Verdict)
    return verdict


def ask(policy: Policy, judged: StreamBlock, of: ChainContext | None = None) -> Consult:
    """What the policy asks about a whole block."""
    asked = policy.on_block_complete(judged, of or context())
    assert isinstance(asked, Consult)
    return asked


async def said(kind: str, parameters: JsonObject, *pieces: str, field: str = "content") -> Run:
    """Run a stream of these pieces of text through one enforced policy."""
    stream = chunks(*(delta(**{field: piece}) for piece in pieces), delta(finish="stop"), "[DONE]")
    return await Run([active(build(kind, parameters))]).finish(stream)
