"""What a stream's policies did: verdicts as they are recorded, holds, open questions, and policies that did not run."""

from collections.abc import Set
from dataclasses import dataclass, field
from enum import StrEnum

from streamviz.core.context import StreamingContext
from streamviz.core.instead import Instead
from streamviz.core.policy import ActivePolicy, Consult, Work
from streamviz.core.verdicts import Decision, Mode, Verdict

# How the failure of a verdict begins if a person was asked and did not answer in time. What a policy fails with begins
# with the type of an error.
NO_ANSWER = "no answer within"


class Subject(StrEnum):
    """What a verdict is about."""

    REQUEST = "request"
    BLOCK = "block"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict as it is recorded: by whom, on what, when (µs since the epoch), and how long it took (µs).

    `ordinal` is the block's, None if it is about a request or a stream. `failure` says what went wrong if the policy
    failed and the decision is its fail mode's, or if a person was asked and nobody answered in time (`is_unanswered`).
    `by` names the person who decided by hand. `client_had` is how much of the block the client already had
    (characters), 0 if it was held.
    """

    policy: ActivePolicy
    ordinal: int | None
    verdict: Verdict
    at: int
    took: int
    failure: str = ""
    subject: Subject = Subject.BLOCK
    by: str = ""
    client_had: int = 0
    is_unanswered: bool = False


@dataclass(slots=True)
class Hold:
    """A block that is kept back. Times are in µs since the epoch.

    A hold ends when the block, or what replaces it, goes out, or when the stream ends: `ended_at` is None until then,
    whatever was decided. `released_at` is when the block itself went out, None if it never did. While a model or a
    person is asked, `until` is when it is decided without their answer. While a person is asked, `asks` is the number
    of the question, `asked_by` the policy whose verdict it is about, `asked_at` when it was asked, `reason` why the
    policy would not allow it, and `otherwise` the decision without an answer.
    """

    since: int
    policies: tuple[str, ...]
    ended_at: int | None = None
    released_at: int | None = None
    is_denied: bool = False
    asks: int | None = None
    asked_by: str = ""
    asked_at: int = 0
    reason: str = ""
    otherwise: Decision | None = None
    until: int | None = None

    @property
    def is_asking(self) -> bool:
        """Whether a person is asked about it."""
        return self.ended_at is None and self.asks is not None

    @property
    def was_cut_short(self) -> bool:
        """Whether the stream ended during it: the block was neither released nor denied."""
        return self.ended_at is not None and self.released_at is None and not self.is_denied


@dataclass(frozen=True, slots=True)
class Question:
    """What a policy waits for: a model's answer (`consult`), a process that judges in its place (`work`), or a person
    (`verdict` is what they decide about). `asked_at` is in µs since the epoch; it is given up after `seconds`."""

    number: int
    policy: ActivePolicy
    ordinal: int | None
    asked_at: int
    seconds: float
    consult: Consult | None
    verdict: Verdict | None = None
    is_awaited: bool = True
    work: Work | None = None

    @property
    def is_for_a_person(self) -> bool:
        return self.consult is None and self.work is None

    @property
    def given_up_at(self) -> int:
        """When nobody waits for an answer any more (µs since the epoch)."""
        return self.asked_at + int(self.seconds * 1_000_000)


@dataclass(frozen=True, slots=True)
class ModelSaid:
    """A model's answer."""

    text: str


@dataclass(frozen=True, slots=True)
class InParts:
    """The answers to a question in parts, in their order."""

    answers: "tuple[ModelSaid | Unanswered, ...]"


@dataclass(frozen=True, slots=True)
class Judged:
    """A policy's verdict from a process of its own; `failure` is what it raised there."""

    verdict: Verdict | None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class PersonDecided:
    """A person allowed or denied by hand; `by` names them."""

    decision: Decision
    by: str


@dataclass(frozen=True, slots=True)
class Unanswered:
    """There is no answer: it took too long, the model could not be asked, or the process died."""

    why: str


NOBODY_ASKED = Unanswered("nobody was asked")
Answer = ModelSaid | InParts | Judged | PersonDecided | Unanswered


@dataclass(frozen=True, slots=True)
class NotRun:
    """A policy that did not judge this stream, or not all of it, and why."""

    policy: str
    version: int
    mode: Mode
    why: str


@dataclass(slots=True)
class ChainContext(StreamingContext):
    """A stream's context with the accounts of its policies, which the chain and the driver keep.

    `questions` go by number: the driver has them answered and tells the chain. `halted_by` names the policy that ended
    the stream. By ordinal, `masked` is what may be kept of blocks, once that is known, and `instead` what the client
    has in place of them; `begun` are those that have begun to go out, None if all do as they come.
    """

    judgements: list[Judgement] = field(default_factory=list)
    holds: dict[int, Hold] = field(default_factory=dict)
    questions: dict[int, Question] = field(default_factory=dict)
    not_run: list[NotRun] = field(default_factory=list)
    masked: dict[int, str] = field(default_factory=dict)
    instead: dict[int, Instead] = field(default_factory=dict)
    begun: Set[int] | None = None
    halted_by: str = ""
    _number: int = 0

    def end_holds(self) -> None:
        """End all holds: the stream is over."""
        for hold in self.holds.values():
            hold.ended_at = self.now() if hold.ended_at is None else hold.ended_at

    def next_number(self) -> int:
        """A number for the next question."""
        self._number += 1
        return self._number
