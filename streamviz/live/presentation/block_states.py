"""Where a block stands on its way to the client: one rule for running and for recorded streams."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from streamviz.core.verdicts import Decision
from streamviz.live.presentation.block_views import VerdictView


class Kept(NamedTuple):
    """Whether a block was ever held, is held now, or waits behind another that is; for a finished stream, whether that
    was so until its end."""

    was_held: bool
    is_held: bool
    is_behind: bool


def by_block(verdicts: Iterable[VerdictView]) -> Mapping[int | None, list[VerdictView]]:
    """The verdicts on each block, by its ordinal, in their order."""
    found = defaultdict(list)
    for verdict in verdicts:
        found[verdict.ordinal].append(verdict)
    return found


def deciding(of_block: Sequence[VerdictView]) -> VerdictView | None:
    """The verdict that marks a block: the last enforced intervention, else the last in shadow, else the last allow."""
    intervening = [verdict for verdict in of_block if verdict.intervenes]
    wanted = [verdict for verdict in intervening if verdict.intervened] or intervening or of_block
    return wanted[-1] if wanted else None


def ends_stream(verdict: VerdictView | None) -> bool:
    """Whether nothing goes out after a block that was held and never sent, given the verdict on it."""
    return verdict is None or not verdict.intervened or verdict.decision is Decision.HALT


def state_of(kept: Kept, verdict: VerdictView | None, *, is_running: bool, is_complete: bool) -> str:
    """One of arriving, held, waiting, sent, replaced and never sent."""
    if kept.is_held and is_running:
        return "held"
    if kept.was_held and verdict is not None and verdict.intervened:
        return "replaced" if verdict.decision is Decision.REPLACE else "never sent"
    if kept.is_held:
        return "never sent"
    if kept.is_behind:
        return "waiting" if is_running else "never sent"
    if not is_running:
        return "sent"
    return "sent" if is_complete else "arriving"
