"""Who observes a stream besides its client."""

from dataclasses import dataclass

from streamviz.live.feed import Feed
from streamviz.records.recorder import Recorder


@dataclass(frozen=True)
class Observers:
    """The record, which must have everything, and the live feed."""

    recorder: Recorder
    feed: Feed
