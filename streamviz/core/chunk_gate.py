"""Policies that look at the chunks themselves, and pass them on or not."""

from collections.abc import Awaitable, Sequence
from dataclasses import replace

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamState
from streamviz.core.chunk_doors import Door, Passed, Passing
from streamviz.core.events import StreamEvent
from streamviz.core.hooks import require_in_time, words
from streamviz.core.judgements import ChainContext
from streamviz.core.policy import ActivePolicy, Bounded, has_on_chunk
from streamviz.core.shown import as_shown
from streamviz.core.verdicts import Decision, Mode, Verdict


class ChunkGate:
    """Shows each chunk to the policies with an `on_chunk`, in order; a later one sees what the earlier ones sent.

    A shadow is shown the same, and what it would have withheld is noted at the end.
    """

    def __init__(self, policies: Sequence[ActivePolicy], within: Bounded | None) -> None:
        self._doors = [Door(active) for active in policies if has_on_chunk(active.policy)]
        self._within = within or _unbounded
        self.is_open = not self._doors

    @property
    def is_holding(self) -> bool:
        return any(door.withheld and door.active.mode is Mode.ENFORCE for door in self._doors)

    async def pass_on(
        self, chunk: Chunk | None, events: Sequence[StreamEvent], state: StreamState, context: ChainContext
    ) -> Passed:
        """What goes on now that this chunk (None: the end of input) has come."""
        arriving = [Passing(chunk, events)]
        for door in self._doors:
            sent = [passing for item in arriving for passing in await self._show(door, item, state, context)]
            if chunk is None:
                door.note_withheld(context)
            if door.active.mode is not Mode.ENFORCE:
                continue
            if door.halt is not None:
                return Passed(sent, (door.active, door.halt))
            arriving = sent
        return Passed(arriving, None)

    async def _show(self, door: Door, item: Passing, state: StreamState, context: ChainContext) -> list[Passing]:
        if door.has_failed or door.halt is not None or item.frame is not None:
            return [item]
        own = door.context = door.context or replace(context, outbox=[])
        if item.chunk is not None:
            door.withheld[item.chunk.seq] = item
        began = context.now()
        try:
            shown = None if item.chunk is None else as_shown(item.chunk)
            await self._within(door.active.policy.on_chunk(shown, state, own), door.active.time_limit)
            require_in_time(door.active, context.now() - began)
        except Exception as error:  # As with any hook: its failure, not the stream's.
            return door.fail(words(error), began, context)
        frames, own.outbox = own.outbox, []
        if own.is_terminated:
            door.halt = Verdict(Decision.HALT, "The policy ended the stream.")
            door.note(door.halt, began, context)
        sent = [door.passing(frame) for frame in frames]
        # The end of input can add events that no chunk brought: there is nothing in them to withhold.
        return [*sent, item] if item.chunk is None else sent


async def _unbounded(hook: Awaitable[None], seconds: float) -> None:
    await hook
