"""Running a recorded stream through the policies that are in force now."""

from dataclasses import replace
from itertools import zip_longest
from typing import NamedTuple
from uuid import UUID

from asgiref.sync import sync_to_async

from streamviz.core.blocks import StreamState
from streamviz.core.model_names import REPLAY, model_names
from streamviz.core.rerun import Recording
from streamviz.dashboard.tryout import TryOut, try_on
from streamviz.dashboard.tryout_results import BlockShown, Shown, shown
from streamviz.dashboard.tryout_subjects import recorded
from streamviz.records.aggregation import aggregate_tape
from streamviz.records.models import Stream
from streamviz.records.policies_in_force import policies_in_force
from streamviz.records.replays import IS_REPLAY
from streamviz.records.tapes import client_bytes


class Replayed(NamedTuple):
    """What the policies in force would make of a recorded stream, and what its client got then."""

    now: TryOut
    then: Shown
    policies: list[str]

    @property
    def pairs(self) -> list[tuple[BlockShown | None, BlockShown | None, bool]]:
        """Block by block, what the client got, what it would get, and whether that is the same."""
        both = zip_longest(self.then.blocks, self.now.client.blocks)
        return [(then, now, then == now) for then, now in both]

    @property
    def is_same(self) -> bool:
        return all(same for _, _, same in self.pairs)


async def replay(stream_id: UUID) -> Replayed | str:
    """Run a stream through the policies in force, as if they had been then; or say why that is impossible. Nobody is
    asked by hand: what a person would decide counts as denied."""
    recording = await recorded(stream_id)
    if isinstance(recording, str):
        return recording
    stream = await Stream.objects.select_related("key").aget(pk=stream_id)
    return IS_REPLAY if stream.provider == REPLAY else await _replay(stream, recording)


async def _replay(stream: Stream, recording: Recording) -> Replayed:
    names = model_names(stream.requested_model, stream.provider, stream.upstream_model)
    key_name = stream.key.name if stream.key else ""
    found = await sync_to_async(policies_in_force)()
    chosen = [each.active for each in found if each.active and not each.why_not(names, key_name)]
    now = await try_on(recording, [replace(active, by_hand=None) for active in chosen])
    then = await sync_to_async(_got)(stream)
    return Replayed(now, shown(then), [active.name for active in chosen])


def _got(stream: Stream) -> StreamState:
    return aggregate_tape(stream.wire_format, b"".join(client_bytes(stream.pk))).state
