"""Nothing that a policy forbids is in what the SDKs put together, however upstream tells it.

EVASIONS says how many are made for each kind of policy and format, 60 by default.
"""

import os
import random
from collections.abc import Callable
from typing import NamedTuple

import pytest

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.chain import PolicyChain
from streamviz.core.composer import Composer
from streamviz.core.context import StreamingContext
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_object, decode
from streamviz.core.judgements import Answer, ModelSaid
from streamviz.core.policy import Decision, Policy, Verdict
from streamviz.core.processor import StreamProcessor
from streamviz.core.request import ModelCall
from streamviz.core.wire import AGGREGATORS, BODY_COMPOSERS, COMPOSERS
from streamviz.evaluation.tasks import answer_in, carry_out, encoded, task_in, task_of
from streamviz.policies import build
from tests.core.evasions import FORMATS, MARK, TOOL, Evasion, Seen, evasion, seen
from tests.core.support import active, parse

# The SDKs warn of what is not of the types that they know, and read it all the same.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

NUMBER = int(os.environ.get("EVASIONS", "60"))


class NoShell(Policy):
    """Somebody's own policy: no call of the tool."""

    kind = "no_shell"
    parameters_schema = {}

    def holds(self, block: StreamBlock) -> bool:
        return block.kind is BlockKind.TOOL_CALL

    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Verdict | None:
        is_it = isinstance(block, ToolCallStreamBlock) and block.name == TOOL
        return Verdict(Decision.DENY, "no shell", "[no]") if is_it else None


def calls_the_tool(it: Seen) -> bool:
    return any(call.name == TOOL for call in it.calls)


def calls_what_was_not_offered(it: Seen) -> bool:
    return any(call.name == TOOL and call.is_function for call in it.calls)


def calls_with_the_mark(it: Seen) -> bool:
    return any(MARK in call.arguments for call in it.calls)


def calls_anything(it: Seen) -> bool:
    return bool(it.calls)


def says_the_mark(it: Seen) -> bool:
    return MARK in it.text


class Kind(NamedTuple):
    """A kind of policy, whether evasions of it hide calls or texts, and what it forbids."""

    make: Callable[[], Policy]
    is_call: bool
    is_forbidden: Callable[[Seen], bool]


OWN = f"{NoShell.__module__}.{NoShell.__name__}"
TEXTS = ["content", "thinking", "refusal"]
KINDS = {
    "tool_rule, names": Kind(lambda: build("tool_rule", {"names": [TOOL]}), True, calls_the_tool),
    "tool_rule, arguments": Kind(
        lambda: build("tool_rule", {"arguments": [{"pattern": MARK}]}), True, calls_with_the_mark
    ),
    "cel_rule": Kind(lambda: build("cel_rule", {"expression": f'block.name == "{TOOL}"'}), True, calls_the_tool),
    "tool_schema": Kind(lambda: build("tool_schema", {}), True, calls_what_was_not_offered),
    "limits": Kind(lambda: build("limits", {"stream": {"tool_calls": 0.5}}), True, calls_anything),
    "llm_judge": Kind(lambda: build("llm_judge", {"model": "m", "instructions": "Bad."}), True, calls_the_tool),
    "python": Kind(lambda: build("python", {"path": OWN}), True, calls_the_tool),
    "text_rule": Kind(
        lambda: build("text_rule", {"patterns": [MARK.replace(".", r"\.")], "in": TEXTS}), False, says_the_mark
    ),
    "redact": Kind(lambda: build("redact", {"find": ["e-mail"], "in": [*TEXTS, "tool_call"]}), False, says_the_mark),
}  # fmt: skip


async def client_of(made: Evasion, policies: list[Policy], chance: random.Random) -> Seen:
    """What the client has of an evasion under these policies."""
    format = made.format
    aggregator = AGGREGATORS[format]()
    tools: JsonObject = {"model": "m", "tools": _tools(format)}
    context = StreamingContext("run", lambda: 0, ModelCall(format, tools), state=aggregator.state)
    head = aggregator.head if made.is_streaming else as_object(decode(made.data))
    composer: Composer = (COMPOSERS if made.is_streaming else BODY_COMPOSERS)[format](head)
    chain = PolicyChain([active(policy, name=policy.kind) for policy in policies], composer)
    processor = StreamProcessor(chain.on_chunk, aggregator, is_enforcing=chain.is_enforcing)
    stream = parse(made.data) if made.is_streaming else [Chunk(0, 0, made.data, made.data)]
    at = 0
    while at < len(stream):
        size = chance.randint(1, 5)
        await processor.take(stream[at : at + size], context)
        at += size
        answer(chain, context, aggregator)
    await processor.end(context)
    answer(chain, context, aggregator)
    if not made.is_streaming and processor.is_broken:
        return Seen([], "")
    return seen(format, b"".join(frame.raw for frame in context.outbox), made.is_streaming)


def _tools(format: str) -> list[object]:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    if format == "openai_chat":
        return [{"type": "function", "function": {"name": "list", "parameters": schema}}]
    if format == "anthropic_messages":
        return [{"name": "list", "input_schema": schema}]
    return [{"type": "function", "name": "list", "parameters": schema}]


def answer(chain: PolicyChain, context: StreamingContext, aggregator: Aggregator[Chunk, JsonObject]) -> None:
    """A judge that knows the tool by its name, and a process that judges as the policy itself does."""
    while context.questions:
        number, question = next(iter(context.questions.items()))
        said: Answer
        if question.consult is not None:
            score = int(TOOL in question.consult.text)
            said = ModelSaid(f'{{"score": {score}, "reason": ""}}')
        else:
            assert question.work is not None
            said = answer_in(carry_out(task_in(encoded(task_of(question.work, question.seconds)))))
        chain.answer(number, said, aggregator.state, context)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", FORMATS)
async def test_nothing_that_is_forbidden_is_in_what_the_sdk_puts_together(format: str, kind: str) -> None:
    make, is_call, is_forbidden = KINDS[kind]
    policy, meant = make(), 0
    for number in range(NUMBER):
        made = evasion(format, f"{kind} {number}", is_call=is_call)
        chance = random.Random(number)
        meant += is_forbidden(seen(format, made.data, made.is_streaming))
        client = await client_of(made, [policy], chance)
        assert not is_forbidden(client), f"{number}: {made}"
    assert meant > NUMBER // 3, "most of them would have been an evasion of no policy at all"
