"""What policies read in texts: checking their readings, and making verdicts and edited texts of them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from streamviz.core.blocks import StreamBlock
from streamviz.core.context import StreamingContext
from streamviz.core.hooks import checked
from streamviz.core.policy import ActivePolicy, Edit, Reading, Tail
from streamviz.core.verdicts import Decision, Verdict

# How many places a verdict lists.
SHOWN_SPANS = 20
# How many characters of a text are read at once, which can take some ms.
SLICE = 250


def whole_verdict(active: ActivePolicy, block: StreamBlock, context: StreamingContext) -> Verdict:
    """The verdict of a policy for running text on a block that was held."""
    most = active.policy.look_back
    before = block.before[-most:] if most else ""
    active.policy.require_short(len(before) + block.length <= SLICE)
    read = partial(_read, active, block, context)
    reading = read(before + block.text)
    if _halts(reading) and reading.safe < len(before) and _halts(read(before)):
        # What it found belongs to the previous text, not to each that follows.
        before, reading = "", read(block.text)
    return _verdict_on(block, _without(before, reading))


def _read(active: ActivePolicy, block: StreamBlock, context: StreamingContext, text: str) -> Reading:
    tail = Tail(text, 0, True)
    return checked_reading(active.policy.on_delta(block, tail, context), tail)


def _halts(reading: Reading) -> bool:
    return reading.verdict is not None and reading.verdict.decision is Decision.HALT


def _without(before: str, reading: Reading) -> Reading:
    """A reading of a text, with positions in it, given that of the text and what came before it."""
    shift = len(before)
    edits = (edit for edit in reading.edits if edit.start >= shift or edit.end > shift)
    own = tuple(edit._replace(start=max(0, edit.start - shift), end=edit.end - shift) for edit in edits)
    return Reading(max(0, reading.safe - shift), own, reading.verdict)


def _verdict_on(block: StreamBlock, reading: Reading) -> Verdict:
    if reading.verdict is not None and reading.verdict.decision is Decision.HALT:
        return placed(reading.verdict, reading.safe)
    if not reading.edits:
        return Verdict(Decision.ALLOW)
    counts = Counter(edit.label for edit in reading.edits)
    spans = [{"start": edit.start, "end": edit.end, "label": edit.label} for edit in reading.edits[:SHOWN_SPANS]]
    return replaced(edited(block.text, reading.edits), counts, spans)


def placed(verdict: Verdict, start: int) -> Verdict:
    """A verdict that halts, with the place in the text where it does."""
    return replace(verdict, evidence={**verdict.evidence, "start": start})


def checked_reading(said: object, tail: Tail) -> Reading:
    """Raises TypeError if a policy returned something else, ValueError for edits that cannot be made."""
    if not isinstance(said, Reading):
        raise TypeError(f"a policy gives a Reading, not {type(said).__name__}")
    checked(said.verdict)
    if not isinstance(said.safe, int):
        raise TypeError(f"the safe of a Reading is an int, not a {type(said.safe).__name__}")
    if not said.edits:
        return said
    at = tail.begin
    for edit in said.edits:
        if not isinstance(edit.text, str) or not isinstance(edit.label, str):
            raise TypeError("the text and the label of an edit are str")
        if not at <= edit.start <= edit.end <= said.safe:
            raise ValueError(f"an edit from {edit.start} to {edit.end} is not between {at} and {said.safe}")
        at = edit.end
    return said


def replaced(text: str, counts: Counter[str], spans: Sequence[object]) -> Verdict:
    """The verdict on a text in which something was replaced: how often what, and where."""
    found = ", ".join(f"{number} × {label}" for label, number in sorted(counts.items()))
    return Verdict(Decision.REPLACE, f"Replaced: {found}.", text, {"counts": dict(counts), "spans": list(spans)})


def edited(text: str, edits: Iterable[Edit]) -> str:
    """`text` with the edits made in it."""
    pieces: list[str] = []
    at = 0
    for edit in edits:
        pieces += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*pieces, text[at:]])
