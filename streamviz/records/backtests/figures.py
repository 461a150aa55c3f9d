"""The results of a back-test."""

from array import array
from collections import Counter
from dataclasses import dataclass, field

from streamviz.core.judgements import NOBODY_ASKED, Judgement
from streamviz.core.rerun import Rerun
from streamviz.core.verdicts import Decision

EXAMPLES = 100

# What a policy decided about the request (None) or a block: the last verdict counts.
Decisions = dict[int | None, str]


@dataclass(slots=True)
class Figures:
    """Sums over the streams so far. `newly_denied` and `newly_allowed` count subjects on which the run and the recorded
    verdicts of the same policy differ; `waits` has each stream's longest hold (µs)."""

    streams: int = 0
    judged: int = 0
    decisions: Counter[str] = field(default_factory=Counter)
    newly_denied: int = 0
    newly_allowed: int = 0
    failures: int = 0
    asked: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    waits: "array[int]" = field(default_factory=lambda: array("q"))
    examples: list[dict[str, object]] = field(default_factory=list)

    def skip(self, why: str) -> None:
        """Count a stream that the policy cannot be run over."""
        self.streams += 1
        self.skipped[why] += 1

    def add(self, stream: str, made: Rerun, recorded: Decisions) -> None:
        """Count a stream that the policy was run over, compared with its recorded verdicts."""
        self.streams += 1
        self.asked += made.asked
        judgements = [each for each in made.judgements if not each.failure.endswith(NOBODY_ASKED.why)]
        self.judged += bool(judgements)
        if made.longest_wait:
            self.waits.append(made.longest_wait)
        for judgement in judgements:
            self.decisions[judgement.verdict.decision.value] += 1
            self.failures += bool(judgement.failure)
            self._compare(stream, made, judgement, recorded.get(judgement.ordinal, ""))

    def _compare(self, stream: str, made: Rerun, judgement: Judgement, was: str) -> None:
        now = judgement.verdict.decision.value
        is_denied, was_denied = now != Decision.ALLOW, was not in ("", Decision.ALLOW)
        if is_denied == was_denied:
            return
        self.newly_denied += is_denied
        self.newly_allowed += was_denied
        if len(self.examples) < EXAMPLES:
            kind = "request" if judgement.ordinal is None else made.state.blocks[judgement.ordinal].kind.value
            self.examples.append(
                {
                    "stream": stream,
                    "ordinal": judgement.ordinal,
                    "kind": kind,
                    "was": was,
                    "now": now,
                    "reason": judgement.verdict.reason,
                }
            )

    def as_json(self) -> dict[str, object]:
        """The figures as they are stored and printed. Waits are in µs, None if nothing was held."""
        waits = sorted(self.waits)
        return {
            "streams": self.streams,
            "judged": self.judged,
            "decisions": dict(self.decisions),
            "newly_denied": self.newly_denied,
            "newly_allowed": self.newly_allowed,
            "failures": self.failures,
            "asked": self.asked,
            "skipped": dict(self.skipped),
            "held": len(waits),
            "wait_p50": waits[len(waits) // 2] if waits else None,
            "wait_p95": waits[int(len(waits) * 0.95)] if waits else None,
            "wait_max": waits[-1] if waits else None,
        }
