"""The calls that a run made: those that run here from memory, the others from the record."""

import uuid

from asgiref.sync import sync_to_async

from streamviz.dashboard.queries import BLOCKS_A_TURN
from streamviz.live.feed import feed, now_us
from streamviz.live.pace import Pace
from streamviz.live.presentation.run_calls import RunCalls, run_calls
from streamviz.live.presentation.stream_views import paced_view_of_running, view_of
from streamviz.live.presentation.views import StreamView
from streamviz.records.models import Stream
from streamviz.records.models.streams import Relation
from streamviz.records.queries import streams

_MOST_CALLS = 250


async def calls_of(run: StreamView) -> RunCalls | None:
    """The calls of a stream, as far as they are known by now; None if it is not a run."""
    if not run.executor:
        return None
    calls = await sync_to_async(_recorded)(run.id)
    here, pace = [*feed.running.values(), *feed.finished.values()], Pace()
    ours = [each for each in here if each.place.parent == run.id and each.part]
    calls |= {each.id: await paced_view_of_running(each, pace) for each in ours}
    return run_calls(run, sorted(calls.values(), key=lambda call: call.requested_at), now_us())


def _recorded(run: uuid.UUID) -> dict[uuid.UUID, StreamView]:
    found = Stream.objects.filter(parent=run, relation=Relation.STEP).order_by("requested_at", "id")
    calls = streams.shortened(found, 1, BLOCKS_A_TURN)[:_MOST_CALLS]
    return {each.pk: view_of(streams.short_entries_of(each)) for each in calls}
