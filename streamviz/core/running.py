"""Running text: what rules make of a text while it comes, and how much of it may go."""

from collections import Counter, deque
from collections.abc import Iterable, Sequence

import msgspec

from streamviz.core.blocks import StreamBlock
from streamviz.core.hooks import Failed, called, require_in_time
from streamviz.core.judgements import ChainContext, Judgement
from streamviz.core.policy import ActivePolicy, Edit, Reading, Tail
from streamviz.core.readings import SHOWN_SPANS, checked_reading, placed, replaced
from streamviz.core.verdicts import Decision, Mode, Verdict

_CONTEXT = 1


class Piece(msgspec.Struct, frozen=True, gc=False):
    """A piece of text on its way, and how many characters of upstream's it stands for: an unchanged one that stands for
    none went out with an earlier block."""

    text: str
    source: int
    is_changed: bool


class _Stage:
    """One policy's part: what it has not let go yet, and what it found. `error` is what the policy raised already,
    `before` the end of the last text of this kind, which the client has: many join what stands in several blocks."""

    def __init__(self, active: ActivePolicy, block: StreamBlock, error: BaseException | None, before: str) -> None:
        self.active = active
        self.halt: Verdict | None = None
        self.failure = ""
        self._block = block
        self._error = error
        self._on_delta = active.policy.on_delta
        self._waiting: deque[Piece] = deque([Piece(before, 0, False)] if before else [])
        self._before = ""
        self._counts: Counter[str] = Counter()
        self._spans: list[dict[str, object]] = []
        self._before_it, self._has_before = before, bool(before)
        self._end = ""
        self._gone = -len(before)
        self._edited_to = 0
        self._took = 0
        self._found_at = 0

    def feed(self, pieces: Sequence[Piece], is_whole: bool, context: ChainContext) -> list[Piece]:
        """The pieces that may go now that these came."""
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
        return self._without_before(gone) if self._has_before else gone

    def _reopen(self, end: str) -> None:
        """The text was over, and goes on: all that was kept back of it has gone out."""
        self._waiting.appendleft(Piece(end, 0, False))
        self._before, self._has_before = "", True
        self._gone -= len(end)

    def _without_before(self, gone: list[Piece]) -> list[Piece]:
        """What the client does not have yet; the text before it stands at the front, and goes first."""
        self._has_before = bool(self._waiting) and _is_before(self._waiting[0])
        return [piece for piece in gone if not _is_before(piece)]

    def _feed_one(self, piece: Piece, is_whole: bool, context: ChainContext) -> list[Piece]:
        """As nearly always: nothing waits, and nothing is found."""
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
        """Let go what may go, with the edits made in it."""
        shift = len(self._before)
        safe = max(0, min(reading.safe - shift, len(waiting)))
        edits = [edit._replace(start=edit.start - shift, end=edit.end - shift) for edit in reading.edits]
        if is_whole or len(waiting) - safe > self.active.policy.look_back:
            bound = len(waiting) if is_whole else len(waiting) - self.active.policy.look_back
            safe = max(safe, bound) if reading.verdict is None else safe
        if edits and not self._counts:
            self._found_at = max(0, self._gone + edits[0].start)
        self._note(edits)
        gone = _cut(self._waiting, safe, edits)
        self._before = (self._before + waiting[:safe])[-_CONTEXT:] if safe else self._before
        self._gone += safe
        if reading.verdict is not None and reading.verdict.decision is Decision.HALT:
            self._found_at = max(0, self._gone)
            self.halt = placed(reading.verdict, self._found_at)
        return gone

    def ending(self) -> str:
        """The end of what came, as far as a match could reach back from what follows."""
        most = self.active.policy.look_back
        own = self._block.ending(min(most, max(0, self._block.length - self._edited_to)))
        is_all = len(own) == self._block.length and not self._edited_to
        return (self._before_it + own)[-most:] if is_all and most else own

    @property
    def has_changed(self) -> bool:
        return bool(self._counts) and self.active.mode is Mode.ENFORCE

    def judgement(self, block: StreamBlock, context: ChainContext, client_had: int) -> Judgement:
        """What it comes to, once the text is over. Where it counts the client had what stood before the first thing
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


class RunningText:
    """The text of one block that goes out as it comes, read by all policies that watch it, in order.

    Each sees what the one before made of it. A shadow sees the same and changes nothing. `raised` is what policies
    raised when they were asked whether they watch it, `last` the text of this kind before it.
    """

    def __init__(
        self,
        block: StreamBlock,
        policies: Iterable[ActivePolicy],
        raised: Iterable[tuple[ActivePolicy, BaseException]] = (),
        last: "RunningText | None" = None,
    ) -> None:
        self.block = block
        self.is_noted = False
        self.halted_by: tuple[ActivePolicy, Verdict] | None = None
        errors = {active.name: error for active, error in raised}
        endings = {} if last is None else {stage.active.name: stage.ending() for stage in last._stages}
        self._stages: list[_Stage] = [
            _Stage(active, block, errors.get(active.name), endings.get(active.name, "")) for active in policies
        ]
        self._ready: deque[Piece] = deque()
        self._released = 0

    @property
    def released(self) -> int:
        """How many of upstream's characters may go and were not taken yet."""
        return self._released

    def is_read_by(self, active: ActivePolicy) -> bool:
        """Whether this policy reads it as it comes."""
        return any(stage.active is active for stage in self._stages)

    @property
    def changed_by(self) -> str:
        """The last policy that replaced something in it; empty while none has."""
        return next((stage.active.name for stage in reversed(self._stages) if stage.has_changed), "")

    def is_changed_within(self, source: int) -> bool:
        """Whether the next so many of upstream's characters go out otherwise than they came."""
        if self.halted_by is not None and self._released < source:
            return True
        for piece in self._ready:
            if source <= 0:
                return False
            if piece.is_changed:
                return True
            source -= piece.source
        return False

    def feed(self, text: str, is_whole: bool, context: ChainContext) -> None:
        """`text` came; with `is_whole` nothing follows it."""
        pieces = [Piece(text, len(text), False)] if text else []
        for stage in self._stages:
            if stage.active.mode is not Mode.ENFORCE:
                stage.feed(pieces, is_whole, context)
                continue
            pieces = stage.feed(pieces, is_whole, context)
            if stage.halt is not None and self.halted_by is None:
                self.halted_by = (stage.active, stage.halt)
                break
        for piece in pieces:
            self._ready.append(piece)
            self._released += piece.source

    def take_plain(self, source: int) -> bool:
        """Take so many of upstream's characters where they are all that may go, as they came; as nearly always."""
        ready = self._ready
        if len(ready) != 1 or ready[0].source != source or ready[0].is_changed:
            return False
        ready.clear()
        self._released = 0
        return True

    def take(self, source: int) -> tuple[str, bool]:
        """What the client gets for so many of upstream's characters, and whether that differs from them."""
        self._released -= source
        texts: list[str] = []
        is_changed = False
        while source:
            piece = self._ready.popleft()
            if piece.source > source:
                piece, rest = _parted(piece, source)
                self._ready.appendleft(rest)
            source -= piece.source
            texts.append(piece.text)
            is_changed = is_changed or piece.is_changed
        while self._ready and not self._ready[0].source:
            piece = self._ready.popleft()
            texts.append(piece.text)
            is_changed = is_changed or piece.is_changed
        return "".join(texts), is_changed

    def take_rest(self) -> str:
        """All that may go, for the last words before a halt."""
        return self.take(self._released)[0] if self._released else ""

    def judgements(self, context: ChainContext, client_had: int) -> list[Judgement]:
        """What the policies make of the text, once it is over."""
        return [stage.judgement(self.block, context, client_had) for stage in self._stages]


def _parted(piece: Piece, source: int) -> tuple[Piece, Piece]:
    """So many of its characters of upstream's, and the rest; what was changed goes as a whole with the first."""
    left = piece.source - source
    if piece.is_changed:
        return Piece(piece.text, source, True), Piece("", left, True)
    return Piece(piece.text[:source], source, False), Piece(piece.text[source:], left, False)


def _is_before(piece: Piece) -> bool:
    return not piece.source and not piece.is_changed


def _cut(waiting: deque[Piece], safe: int, edits: Sequence[Edit]) -> list[Piece]:
    """Take the first `safe` characters off `waiting`, with the edits made in them."""
    front = _Front(waiting)
    gone: list[Piece] = []
    at = 0
    for edit in edits:
        gone += front.take(edit.start - at)
        covered = front.take(edit.end - edit.start)
        gone.append(Piece(edit.text, sum(piece.source for piece in covered), True))
        at = edit.end
    gone += front.take(safe - at)
    front.close()
    return gone


class _Front:
    """Takes characters off the front of pieces. What is left of a piece is made once, in `close`: one piece can be all
    of an answer, with thousands of edits in it."""

    def __init__(self, pieces: deque[Piece]) -> None:
        self._pieces = pieces
        self._at = 0

    def take(self, length: int) -> list[Piece]:
        """The next so many characters, and what stands for none behind them."""
        taken: list[Piece] = []
        while self._pieces and (length > 0 or not self._pieces[0].text):
            piece = self._pieces[0]
            end = min(len(piece.text), self._at + length)
            length -= end - self._at
            taken.append(self._part(piece, end))
            self._at = end
            if end == len(piece.text):
                self._pieces.popleft()
                self._at = 0
        return taken

    def close(self) -> None:
        if self._at:
            self._pieces[0] = self._part(self._pieces[0], len(self._pieces[0].text))

    def _part(self, piece: Piece, end: int) -> Piece:
        """A changed piece that is cut counts for all of its source at its front."""
        text = piece.text[self._at : end]
        if not piece.is_changed:
            return Piece(text, len(text) if piece.source else 0, False)
        return Piece(text, 0 if self._at else piece.source, True)
