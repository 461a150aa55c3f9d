"""The live feed of one worker: which streams run here, and which of them changed since browsers were last told."""

import time
import uuid
from collections import OrderedDict

from streamviz.exchange.stream import LiveStream
from streamviz.live.refusals import Refusals

# How long a finished stream stays: people see how it ended, and the record has it before it is gone here.
RECENT_SECONDS = 30
# More than anybody reads in that time; a stream in memory can hold megabytes.
MOST_RECENT = 200


def now_us() -> int:
    """µs since the epoch."""
    return time.time_ns() // 1000


def has_passed(span: int, since: int, now: int) -> bool:
    """Whether so many µs have passed since then; also true if the clock was set back in between."""
    return not since <= now < since + span


class Feed:
    """This worker's streams, as the proxy reports them. Each call returns at once: browsers never slow a client down.

    Used from the event loop alone, so that nobody sees a stream half changed.
    """

    def __init__(self) -> None:
        self.running: dict[uuid.UUID, LiveStream] = {}
        # Requests that never became a stream.
        self.refusals = Refusals()
        # Oldest first. A plain dict would step over all deleted entries each time to find the oldest.
        self.finished: OrderedDict[uuid.UUID, LiveStream] = OrderedDict()
        # Objects rather than ids, as the hash of a UUID is computed anew each time.
        self._changed: set[LiveStream] = set()
        # Running streams whose session was deleted.
        self._deleted: set[uuid.UUID] = set()

    def opened(self, stream: LiveStream) -> None:
        """A request was accepted."""
        self.forget_old(stream.requested_at)
        self.running[stream.id] = stream
        self._changed.add(stream)

    def changed(self, stream: LiveStream) -> None:
        """Chunks arrived or frames were sent; called once per socket read."""
        self._changed.add(stream)

    def closed(self, stream: LiveStream) -> None:
        """The stream has ended, and nothing about it will change any more."""
        self.running.pop(stream.id, None)
        self._changed.add(stream)  # whoever watches it must learn of its end
        if stream.id in self._deleted:
            self._deleted.discard(stream.id)
        else:
            self.finished[stream.id] = stream
        self.forget_old(stream.ended_at or stream.requested_at)

    def get(self, stream_id: uuid.UUID) -> LiveStream | None:
        """A stream that runs here or has just ended; None for any other."""
        return self.running.get(stream_id) or self.finished.get(stream_id)

    def take_changed(self) -> set[uuid.UUID]:
        """The streams that changed since the last call."""
        changed, self._changed = self._changed, set()
        return {stream.id for stream in changed}

    def forget_old(self, now: int) -> None:
        """Drop streams that ended more than RECENT_SECONDS before `now` (µs since the epoch), or exceed MOST_RECENT."""
        limit = now - RECENT_SECONDS * 1_000_000
        # Ordered by when they ended.
        while self.finished:
            oldest = next(iter(self.finished.values()))
            if len(self.finished) <= MOST_RECENT and (oldest.ended_at or 0) >= limit:
                return
            self._drop(oldest)

    def forget_session(self, session_id: uuid.UUID) -> None:
        """Drop the streams of a deleted session. Running ones go once they are over, but lose their label at once, as
        it is part of what was deleted."""
        for stream in [each for each in self.finished.values() if each.session_id == session_id]:
            self._drop(stream)
        for stream in [each for each in self.running.values() if each.session_id == session_id]:
            stream.session_label = ""
            self._deleted.add(stream.id)
            self._changed.add(stream)

    def _drop(self, stream: LiveStream) -> None:
        del self.finished[stream.id]
        # While nobody watches, nobody else takes them out.
        self._changed.discard(stream)


feed = Feed()
