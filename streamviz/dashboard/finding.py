"""Where the stream of a page is: in memory while it runs, in the record, or at another worker."""

import contextlib
import uuid
from dataclasses import dataclass, replace
from typing import Any

from asgiref.sync import sync_to_async
from django.http import Http404

from streamviz.dashboard.pages import NotFoundHere
from streamviz.live import messages, rendering
from streamviz.live.feed import feed, now_us
from streamviz.live.pace import Pace
from streamviz.live.presentation.stream_views import paced_view_of_running, view_of_record, whole_view_of
from streamviz.live.presentation.views import StreamView
from streamviz.live.publisher import publisher
from streamviz.records.archive.bucket import ChunksAway
from streamviz.records.models import Stream
from streamviz.records.queries import streams

# Those that a socket keeps current.
_CURRENT_TABS = ("stream", "peek")


@dataclass(frozen=True)
class Found:
    """A stream and where it was found; `chunks_away` is why the archive cannot give its chunks now, as a clause."""

    view: StreamView
    request: bytes
    is_watchable: bool
    chunks_away: str = ""

    @classmethod
    def over(cls, view: StreamView) -> "Found":
        """A finished stream, without its request."""
        return cls(view, b"", is_watchable=False)

    def context(self, tab: str) -> dict[str, Any]:
        """What the header of each of its pages needs."""
        return {
            "page": "live" if self.view.is_running else "sessions",
            "tab": tab,
            "stream": self.view,
            "is_watchable": self.is_watchable,
            "chunks_away": self.chunks_away,
            **rendering.header(self.view, now_us(), is_current=self.is_watchable and tab in _CURRENT_TABS),
        }


async def find_stream(stream_id: uuid.UUID, *, has_times: bool = False) -> Found:
    """Look in memory, in the record if it is over, and then in other workers' memory. Of the record, the times of
    chunks and frames are only read if `has_times`. Raises Http404, or NotFoundHere if others could not be asked."""
    if running := feed.get(stream_id):
        view = whole_view_of(running, await paced_view_of_running(running, Pace()))
        return Found(view, running.request, view.is_running)
    recorded = await sync_to_async(_recorded)(stream_id, has_times)
    if recorded and not recorded.view.is_running:
        return recorded
    # The record has no holds of a running stream, and otherwise only what the writer has moved.
    if elsewhere := await _elsewhere(stream_id):
        return Found(elsewhere.view, elsewhere.request, elsewhere.view.is_running)
    # Meanwhile it may have been stored here, and forgotten where it ran.
    if recorded := await sync_to_async(_recorded)(stream_id, has_times):
        # If it still has no end, it runs at a worker that did not answer: its socket shows the rest.
        return replace(recorded, is_watchable=recorded.view.is_running and publisher.workers is not None)
    if publisher.workers is not None and publisher.workers.is_away:
        raise NotFoundHere
    raise Http404("No such stream.")


def _recorded(stream_id: uuid.UUID, has_times: bool) -> Found | None:
    with contextlib.suppress(Stream.DoesNotExist):
        record = streams.load(stream_id)
        try:
            view, away = view_of_record(record, has_times=has_times), ""
        except ChunksAway as error:
            view, away = view_of_record(record, has_times=False), str(error)
        return Found(view, bytes(record.request), is_watchable=False, chunks_away=away)
    return None


async def _elsewhere(stream_id: uuid.UUID) -> messages.Found | None:
    """Ask the worker that runs it, as the writer may be behind, or stopped."""
    return None if publisher.workers is None else await publisher.workers.look_for(stream_id)
