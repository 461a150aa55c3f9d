"""Running text: what policies do to a text while it comes, and how much of it may go out."""

from collections import deque
from collections.abc import Iterable

from streamviz.core.blocks import StreamBlock
from streamviz.core.events import BlockDelta, BlockKind
from streamviz.core.judgements import ChainContext, Judgement
from streamviz.core.policy import ActivePolicy, Rest
from streamviz.core.readings import SLICE
from streamviz.core.running_pieces import Piece, parted
from streamviz.core.running_stage import Stage
from streamviz.core.verdicts import Mode, Verdict


class RunningText:
    """The text of one block that goes out as it comes, read by all policies that watch it, in order.

    Each sees what the one before left. A shadow sees the same but changes nothing. `raised` is what policies raised
    when they were asked whether they watch it, `last` the previous text of this kind.
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
        self._stages: list[Stage] = [
            Stage(active, block, errors.get(active.name), endings.get(active.name, "")) for active in policies
        ]
        self._ready: deque[Piece] = deque()
        self._released = 0
        self._fed = 0

    @property
    def is_over(self) -> bool:
        """Whether all of it has come."""
        return self.block.is_complete and self._fed == self.block.length

    @property
    def released(self) -> int:
        """How many of upstream's characters may go out and have not been taken yet."""
        return self._released

    def is_read_by(self, active: ActivePolicy) -> bool:
        """Whether this policy reads it as it comes."""
        return any(stage.active is active for stage in self._stages)

    @property
    def changed_by(self) -> str:
        """The last policy that replaced something in it; empty if none has."""
        return next((stage.active.name for stage in reversed(self._stages) if stage.has_changed), "")

    def is_changed_within(self, source: int) -> bool:
        """Whether the next `source` characters of upstream's go out changed."""
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
        """Take in `text`; with `is_whole` nothing follows it."""
        self._fed += len(text)
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
        """Take `source` of upstream's characters if exactly those may go out, unchanged: nearly always so."""
        ready = self._ready
        if len(ready) != 1 or ready[0].source != source or ready[0].is_changed:
            return False
        ready.clear()
        self._released = 0
        return True

    def take(self, source: int) -> tuple[str, bool]:
        """What the client gets for the next `source` characters of upstream's, and whether that is different."""
        self._released -= source
        texts: list[str] = []
        is_changed = False
        while source:
            piece = self._ready.popleft()
            if piece.source > source:
                piece, rest = parted(piece, source)
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
        """All that may still go out, for the last words before a halt."""
        return self.take(self._released)[0] if self._released else ""

    def judgements(self, context: ChainContext, client_had: int) -> list[Judgement]:
        """The policies' judgements of the text, once it is over."""
        return [stage.judgement(self.block, context, client_had) for stage in self._stages]


class RunningTexts:
    """The texts of a stream that go out as they come, by ordinal in `running`."""

    def __init__(self, running: dict[int, RunningText], rest: Rest) -> None:
        self._running = running
        self._rest = rest
        # The last running text of each kind and choice, and the end of all texts of these, running or held.
        self._last: dict[tuple[BlockKind, int], RunningText] = {}
        self._ends: dict[tuple[BlockKind, int], str] = {}

    def begin(
        self,
        block: StreamBlock,
        watching: Iterable[ActivePolicy],
        raised: Iterable[tuple[ActivePolicy, BaseException]],
        context: ChainContext,
    ) -> None:
        """Begin with a block that these policies watch."""
        of = block.kind, block.choice
        last = self._last.get(of)
        if last is not None and last.is_over:
            # A whole answer ends its texts after all of them; what is found at the end of one belongs to that one.
            last.feed("", True, context)
        self._running[block.ordinal] = self._last[of] = RunningText(block, watching, raised, last)

    def note_before(self, block: StreamBlock, most: int) -> None:
        """Tell a whole block what came before it, at most `most` characters."""
        of = block.kind, block.choice
        block.before = self._ends.get(of, "")
        if most:
            self._ends[of] = (block.before + block.ending(most))[-most:]

    def read_on(self, ordinal: int, text: str, is_whole: bool, context: ChainContext) -> None:
        """Take in `text` of a block; with `is_whole` nothing follows it."""
        if (running := self._running.get(ordinal)) is not None:
            running.feed(text, is_whole, context)

    async def read(self, event: BlockDelta, context: ChainContext) -> None:
        """Read a delta; in a long one each slice may take some ms."""
        if len(event.text) <= SLICE:
            self.read_on(event.ordinal, event.text, False, context)
            return
        for at in range(0, len(event.text), SLICE):
            self.read_on(event.ordinal, event.text[at : at + SLICE], False, context)
            await self._rest()

    def close(self, ordinal: int, waiting: int, context: ChainContext) -> None:
        """Record what the policies found in a running text that is over; the client does not have its last `waiting`
        characters yet."""
        running = self._running[ordinal]
        if not running.is_noted:
            running.is_noted = True
            context.judgements += running.judgements(context, running.block.length - waiting)
