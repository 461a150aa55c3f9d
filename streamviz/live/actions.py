"""What people do to running streams."""

import uuid

from streamviz.core.verdicts import Decision
from streamviz.live.feed import Feed

DECISIONS = {Decision.ALLOW, Decision.DENY}


def decide(feed: Feed, stream_id: uuid.UUID, ordinal: int, decision: Decision, by: str) -> bool:
    """Allow or deny a block that is held for a person; False where nobody is asked about it (any more)."""
    stream = feed.running.get(stream_id)
    if stream is None or stream.decide is None:
        return False
    return stream.decide(ordinal, decision, by)


def cancel(feed: Feed, stream_id: uuid.UUID, by: str) -> bool:
    """Stop a stream; False where it is over."""
    stream = feed.running.get(stream_id)
    if stream is None or stream.cancel is None:
        return False
    return stream.cancel(by)
