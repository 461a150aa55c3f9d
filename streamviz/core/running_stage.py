"""One policy's part in a running text: what it reads, what it keeps back, and what it found."""

from collections import Counter, deque
from collections.abc import Sequence

from streamviz.core.blocks import StreamBlock
from streamviz.core.hooks import Failed, called, require_in_time
from streamviz.core.judgements import ChainContext, Judgement
from streamviz.core.policy import ActivePolicy, Edit, Reading, Tail
from streamviz.core.readings import SHOWN_SPANS, checked_reading, placed, replaced
from streamviz.core.running_pieces import Piece, cut, is_earlier
from streamviz.core.verdicts import Decision, Mode, Verdict

_CONTEXT = 1


class Stage:
    """One policy's part: what it has not released yet, and what it found. `error` is what the policy raised already,
    `earlier` the end of the previous text of this kind, which the client has: many clients join the texts of several
    blocks."""

    def __init__(self, active: ActivePolicy, block: StreamBlock, error: BaseException | None, earlier: str) -> None:
        self.active = active
        self.halt: Verdict | None = None
        self.failure = ""
        self._block = block
        self._error = error
        self._on_delta = active.policy.on_delta
        self._waiting: deque[Piece] = deque([Piece(earlier, 0, False)] if earlier else [])
        self._before = ""
        self._counts: Counter[str] = Counter()
        self._spans: list[dict[str, object]] = []
        self._earlier, self._has_earlier = earlier, bool(earlier)
        self._end = ""
        self._gone = -len(earlier)
        self._edited_to = 0
        self._took = 0
        self._found_at = 0

    def feed(self, pieces: Sequence[Piece], is_whole: bool, context: ChainContext) -> list[Piece]:
        """The pieces that may go out now that these have come."""
        if self._end and pieces:
            self._reopen(self._end)
        waiting = self._waiting
        waiting += pieces
        if self.failure or self.halt:
            gone = self._all() if self.halt is None else []
        elif len(waiting) == 1 and not waiting[0].is_changed:
            gone = self._feed_one(waiting[0], is_whole, context)
        else:
            gone = self._feed_all(is_whole, context)
        self._end = self.ending() if is_whole else ""
        return self._without_earlier(gone) if self._has_earlier else gone

    def _reopen(self, end: str) -> None:
        """Go on with a text that was over: all that was kept back of it has gone out."""
        self._waiting.appendleft(Piece(end, 0, False))
        self._before, self._has_earlier = "", True
        self._gone -= len(end)

    def _without_earlier(self, gone: list[Piece]) -> list[Piece]:
        """The pieces that the client does not have yet; the text before them is at the front, and goes first."""
        self._has_earlier = bool(self._waiting) and is_earlier(self._waiting[0])
        return [piece for piece in gone if not is_earlier(piece)]

    def _feed_one(self, piece: Piece, is_whole: bool, context: ChainContext) -> list[Piece]:
        """Read one piece in the usual case: nothing waits, and nothing is found."""
        text = self._before + piece.text
        reading = self._read(Tail(text, len(self._before), is_whole), context)
        if reading.safe < len(text) or reading.edits or reading.verdict is not None:
            return self._apply(reading, piece.text, is_whole)
        self._gone += len(piece.text)
        self._before = text[-_CONTEXT:]
        self._waiting.clear()
        return [piece]

    def _feed_all(self, is_whole: bool, context: ChainContext) -> list[Piece]:
        waiting = "".join(piece.text for piece in self._waiting)
        if not waiting:
            return self._all()
        reading = self._read(Tail(self._before + waiting, len(self._before), is_whole), context)
        return self._apply(reading, waiting, is_whole)

    def _apply(self, reading: Reading, waiting: str, is_whole: bool) -> list[Piece]:
        """Release what may go out, with the edits made in it."""
        shift = len(self._before)
        safe = max(0, min(reading.safe - shift, len(waiting)))
        edits = [edit._replace(start=edit.start - shift, end=edit.end - shift) for edit in reading.edits]
        if is_whole or len(waiting) - safe > self.active.policy.look_back:
            bound = len(waiting) if is_whole else len(waiting) - self.active.policy.look_back
            safe = max(safe, bound) if reading.verdict is None else safe
        if edits and not self._counts:
            self._found_at = max(0, self._gone + edits[0].start)
        self._note(edits)
        gone = cut(self._waiting, safe, edits)
        self._before = (self._before + waiting[:safe])[-_CONTEXT:] if safe else self._before
        self._gone += safe
        if reading.verdict is not None and reading.verdict.decision is Decision.HALT:
            self._found_at = max(0, self._gone)
            self.halt = placed(reading.verdict, self._found_at)
        return gone

    def ending(self) -> str:
        """The end of what came, as far as a match could reach back from what follows."""
        if self.halt is not None:
            return ""  # what it found belongs to this text, not to each that follows
        most = self.active.policy.look_back
        own = self._block.ending(min(most, max(0, self._block.length - self._edited_to)))
        is_all = len(own) == self._block.length and not self._edited_to
        return (self._earlier + own)[-most:] if is_all and most else own

    @property
    def has_changed(self) -> bool:
        return bool(self._counts) and self.active.mode is Mode.ENFORCE

    def judgement(self, block: StreamBlock, context: ChainContext, client_had: int) -> Judgement:
        """The judgement once the text is over. If it takes effect, the client had what came before the first thing
        found; of what a shadow would have changed it had `client_had`."""
        verdict = self.halt or self._verdict()
        if self.failure and self.halt is None:
            verdict = self.active.failed(self.failure)
        had = self._found_at if self.active.mode is Mode.ENFORCE else client_had
        return Judgement(self.active, block.ordinal, verdict, context.now(), self._took, self.failure, client_had=had)

    def _read(self, tail: Tail, context: ChainContext) -> Reading:
        reading = called(self._reading, tail, context)
        if not isinstance(reading, Failed):
            return reading
        self.failure = reading.words
        if self.active.fail_open:
            return Reading(len(tail.text))
        denied = self.active.failed(self.failure)
        return Reading(tail.begin, verdict=Verdict(Decision.HALT, denied.reason, denied.text))

    def _reading(self, tail: Tail, context: ChainContext) -> Reading:
        began = context.now()
        if self._error is not None:
            raise self._error
        reading = checked_reading(self._on_delta(self._block, tail, context), tail)
        took = context.now() - began
        self._took += took
        require_in_time(self.active, took)
        return reading

    def _verdict(self) -> Verdict:
        if not self._counts:
            return Verdict(Decision.ALLOW)
        return replaced("", self._counts, self._spans)

    def _note(self, edits: Sequence[Edit]) -> None:
        for edit in edits:
            self._counts[edit.label] += 1
            self._edited_to = self._gone + edit.end
            if len(self._spans) < SHOWN_SPANS:
                self._spans.append(
                    {"start": max(0, self._gone + edit.start), "end": self._gone + edit.end, "label": edit.label}
                )

    def _all(self) -> list[Piece]:
        gone = list(self._waiting)
        self._waiting.clear()
        return gone
