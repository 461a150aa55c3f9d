"""Facts as lines of JSON, under our own names."""

import msgspec

from streamviz.core.json_value import encode
from streamviz.events.facts import Fact


def line(event_id: str, at: int, fact: Fact) -> bytes:
    """One line; `at` is when it happened, in µs since the epoch."""
    return encode({"event_id": event_id, "at": at, **msgspec.to_builtins(fact)}) + b"\n"
