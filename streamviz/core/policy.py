"""Policies, their verdicts, and what they see of a stream."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

import msgspec

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock
from streamviz.core.json_value import JsonObject

UPSTREAM = "upstream"


class Mode(StrEnum):
    """Whether a policy runs, and whether its verdicts count."""

    OFF = "off"
    SHADOW = "shadow"
    ENFORCE = "enforce"


class Decision(StrEnum):
    """What a policy decides about a block."""

    ALLOW = "allow"
    REPLACE = "replace"
    DENY = "deny"
    HALT = "halt"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A policy's decision. `reason` is for people; `text` is what the client gets in place of the block."""

    decision: Decision
    reason: str = ""
    text: str = ""


ALLOW = Verdict(Decision.ALLOW)


class Policy(ABC):
    """A rule that judges blocks. One object serves all streams: what it learns of a stream belongs in the context.

    `kind` names the rule, `parameters_schema` is the JSON schema of its parameters.
    """

    kind: ClassVar[str]
    parameters_schema: ClassVar[JsonObject]

    @abstractmethod
    def holds(self, block: StreamBlock) -> bool:
        """Whether this block waits for its verdict. Asked when the block starts; its name may not have come yet."""

    @abstractmethod
    def on_block_complete(self, block: StreamBlock, context: "StreamingContext") -> Verdict | None:
        """The verdict on a whole block; None where the policy has no say in it."""


@dataclass(frozen=True, slots=True)
class ActivePolicy:
    """A policy as one stream has it: `version` and `mode` stay what they were when the stream began.

    `version_id` is the version's key in the record. With `fail_open` a policy that fails allows, else it denies.
    """

    policy: Policy
    name: str
    version_id: int
    version: int
    mode: Mode
    fail_open: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict as it is recorded: by whom, on what, when (µs since the epoch), and how long it took (µs).

    `failure` says what went wrong where the policy failed and the decision is its fail mode's.
    """

    policy: ActivePolicy
    ordinal: int
    verdict: Verdict
    at: int
    took: int
    failure: str = ""


@dataclass(slots=True)
class Hold:
    """A block that is kept back. Times are in µs since the epoch; `released_at` is None while it is held.

    A denied block is never released: its hold ends when the verdict is in.
    """

    since: int
    policies: tuple[str, ...]
    released_at: int | None = None
    is_denied: bool = False


class Frame(msgspec.Struct, frozen=True, gc=False):
    """What goes to the client: a chunk of upstream's (`seq` is its number) or bytes that a policy made."""

    raw: bytes
    seq: int | None
    origin: str = UPSTREAM


@dataclass(slots=True)
class StreamingContext:
    """What a stream's policies share. `now` gives µs since the epoch.

    `send` and `terminate` fill `outbox` and set `is_terminated`; the driver of the stream acts on them.
    """

    run_id: str
    now: Callable[[], int]
    outbox: list[Frame] = field(default_factory=list)
    judgements: list[Judgement] = field(default_factory=list)
    holds: dict[int, Hold] = field(default_factory=dict)
    is_terminated: bool = False

    def send(self, chunk: Chunk) -> None:
        """Let a chunk of upstream's through, untouched."""
        self.outbox.append(Frame(chunk.raw, chunk.seq))

    def send_made(self, raw: bytes, origin: str) -> None:
        """Send bytes that upstream did not; `origin` names the policy that made them."""
        self.outbox.append(Frame(raw, None, origin))

    def terminate(self) -> None:
        """Nothing more is read from upstream, nor sent to the client."""
        self.is_terminated = True
