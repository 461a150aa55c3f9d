"""Nothing that a policy forbids is in what the SDKs hand out, however upstream says it.

EVASIONS sets how many are generated for each kind of policy (60 in a thorough run, else 15), EVASIONS_FROM the number
of the first. An evasion that succeeds is minimized before it is shown.
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
from streamviz.core.json_value import JsonObject
from streamviz.core.judgements import Answer, ChainContext, ModelSaid
from streamviz.core.policy import Policy
from streamviz.core.processor import StreamProcessor
from streamviz.core.request import ModelCall
from streamviz.core.sse import BOM
from streamviz.core.verdicts import Decision, Verdict
from streamviz.core.wire import AGGREGATORS, BODY_COMPOSERS, COMPOSERS
from streamviz.evaluation.tasks import answer_in, carry_out, encoded, task_in, task_of
from streamviz.exchange.reading import are_events, has_events
from streamviz.policies import build
from tests.core.clients import Leaf
from tests.core.evasions import (
    FORMATS,
    HARM,
    MARK,
    SHELL,
    SSE,
    TOOL,
    Evasion,
    anywhere,
    calls_of,
    evasion,
    given,
    is_providers,
    may_have,
    reached,
    said,
)
from tests.core.support import active, parse
from tests.thorough import examples

# The SDKs warn about types that they do not know, and Python about odd escapes; both read them all the same.
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

NUMBER = int(os.environ.get("EVASIONS", examples(60)))
# Every fifth evasion is also checked to work without a policy; as there are four formats, each gets its turn.
LOOKED_AT = 5
FIRST = int(os.environ.get("EVASIONS_FROM", "0"))


class NoShell(Policy):
    """A custom policy that allows no call of the tool."""

    kind = "no_shell"
    parameters_schema = {}

    def holds(self, block: StreamBlock) -> bool:
        return block.kind is BlockKind.TOOL_CALL

    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Verdict | None:
        is_it = isinstance(block, ToolCallStreamBlock) and block.name == TOOL
        return Verdict(Decision.DENY, "no shell", "[no]") if is_it else None


class Aim(NamedTuple):
    """What evasions hide, and how to find it in what a client gets."""

    is_call: bool
    tool: str
    mark: str
    found: Callable[[list[Leaf]], list[Leaf]]
    is_name: bool = False

    @property
    def sought(self) -> str:
        return self.tool if self.is_name else self.mark


NAME = Aim(True, TOOL, MARK, lambda it: calls_of(it, TOOL), is_name=True)
# The provider need not declare calls that it runs itself.
OFFERED = Aim(
    True, TOOL, MARK, lambda it: [leaf for leaf in calls_of(it, TOOL) if not is_providers(leaf)], is_name=True
)
ARGUMENTS = Aim(True, TOOL, MARK, lambda it: given(it, MARK))
COMMAND = Aim(True, SHELL, HARM, lambda it: given(it, HARM))
TEXT = Aim(False, TOOL, MARK, lambda it: said(it, MARK))
ANYTHING = Aim(True, TOOL, MARK, lambda it: anywhere(it, MARK))
ANY_TEXT = Aim(False, TOOL, MARK, lambda it: anywhere(it, MARK))

OWN = f"{NoShell.__module__}.{NoShell.__name__}"
PATTERN = MARK.replace(".", r"\.")
TEXTS = ["content", "thinking", "refusal"]
KINDS: dict[str, tuple[Aim, Callable[[], list[Policy]]]] = {
    "tool_rule, names": (NAME, lambda: [build("tool_rule", {"names": [TOOL]})]),
    "tool_rule, arguments": (ARGUMENTS, lambda: [build("tool_rule", {"arguments": [{"pattern": PATTERN}]})]),
    "cel_rule": (NAME, lambda: [build("cel_rule", {"expression": f'block.name == "{TOOL}"'})]),
    "tool_schema": (OFFERED, lambda: [build("tool_schema", {})]),
    "limits": (NAME, lambda: [build("limits", {"stream": {"tool_calls": 0.5}})]),
    "llm_judge": (NAME, lambda: [build("llm_judge", {"model": "m", "instructions": "Bad."})]),
    "python": (NAME, lambda: [build("python", {"path": OWN})]),
    "shell_rule": (COMMAND, lambda: [build("shell_rule", {"tools": ["*"]})]),
    "text_rule": (TEXT, lambda: [build("text_rule", {"patterns": [PATTERN], "in": TEXTS})]),
    "text_rule, halt": (TEXT, lambda: [build("text_rule", {"patterns": [PATTERN], "in": TEXTS, "action": "halt"})]),
    "redact, texts": (ANY_TEXT, lambda: [build("redact", {"find": ["e-mail"], "in": [*TEXTS, "tool_call"]})]),
    "redact, calls": (ANYTHING, lambda: [build("redact", {"find": ["e-mail"], "in": [*TEXTS, "tool_call"]})]),
}  # fmt: skip


async def client_of(made: Evasion, policies: list[Policy], chance: random.Random) -> bytes:
    """The bytes that the client gets from an evasion under these policies."""
    format = made.format
    beginning = made.data.removeprefix(BOM).lstrip(b" \t\r\n")
    is_body = not are_events(beginning, made.kind == SSE, made.is_streaming)
    aggregator = AGGREGATORS[format]()
    tools: JsonObject = {"model": "m", "tools": _tools(format)}
    context = ChainContext("run", lambda: 0, ModelCall(format, tools), state=aggregator.state)
    composer: Composer = BODY_COMPOSERS[format](aggregator.body) if is_body else COMPOSERS[format](aggregator.head)
    chain = PolicyChain([active(policy, name=policy.kind) for policy in policies], composer)
    processor = StreamProcessor(chain.on_chunk, aggregator, is_enforcing=chain.is_enforcing)
    stream = [Chunk(0, 0, made.data, made.data)] if is_body else parse(made.data, chance.choice([None, 1, 7, 50]))
    at = 0
    while at < len(stream):
        size = chance.randint(1, 5)
        await processor.take(stream[at : at + size], context)
        at += size
        answer(chain, context, aggregator)
    await processor.end(context)
    answer(chain, context, aggregator)
    if is_body and (processor.broken_by is not None or (made.is_streaming and has_events(made.data))):
        return b""
    if processor.broken_by is not None:
        return b"".join(frame.raw for frame in context.outbox) + composer.fail(processor.broken_by)
    return b"".join(frame.raw for frame in context.outbox)


def _tools(format: str) -> list[object]:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    if format == "openai_chat":
        return [{"type": "function", "function": {"name": "list", "parameters": schema}}]
    if format == "anthropic_messages":
        return [{"name": "list", "input_schema": schema}]
    if format == "gemini":
        return [{"functionDeclarations": [{"name": "list", "parameters": schema}]}]
    return [{"type": "function", "name": "list", "parameters": schema}]


def answer(chain: PolicyChain, context: ChainContext, aggregator: Aggregator[Chunk, JsonObject]) -> None:
    """Answer as a judge that recognizes the tool by its name, and as a process that judges as the policy would."""
    while context.questions:
        number, question = next(iter(context.questions.items()))
        told: Answer
        if question.consult is not None:
            score = int(TOOL in question.consult.text)
            told = ModelSaid(f'{{"score": {score}, "reason": ""}}')
        else:
            assert question.work is not None
            told = answer_in(carry_out(task_in(encoded(task_of(question.work, question.seconds)))))
        chain.answer(number, told, aggregator.state, context)


async def passed(made: Evasion, kind: str, number: int) -> list[Leaf]:
    """Where the client gets what a policy of this kind forbids."""
    aim, policies = KINDS[kind]
    got = await client_of(made, policies(), random.Random(number))
    found = aim.found(reached(made, got)) if may_have(got, aim.sought) else []
    # If the client does not get it without a policy either, the policy was not evaded.
    return found if found and aim.found(reached(made)) else []


def is_meant(made: Evasion, aim: Aim) -> bool:
    """Whether the client gets what is forbidden if no policy acts."""
    is_found = bool(aim.found(reached(made)))
    assert may_have(made.data, aim.sought) or not is_found
    return is_found


async def shortest(made: Evasion, kind: str, number: int) -> Evasion:
    """The evasion without the frames that it does not need."""
    at = 0
    while at < len(made.frames):
        less = made._replace(frames=made.frames[:at] + made.frames[at + 1 :])
        if less.frames and await passed(less, kind, number):
            made = less
        else:
            at += 1
    return made


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_that_is_forbidden_is_in_what_the_sdk_hands_out(kind: str) -> None:
    aim, looked_at = KINDS[kind][0], list[bool]()
    for number in range(FIRST, FIRST + NUMBER):
        format = FORMATS[number % len(FORMATS)]
        made = evasion(format, str(number), is_call=aim.is_call, tool=aim.tool, mark=aim.mark)
        if number % LOOKED_AT == 0:
            looked_at.append(is_meant(made, aim))
        if found := await passed(made, kind, number):
            short = await shortest(made, kind, number)
            pytest.fail(f"{number}: {short}\nat {found[0]}")
    assert sum(looked_at) >= len(looked_at) // 3, "most of them would have been an evasion of no policy at all"
