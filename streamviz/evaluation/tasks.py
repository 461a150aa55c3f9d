"""What is sent to a process that calls a policy's hook, and what it answers.

Both are JSON, not pickles, because the process has read untrusted input.
"""

from functools import lru_cache

import msgspec

from streamviz.core.block_judging import judge_block
from streamviz.core.blocks import StreamBlock, StreamState, new_block
from streamviz.core.context import SessionCounts, StreamingContext
from streamviz.core.events import BlockDelta, BlockKind, BlockStarted
from streamviz.core.hooks import checked, words
from streamviz.core.json_value import JsonObject
from streamviz.core.judgements import Judged
from streamviz.core.policy import ActivePolicy, Consult, Policy, Work
from streamviz.core.request import ModelCall
from streamviz.core.request_tools import declared_in
from streamviz.core.verdicts import Mode, Verdict
from streamviz.policies.registry import build  # imports all that policies need before the first task

# Making a policy can take longer than asking it.
_KEPT_POLICIES = 100


class BlockTold(msgspec.Struct, frozen=True):
    """A whole block."""

    kind: BlockKind
    ordinal: int
    choice: int
    id: str
    name: str
    label: str
    text: str
    is_truncated: bool
    namespace: str
    before: str


class Task(msgspec.Struct, frozen=True):
    """A hook to call: `on_request` if there is no block. Times are in µs since the epoch; after `seconds` nobody waits
    for the answer any more."""

    kind: str
    parameters: bytes
    seconds: float
    block: BlockTold | None
    wire_format: str
    fields: JsonObject
    size: int
    names: tuple[str, ...]
    run_id: str
    now: int
    began_at: int
    begun: int
    tool_calls: int
    session: SessionCounts


_encode = msgspec.json.Encoder(order="deterministic").encode
_task = msgspec.json.Decoder(Task).decode
_answer = msgspec.json.Decoder(Judged).decode


def task_of(work: Work, seconds: float) -> Task:
    """What is to be judged, in its present state."""
    recipe, context = work.policy.recipe, work.context
    assert recipe is not None
    block = None if isinstance(work.subject, ModelCall) else _told(work.subject)
    call = work.subject if isinstance(work.subject, ModelCall) else context.request
    return Task(
        recipe.kind,
        _encode(recipe.parameters),
        seconds,
        block,
        call.wire_format,
        call.fields if block is None else _read(work.policy, call.fields),
        call.size,
        call.names,
        context.run_id,
        context.now(),
        context.began_at,
        context.state.begun,
        context.state.tool_calls,
        context.session,
    )


def encoded(task: Task) -> bytes:
    """Raises ValueError for what JSON cannot represent."""
    return _encode(task)


def task_in(data: bytes) -> Task:
    """Decode what `encoded` wrote."""
    return _task(data)


def carry_out(task: Task) -> bytes:
    """Do a task and return its answer. What the policy raises is in the answer."""
    try:
        return _encode(Judged(_judge(task)))
    except BaseException as error:  # A failure of the policy, as in the server; libraries raise their own kinds.
        return _encode(Judged(None, words(error)))


def answer_in(data: bytes) -> Judged:
    """Raises ValueError if it is not an answer."""
    return _answer(data)


def _read(policy: Policy, fields: JsonObject) -> JsonObject:
    """What a policy reads when it judges a block: a request may be long."""
    if policy.reads is None:
        return fields
    return {name: declared_in(fields) if name == "tools" else fields.get(name) for name in policy.reads}


def _told(block: StreamBlock) -> BlockTold:
    return BlockTold(
        *(block.kind, block.ordinal, block.choice, block.id, block.name, block.label, block.text, block.is_truncated),
        *(block.namespace, block.before),
    )


def _judge(task: Task) -> Verdict | None:
    policy, context = _policy(task.kind, task.parameters), _context(task)
    if task.block is None:
        said = policy.on_request(context.request, context)
    else:
        active = ActivePolicy(policy, task.kind, 0, 0, Mode.ENFORCE)
        said = judge_block(active, _block(task.block), context)
    if isinstance(said, Consult):
        raise TypeError("a policy cannot ask a model from a process of its own")
    return checked(said)


@lru_cache(_KEPT_POLICIES)
def _policy(kind: str, parameters: bytes) -> Policy:
    return build(kind, msgspec.json.decode(parameters, type=JsonObject))


def _context(task: Task) -> StreamingContext:
    return StreamingContext(
        task.run_id,
        lambda: task.now,
        ModelCall(task.wire_format, task.fields, task.size, task.names),
        task.session,
        StreamState(begun=task.begun, tool_calls=task.tool_calls),
        began_at=task.began_at,
    )


def _block(told: BlockTold) -> StreamBlock:
    started = BlockStarted(told.ordinal, told.kind, choice=told.choice, id=told.id, name=told.name, label=told.label)
    block = new_block(started, 0, 0)
    block.namespace, block.before = told.namespace, told.before
    block.grow(BlockDelta(told.ordinal, told.text))
    block.complete(0, told.is_truncated)
    return block
