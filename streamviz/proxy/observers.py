"""Who observes a stream besides its client."""

from collections.abc import Callable, Container
from dataclasses import dataclass

from streamviz.exchange.stream import LiveStream
from streamviz.live.feed import Feed
from streamviz.proxy import metrics
from streamviz.records.recorder import Recorder


@dataclass(frozen=True)
class Observers:
    """The record, which must have everything, the live feed, and what is counted; `routes` are names of models that
    operators gave."""

    recorder: Recorder
    feed: Feed
    routes: Callable[[], Container[str]] = tuple

    def opened(self, stream: LiveStream) -> None:
        """A request was accepted."""
        self.feed.opened(stream)
        metrics.opened(stream)

    def closed(self, stream: LiveStream) -> None:
        """Nothing more can be said of a stream that ended."""
        self.feed.closed(stream)
        metrics.closed(stream, stream.requested_model in self.routes())
