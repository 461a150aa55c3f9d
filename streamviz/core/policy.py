"""Policies, and what they ask for."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import msgspec

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock, StreamState
from streamviz.core.context import StreamingContext
from streamviz.core.errors import PolicyParametersError
from streamviz.core.json_value import JsonObject
from streamviz.core.policy_settings import ALL_BLOCKS, ALL_CALLS, BlockScope, ByHand, CallScope
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import Decision, Mode, Verdict

DEFAULT_SECONDS = 30.0
LOOK_BACK = 2000


@dataclass(frozen=True, slots=True)
class Consult:
    """A question to a model, which the driver of the stream asks.

    `read` makes a verdict of the model's answer; what it raises is the policy's failure. `rest` are asked beside it, if
    one question would be too long: the first verdict that does not allow counts, else a failure, else this one's.
    """

    model: str
    instructions: str
    text: str
    read: Callable[[str], Verdict]
    rest: "tuple[Consult, ...]" = ()

    @property
    def parts(self) -> "tuple[Consult, ...]":
        """All the questions."""
        return (self, *self.rest)


class Recipe(NamedTuple):
    """What another process makes the same policy from."""

    kind: str
    parameters: JsonObject


class TakesLong(Exception):
    """Raised by a hook that may take more than a few ms: it is called again in a process of its own."""


@dataclass(frozen=True, slots=True)
class Work:
    """A hook for the driver of the stream to have called in a process of its own: of which policy, and about what.

    A block is whole, and a request is never changed in place, so neither changes while it is judged.
    """

    policy: "Policy"
    subject: StreamBlock | ModelCall
    context: StreamingContext


class Tail(msgspec.Struct, frozen=True, gc=False):
    """The end of a running text: what has not been released yet, from `begin` on; what comes before that is only
    context.

    `is_whole` says that nothing more comes.
    """

    text: str
    begin: int
    is_whole: bool


class Edit(NamedTuple):
    """Puts `text` in place of what is between `start` and `end`; `label` says what that was."""

    start: int
    end: int
    text: str
    label: str


class Reading(msgspec.Struct, frozen=True, gc=False):
    """A policy's reading of a Tail. Positions are in its text.

    What comes before `safe` may go, with `edits` made in it, which are in order and do not overlap. A `verdict` that
    halts ends the stream at `safe`; no other counts here.
    """

    safe: int
    edits: tuple[Edit, ...] = ()
    verdict: Verdict | None = None


class Policy:
    """A rule that judges requests and blocks. One object serves all streams: what it learns about a stream belongs in
    the context (`context.memory_of(self)`).

    A kind overrides the hooks that it needs. `kind` names the rule, `parameters_schema` is the JSON schema of its
    parameters. What a hook raises is the policy's failure: it counts as a denial, or as an allowance if the policy
    fails open. A hook may be called about the same thing again if an earlier policy has replaced it.
    """

    kind: ClassVar[str]
    parameters_schema: ClassVar[JsonObject]
    # How much running text `on_delta` may keep back, in characters.
    look_back: int = LOOK_BACK
    # Whether what it replaces in an answer must not be in the record either.
    masks: bool = False
    # Whether it reads a summary that shortens a conversation as a block, and so need not read it beside the answer.
    masks_summaries: bool = False
    # Whether it is always fast, however long what it judges is.
    is_quick: ClassVar[bool] = False
    # Whether it depends on the session's totals (`context.counts_of`): those are gathered from all workers first.
    counts_session: bool = False
    # The same for the key's totals: the period (hour, day or month) over which they are added up; empty if it does not.
    counts_key: str = ""
    # Whether it depends on the cost in those totals (US dollars): a stream of unknown price is then unbounded.
    counts_cost: bool = False
    # Whether it judges a request without reading it, and so also requests that pass unread, such as those for files,
    # images and sounds.
    judges_unread: bool = False
    # Set if another process can make the policy, too. No hook may take long then: it raises TakesLong instead.
    recipe: Recipe | None = None
    # The fields of the request that it reads when it judges a block; None is all of them. `tools` has those of other
    # fields, too.
    reads: frozenset[str] | None = None

    def __init__(self, parameters: JsonObject) -> None:
        """Raises PolicyParametersError for parameters that it does not accept."""

    def require_short(self, is_short: bool) -> None:
        """Raises TakesLong for work that is not short, unless this process is where it may take its time."""
        if self.recipe is not None and not is_short:
            raise TakesLong

    def kept(self, text: str) -> str:
        """What may be kept, and passed on, of a text beside a request and its answer: a header, a session's name, an
        error that upstream answered with."""
        return text

    def found_beside(self, text: str, is_word: bool) -> str:
        """What the policy finds, of what it looks for, in a text that is in no block: an id, a count, an error, what an
        answer repeats of its request, but none of the formats' own words. Empty if there is nothing. Nothing can be
        replaced there, so whatever is found ends the stream. `is_word` says whether the text is a single word, or a
        number. A long text comes in pieces."""
        return ""

    def on_request(self, request: ModelCall, context: StreamingContext) -> Verdict | Consult | None:
        """The verdict on a request, before the call; None if the policy has no say in it."""
        return None

    def holds(self, block: StreamBlock) -> bool:
        """Whether this block waits for its verdict. Asked when the block starts; its name may not have come yet."""
        return False

    def watches(self, block: StreamBlock) -> bool:
        """Whether `on_delta` is to be called for this block."""
        return False

    def on_delta(self, block: StreamBlock, tail: Tail, context: StreamingContext) -> Reading:
        """Read a running text as it comes, behind the end of the last of its kind; only called if `watches` says so.

        If a policy holds the block, it is called once with all of the text.
        """
        return Reading(len(tail.text))

    def on_held(self, block: StreamBlock, context: StreamingContext) -> Verdict | None:
        """Called while a held block grows. A verdict that halts ends the stream where the block began; no other counts
        here. What grows without end is never whole, so this is for policies that limit it."""
        return None

    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Verdict | Consult | None:
        """The verdict on a whole block; None if the policy has no say in it."""
        return None

    def on_finish(self, state: StreamState, context: StreamingContext) -> Verdict | None:
        """The verdict on a whole stream. It no longer changes anything: it is for the record."""
        return None

    async def on_chunk(self, chunk: Chunk | None, state: StreamState, context: StreamingContext) -> None:
        """Called once for each chunk, after the state has taken it in, and once with None at the end of input.

        If a policy overrides this, only the chunks that it gives to `context.send` go on, then or later, and
        `context.terminate()` halts the stream. Blocks are judged by the other policies all the same. The chunk's `data`
        is without empty content strings beside tool calls; what goes on is its `raw`, as upstream sent it.
        """


def has_on_chunk(policy: Policy) -> bool:
    """Whether a policy looks at the chunks themselves."""
    return type(policy).on_chunk is not Policy.on_chunk


@dataclass(frozen=True, slots=True)
class ActivePolicy:
    """A policy as one stream has it: `version` and `mode` stay what they were when the stream began.

    `version_id` is the version's key in the record. With `fail_open` a policy that fails allows, otherwise it denies.
    `time_limit` (seconds) is how long it may take to answer. `calls` are those that it is for, and so those that count
    where it limits what they come to together.
    """

    policy: Policy
    name: str
    version_id: int
    version: int
    mode: Mode
    fail_open: bool = False
    time_limit: float = DEFAULT_SECONDS
    scope: BlockScope = ALL_BLOCKS
    by_hand: ByHand | None = None
    calls: CallScope = ALL_CALLS

    def failed(self, failure: str) -> Verdict:
        """The verdict of a policy that failed."""
        if self.fail_open:
            return Verdict(Decision.ALLOW, f"The policy failed and is set to fail open, so it allowed: {failure}")
        return Verdict(Decision.DENY, f"The policy failed: {failure}", f"[Denied by policy {self.name}: it failed.]")


Aside = Callable[[Callable[[], None]], Awaitable[None]]
Bounded = Callable[[Awaitable[None], float], Awaitable[None]]
Rest = Callable[[], Awaitable[None]]


async def at_once(work: Callable[[], None]) -> None:
    """Do long work right here, as nobody else waits."""
    work()


async def no_rest() -> None:
    """Do not pause between two steps of long work, as nobody else waits."""


class CannotRun(Policy):
    """Fails on each request, so that a policy that cannot be made denies or allows as it would after any other failure.

    `why` is what kept it from being made.
    """

    kind = "cannot_run"
    parameters_schema: ClassVar[JsonObject] = {}

    def __init__(self, why: str) -> None:
        self._why = why

    def on_request(self, request: ModelCall, context: StreamingContext) -> Verdict | None:
        """Raises PolicyParametersError."""
        raise PolicyParametersError(self._why)
