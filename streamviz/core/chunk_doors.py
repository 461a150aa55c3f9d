"""A policy at the gate for chunks: what it was shown and has not sent on, and what is recorded about it."""

from collections.abc import Sequence
from typing import NamedTuple

from streamviz.core.aggregator import Chunk
from streamviz.core.context import Frame
from streamviz.core.events import StreamEvent
from streamviz.core.judgements import ChainContext, Judgement, Subject
from streamviz.core.policy import ActivePolicy
from streamviz.core.verdicts import Decision, Verdict


class Passing(NamedTuple):
    """A chunk with its events, or a frame that a policy made; at the end of input, only events."""

    chunk: Chunk | None
    events: Sequence[StreamEvent]
    frame: Frame | None = None


class Passed(NamedTuple):
    """What goes on, and the policy that halts the stream after it."""

    items: list[Passing]
    halt: tuple[ActivePolicy, Verdict] | None


class Door:
    """One policy: what it was shown and has not sent on yet, and its verdict if it ended the stream."""

    def __init__(self, active: ActivePolicy) -> None:
        self.active = active
        self.withheld: dict[int, Passing] = {}
        self.context: ChainContext | None = None
        self.has_failed = False
        self.halt: Verdict | None = None

    def passing(self, frame: Frame) -> Passing:
        """What a frame that it sent stands for: a chunk that it was shown, or bytes that it made."""
        withheld = None if frame.seq is None else self.withheld.pop(frame.seq, None)
        return withheld or Passing(None, (), Frame(frame.raw, None, self.active.name))

    def fail(self, failure: str, began: int, context: ChainContext) -> list[Passing]:
        """Show it nothing more; what it has not sent on goes on, unless its failure ends the stream."""
        verdict = self.active.failed(failure)
        if verdict.decision is not Decision.ALLOW:
            verdict = self.halt = Verdict(Decision.HALT, verdict.reason, verdict.text)
        self.has_failed = True
        self.note(verdict, began, context, failure)
        withheld, self.withheld = list(self.withheld.values()), {}
        return withheld if self.halt is None else []

    def note_withheld(self, context: ChainContext) -> None:
        """Note what it never sent on, now that the stream is over."""
        if self.withheld and self.halt is None:
            first = min(self.withheld)
            reason = f"Chunks that were not sent on: {len(self.withheld)}, the first of them chunk {first}."
            evidence = {"chunks": len(self.withheld), "first": first}
            self.note(Verdict(Decision.REPLACE, reason, evidence=evidence), context.now(), context)

    def note(self, verdict: Verdict, began: int, context: ChainContext, failure: str = "") -> None:
        """Put a verdict on the record; `began` is when it was asked (µs since the epoch)."""
        at = context.now()
        context.judgements.append(Judgement(self.active, None, verdict, at, at - began, failure, Subject.STREAM))
