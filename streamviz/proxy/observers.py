"""Who observes a stream besides its client."""

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamviz.exchange.stream import LiveStream
from streamviz.live.feed import Feed
from streamviz.proxy import metrics
from streamviz.records.recorder import Recorder
from streamviz.traces import Trace

if TYPE_CHECKING:  # its packages are an extra
    from streamviz.proxy.telemetry.exporting import Telemetry


@dataclass(frozen=True)
class Observers:
    """The record, which must have everything, the live feed, the metrics, and a collector if one is set. `routes`
    returns the model names that operators chose."""

    recorder: Recorder
    feed: Feed
    routes: Callable[[], Container[str]] = tuple
    telemetry: "Telemetry | None" = None

    def begin(self, traceparent: str) -> Trace | None:
        """The span of a stream whose request came with this `traceparent`, which may be empty; None without a
        collector."""
        return self.telemetry.begin(traceparent) if self.telemetry else None

    def opened(self, stream: LiveStream) -> None:
        """A request was accepted."""
        self.feed.opened(stream)
        metrics.opened(stream)

    def closed(self, stream: LiveStream) -> None:
        """A stream that ended is final."""
        self.feed.closed(stream)
        model = metrics.model_of(stream, stream.requested_model in self.routes())
        metrics.closed(stream, model)
        if self.telemetry:
            self.telemetry.closed(stream, model)
